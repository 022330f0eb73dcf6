/** What a SQLite store knows when it is opened again, and after a crash. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { JOB_STATES } from "../../src/kernel/core/jobs/job-states.ts";
import { type JsonBlocks, LARGE_BYTES } from "../../src/kernel/lib/json/json-text.ts";
import { openSqlite } from "../../src/kernel/store/sqlite/open.ts";
import { type Store, StoreUnavailable } from "../../src/kernel/store/contract/store.ts";
import { siteOf, T0 } from "./site.ts";

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

/** Whether a large text is as `insert-until-killed.ts` wrote it. */
function isWhole(text: JsonBlocks): boolean {
	const bytes = Buffer.concat(text);
	return bytes.length === LARGE_BYTES + 1 && bytes.equals(Buffer.alloc(bytes.length, bytes[0]));
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
	it("D17: kill -9 in the middle of work loses nothing that was acknowledged", async () => {
		const path = newPath();
		const child = spawn(process.execPath, [fileURLToPath(new URL("insert-until-killed.ts", import.meta.url)), path], {
			stdio: ["ignore", "pipe", "inherit"],
		});
		const acknowledged: string[] = [];
		for await (const line of createInterface({ input: child.stdout })) {
			if (/^\w+ \S{36}$/.test(line)) acknowledged.push(line);
			if (acknowledged.length === 3000) child.kill("SIGKILL");
		}
		if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
		expect(child.signalCode).toBe("SIGKILL");
		await on(path, async (store) => {
			const endpoint = "endpoint-1";
			const reached: Record<string, string[]> = {
				insert: JOB_STATES.slice(),
				other: JOB_STATES.slice(),
				claim: ["IN_PROGRESS", "COMPLETED"],
				report: ["COMPLETED"],
			};
			const wrong: string[] = [];
			for (const line of acknowledged) {
				const [what = "", id = ""] = line.split(" ");
				const found = await store.jobs.record({ endpoint, id, now: T0 });
				if (!found || !reached[what]?.includes(found.job.state)) wrong.push(`${line}: ${found?.job.state}`);
				for (const text of [found?.input, found?.output])
					if (typeof text === "object" && !isWhole(text)) wrong.push(`${line}: not as written`);
			}
			expect(wrong).toEqual([]);
			expect(acknowledged.length).toBeGreaterThanOrEqual(3000);
			const counts = await store.jobs.counts({ endpoint, now: T0 });
			await store.close();
			const inState = (state: string) =>
				Number(rows(path, `SELECT count(*) AS n FROM jobs WHERE state = '${state}'`)[0]?.["n"]);
			expect(counts).toEqual({
				inQueue: inState("IN_QUEUE"),
				inProgress: inState("IN_PROGRESS"),
				completed: inState("COMPLETED"),
				failed: 0,
				retried: 0,
			});
		});
	});
	it("after close every call is refused as closed", async () => {
		const store = await openSqlite({ path: newPath() });
		const site = siteOf(store);
		const last = site.add();
		await Promise.all([store.close(), store.close()]);
		await expect(last).resolves.toMatchObject({ state: "IN_QUEUE" });
		await expect(site.add()).rejects.toMatchObject({ why: "closed" });
		await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailable);
	});

	it("D9, D14: a reopened store knows shortened retentions and idempotency keys", async () => {
		const path = newPath();
		const idempotency = { key: "k", bodyHash: "a", keptMs: 5000 };
		const { endpoint, id } = await on(path, async (store) => {
			const site = siteOf(store);
			const job = await site.running({ idempotency });
			await site.retain(job.id, 7000);
			return { endpoint: site.endpoint, id: job.id };
		});
		await on(path, async (store) => {
			const site = siteOf(store);
			expect(await site.insert({ endpoint, idempotency })).toMatchObject({
				repeated: true,
				job: { id, retainMs: 7000 },
			});
			expect(
				await store.jobs.report({
					endpoint,
					id,
					worker: "w1",
					outcome: { on: "complete" },
					now: T0,
				}),
			).toMatchObject({ job: { dueAt: T0 + 7000 } });
		});
	});

	it("a reopened store goes on: order, counts, identity, and reservations are free", async () => {
		const path = newPath();
		const before = await on(path, async (store) => {
			const site = siteOf(store);
			const { id } = await site.running();
			const { endpoint } = site;
			await store.chunks.append({
				endpoint,
				id,
				worker: "w1",
				chunks: ["1"],
				unlessLast: false,
				now: T0,
			});
			expect(await store.chunks.reserve({ endpoint, id, reader: "r1", maxBytes: 9, now: T0 })).toMatchObject({
				chunks: ["1"],
			});
			const back = await site.running();
			const later = await site.add();
			await site.move(back.id, "release", { attempt: 1, over: true });
			return { endpoint, id, order: [back.id, later.id], identity: await store.identity() };
		});
		await on(path, async (store) => {
			const { endpoint, id } = before;
			expect(await store.identity()).toBe(before.identity);
			expect(await store.chunks.reserve({ endpoint, id, reader: "r2", maxBytes: 9, now: T0 })).toMatchObject({
				chunks: ["1"],
			});
			const site = siteOf(store);
			const last = await site.add({ endpoint });
			const lost = await store.jobs.move({
				endpoint,
				id,
				on: "lose",
				attempt: 1,
				over: true,
				now: T0,
			});
			expect(lost.ok).toBe(true);
			const { jobs } = await store.jobs.claim({
				endpoint,
				worker: "w1",
				limit: 9,
				maxBytes: 1e6,
				now: T0,
			});
			expect(jobs.map(({ job }) => job.id)).toEqual([id, ...before.order, last.id]);
		});
	});

	it("D11: a purge holds after a restart, also half removed, and spares what joins later", async () => {
		for (const removed of [0, 2, 3]) {
			const path = newPath();
			const before = await on(path, async (store) => {
				const site = siteOf(store);
				const running = await site.running();
				const returned = await site.running();
				await site.move(returned.id, "release", { attempt: 1, over: true });
				const low = [await site.add({ lowPriority: true }), await site.add({ lowPriority: true })];
				await site.take();
				// The last place of the queue is one that no row has any more.
				await site.report((await site.running()).id);
				await site.move(returned.id, "release", { attempt: 2, over: true });
				expect(await site.purge()).toBe(3);
				if (removed > 0) await site.settle(T0, removed);
				return { endpoint: site.endpoint, running, purged: [returned, ...low].map(({ id }) => id) };
			});
			for (let restart = 0; restart < 2; restart += 1) {
				await on(path, async (store) => {
					const { endpoint, running, purged } = before;
					const site = siteOf(store);
					for (const id of purged) expect(await store.jobs.get({ endpoint, id, now: T0 })).toBeUndefined();
					expect(await store.jobs.counts({ endpoint, now: T0 })).toMatchObject({
						inQueue: 0,
						inProgress: 1,
					});
					const added = [await site.add({ endpoint }), await site.add({ endpoint, lowPriority: true })];
					expect(
						await store.jobs.move({
							endpoint,
							id: running.id,
							on: "release",
							attempt: 1 + restart,
							over: true,
							now: T0,
						}),
					).toMatchObject({ ok: true });
					const { jobs } = await store.jobs.claim({
						endpoint,
						worker: "w1",
						limit: 9,
						maxBytes: 1e6,
						now: T0,
					});
					expect(jobs.map(({ job }) => job.id)).toEqual([running.id, ...added.map(({ id }) => id)]);
					for (const { id } of added)
						await store.jobs.report({
							endpoint,
							id,
							worker: "w1",
							outcome: { on: "complete" },
							now: T0,
						});
				});
			}
			await on(path, (store) => store.jobs.settle({ now: T0, limit: 100 }));
			expect(rows(path, "SELECT state FROM jobs WHERE state = 'IN_QUEUE'")).toEqual([]);
			expect(rows(path, "SELECT purged_from, purged_to FROM queues")).toEqual([
				expect.objectContaining({ purged_from: 1, purged_to: 0 }),
			]);
			expect(
				rows(
					path,
					"SELECT seq FROM inputs WHERE seq NOT IN (SELECT seq FROM jobs) UNION ALL SELECT " +
						"seq FROM attempts WHERE seq NOT IN (SELECT seq FROM jobs)",
				),
			).toEqual([]);
		}
	});
});
