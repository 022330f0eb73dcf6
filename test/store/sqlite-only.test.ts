/** What is true of SQLite alone: a full disk, a failing operation in a batch, and its schema. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { DELIVERY_STATES } from "../../src/kernel/core/webhooks.ts";
import { isFinal, JOB_STATES } from "../../src/kernel/core/jobs/job-states.ts";
import { openSqlite } from "../../src/kernel/store/sqlite/open.ts";
import { type Signal, type Store, StoreUnavailable } from "../../src/kernel/store/contract/store.ts";
import { batchRow } from "./batches.ts";
import { nextId, siteOf, T0 } from "./site.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-sqlite-"));
let files = 0;
const newPath = (): string => join(folder, `${(files += 1)}`, "sluice.db");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a case on a file and closes the store. */
async function on<T>(path: string, run: (store: Store) => Promise<T>, maxPages?: number): Promise<T> {
	const store = await openSqlite({ path, maxPages });
	try {
		return await run(store);
	} finally {
		await store.close();
	}
}

/** Rows of a query on a closed file. */
function rows(path: string, sql: string): Record<string, unknown>[] {
	const db = new DatabaseSync(path);
	try {
		return db.prepare(sql).all();
	} finally {
		db.close();
	}
}

describe("SQLite", () => {
	it("D40: with a full disk writes are refused, reads go on, and it works again with room", async () => {
		const path = newPath();
		// Smaller than what `ping` tries to write, so that there is no room for that either.
		const big = JSON.stringify("x".repeat(10_000));
		const { endpoint, kept } = await on(
			path,
			async (store) => {
				const site = siteOf(store);
				const acknowledged: string[] = [];
				const refused = await (async () => {
					for (;;) {
						const tried = await Promise.allSettled([site.add({ input: big }), site.add({ input: big }), site.counts()]);
						for (const answer of tried.slice(0, 2))
							if (answer.status === "fulfilled" && "id" in answer.value) acknowledged.push(answer.value.id);
						expect(tried[2]?.status).toBe("fulfilled");
						const failed = tried.find((answer) => answer.status === "rejected");
						if (failed) return failed.reason as unknown;
					}
				})();
				expect(refused).toBeInstanceOf(StoreUnavailable);
				expect(refused).toMatchObject({ why: "full" });
				await expect(store.ping()).rejects.toMatchObject({ why: "full" });
				for (const id of acknowledged) expect(await site.state(id)).toBe("IN_QUEUE");
				expect(await site.counts()).toMatchObject({ inQueue: acknowledged.length });
				return { endpoint: site.endpoint, kept: acknowledged };
			},
			120,
		);
		await on(path, async (store) => {
			expect(await store.jobs.counts({ endpoint, now: T0 })).toMatchObject({
				inQueue: kept.length,
			});
			await store.ping();
			await siteOf(store).add({ input: big });
			const claim = await store.jobs.claim({
				endpoint,
				worker: "w1",
				limit: 100,
				maxBytes: 1e9,
				now: T0,
			});
			expect(claim.jobs.map(({ job }) => job.id).toSorted()).toEqual(kept.toSorted());
			expect(claim.jobs.every(({ input }) => input === big)).toBe(true);
		});
	});

	it("an operation that fails does not hurt the others of its batch, nor what the thread remembers", () =>
		on(newPath(), async (store) => {
			const site = siteOf(store);
			const { id } = await site.add();
			const wrong = { ...(await site.add()), ttlMs: 0.5 };
			const answers = await Promise.allSettled([
				site.add(),
				site.add({ id }),
				site.add(),
				site.add({ id: nextId(), ttlMs: wrong.ttlMs }),
				site.move(wrong.id, "cancel"),
				site.take({ limit: 1 }),
				site.take({ limit: 9 }),
			]);
			expect(answers.map(({ status }) => status)).toEqual([
				"fulfilled",
				"rejected",
				"fulfilled",
				"rejected",
				"fulfilled",
				"fulfilled",
				"fulfilled",
			]);
			expect(await site.counts()).toEqual({
				inQueue: 0,
				inProgress: 3,
				completed: 0,
				failed: 0,
				retried: 0,
			});
			expect(await site.state(wrong.id)).toBe("CANCELLED");
			expect(await site.state(id)).toBe("IN_PROGRESS");
		}));

	it("a batch that is undone and run again sends each signal once, and forgets no delivery or deadline", () =>
		on(newPath(), async (store) => {
			const site = siteOf(store);
			const { endpoint } = site;
			const { id } = await site.running();
			const reserve = (reader: string) => store.chunks.reserve({ endpoint, id, reader, maxBytes: 9, now: T0 });
			await store.chunks.append({
				endpoint,
				id,
				worker: "w1",
				chunks: ["0"],
				unlessLast: false,
				now: T0,
			});
			await reserve("a");
			await Promise.allSettled([
				store.chunks.deliver({ endpoint, id, reader: "a", delivered: true }),
				site.add({ id }),
			]);
			expect(await reserve("b")).toMatchObject({ chunks: [] });

			await site.report(id);
			const lapsing = await site.add({ ttlMs: 10_000 });
			const signals: Signal[] = [];
			store.onSignal((signal) => signals.push(signal));
			const [counts] = await Promise.all([site.counts(T0 + 10_000), site.add({ id }).catch(() => undefined)]);
			expect(counts).toMatchObject({ inQueue: 0, failed: 1 });
			await Promise.allSettled([site.move(lapsing.id, "cancel", { now: T0 + 10_000 }), site.add({ id })]);
			expect(signals).toEqual([{ kind: "settled", endpoint, id: lapsing.id, state: "TIMED_OUT" }]);
		}));

	it("D17: a claim runs after the inserts of its batch, and both share one commit", async () => {
		const path = newPath();
		await on(path, async (store) => {
			const site = siteOf(store);
			await site.report((await site.running()).id);
			const commits = (): number => commitsIn(readFileSync(`${path}-wal`));
			const before = commits();
			const [claim, ...jobs] = await Promise.all([
				site.take({ limit: 9 }),
				site.add(),
				site.add({ lowPriority: true }),
				site.add(),
			]);
			const [first, low, second] = jobs.map(({ id }) => id);
			expect(claim.jobs.map(({ job }) => job.id)).toEqual([first, second, low]);
			expect(commits() - before).toBe(1);
			const { id } = await site.add();
			expect(commits() - before).toBe(2);
			const [behind, both] = await Promise.all([site.add(), site.takeIds({ limit: 2 })]);
			expect(both).toEqual([id, behind.id]);
			expect(commits() - before).toBe(3);
		});
		expect(existsSync(`${path}-wal`)).toBe(false);
	});

	it("D22: the file and its log are their owner's alone", async () => {
		const path = newPath();
		await on(path, async () => {
			for (const file of [path, `${path}-wal`]) expect((statSync(file).mode & 0o777).toString(8), file).toBe("600");
		});
	});

	it("a batch of reads writes nothing", () => {
		const path = newPath();
		return on(path, async (store) => {
			const site = siteOf(store);
			const { id } = await site.add();
			const before = readFileSync(`${path}-wal`);
			await Promise.all([
				site.get(id),
				site.counts(),
				site.waiting(),
				site.attempts(id),
				store.jobs.running(),
				store.chunks.reserve({ endpoint: site.endpoint, id, reader: "r", maxBytes: 1, now: T0 }),
			]);
			expect(readFileSync(`${path}-wal`).equals(before)).toBe(true);
		});
	});
	it("D11: a batch that fails beside a purge leaves the purge as it was reported", () =>
		on(newPath(), async (store) => {
			const site = siteOf(store);
			const { id } = await site.add();
			const answers = await Promise.allSettled([
				site.add(),
				site.purge(),
				site.add({ id }),
				site.add(),
				site.add({ id: nextId(), ttlMs: 0.5 }),
			]);
			// The first job of this id is purged, its row still there.
			expect(answers.map(({ status }) => status)).toEqual([
				"fulfilled",
				"fulfilled",
				"rejected",
				"fulfilled",
				"rejected",
			]);
			expect(answers[1]).toMatchObject({ value: 2 });
			expect(await site.counts()).toMatchObject({ inQueue: 1 });
			expect(await site.takeIds({ limit: 9 })).toHaveLength(1);
		}));

	it("D21: a delivery is durable with the end of its job, once, after a batch that was run again", async () => {
		const path = newPath();
		const id = await on(path, async (store) => {
			const site = siteOf(store);
			const job = await site.running({ webhook: "https://example.org/hook" });
			await Promise.allSettled([site.report(job.id, { output: "1" }), site.add({ id: job.id })]);
			return job.id;
		});
		await on(path, async (store) => {
			const { due } = await store.webhooks.claim({
				limit: 9,
				each: 9,
				skip: [],
				holdMs: 1,
				now: T0,
			});
			expect(due).toMatchObject([{ job: id }]);
			expect(await store.webhooks.body(due[0]!)).toContain('"output":1');
		});
	});
});

it("D57: batches of an endpoint that an earlier version removed are removed like old ones", async () => {
	const path = newPath();
	const [left, kept] = ["left", "kept"].map((endpoint) => batchRow({ endpoint }));
	await on(path, async (store) => {
		for (const row of [left!, kept!]) {
			await store.endpoints.put({ id: row.endpoint, settings: "{}", now: T0 });
			await store.batches.insert({ row, repeatsSince: T0 });
		}
	});
	rows(path, "DELETE FROM endpoints WHERE id = 'left'");
	await on(path, async (store) => {
		expect(await store.batches.expire({ before: T0, limit: 9 })).toBe(1);
		expect((await store.batches.open({ limit: 9 })).map(({ id }) => id)).toEqual([kept!.id]);
	});
});

describe("the schema of SQLite", () => {
	it("spells exactly the states of the table", async () => {
		const path = newPath();
		await on(path, (store) => store.ping());
		const table = String(rows(path, "SELECT sql FROM sqlite_schema WHERE name = 'jobs'")[0]?.["sql"]);
		const states = (sql: string): string[] => [...sql.matchAll(/'([A-Z_]+)'/g)].map(([, state]) => state ?? "");
		expect(states(table)).toEqual([...JOB_STATES]);
		const deliveries = String(rows(path, "SELECT sql FROM sqlite_schema WHERE name = 'deliveries'")[0]?.["sql"]);
		expect(
			[...(/CHECK \(state IN (.*)\)/.exec(deliveries)?.[1] ?? "").matchAll(/'([a-z]+)'/g)].map(([, state]) => state),
		).toEqual([...DELIVERY_STATES]);
		const indexes = rows(
			path,
			"SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'jobs' AND sql LIKE '%''%'",
		);
		expect(Object.fromEntries(indexes.map(({ name, sql }) => [name, states(String(sql))]))).toEqual({
			jobs_waiting: ["IN_QUEUE"],
			jobs_running: ["IN_PROGRESS"],
			jobs_listed_ended: JOB_STATES.filter((state) => !isFinal(state)),
		});
	});
});

/**
 * Commits in a write-ahead log since its last restart: frames with the salt of the log whose header
 * holds the size of the database.
 */
function commitsIn(wal: Buffer): number {
	const salt = wal.subarray(16, 24);
	const frame = 24 + wal.readUInt32BE(8);
	let commits = 0;
	for (let at = 32; at + 24 <= wal.length; at += frame)
		if (wal.readUInt32BE(at + 4) > 0 && wal.subarray(at + 8, at + 16).equals(salt)) commits += 1;
	return commits;
}
