/**
 * What a PostgreSQL store asks for before it knows the queue, and writes while its end is in
 * flight.
 */
import { expect, it } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { stringOf } from "../../src/kernel/lib/json/json-text.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import { statement } from "../../src/kernel/store/postgres/connection/statement.ts";
import { transaction } from "../../src/kernel/store/postgres/connection/transaction.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { postgres } from "../support/postgres.ts";
import { place } from "./postgres-place.ts";
import { T0, siteOf } from "./site.ts";

/** Two servers of one database, and another's view of the same endpoint. */
async function two(onTestFinished: (end: () => Promise<void>) => void) {
	const { url } = await (await postgres()).createDatabase();
	const open = async (): Promise<Store> => {
		const store = await openPostgres({ url, clock: systemClock });
		onTestFinished(() => store.close());
		return store;
	};
	const [store, other] = [await open(), await open()];
	const site = siteOf(store);
	const submission = {
		endpoint: site.endpoint,
		operation: "run",
		lowPriority: false,
		ttlMs: 60_000,
		executionTimeoutMs: 60_000,
		leaseMs: 20_000,
		retainMs: 60_000,
		recordMs: 60_000,
	} as const;
	return {
		site,
		other,
		addThere: (id: string, input = "{}") => other.jobs.insert({ submission: { ...submission, id }, input, now: T0 }),
	};
}

/** Inputs on both sides of what is read along with a job, in bytes and in characters. */
const INPUTS = [
	`"${"x".repeat(20)}"`,
	`"${"ä".repeat(700)}"`,
	`"${"ä".repeat(1000)}"`,
	`"${"x".repeat(5000)}"`,
	`"${"😀".repeat(30_000)}"`,
];

it("D5: inputs of any length come back as they were, read along with their jobs or not", async ({ onTestFinished }) => {
	const { site } = await two(onTestFinished);
	// So that the next claims begin where this one ended.
	await site.add();
	await site.take();
	for (const input of INPUTS) await site.add({ input });
	const { jobs } = await site.take({ limit: 10 });
	expect(jobs.map(({ input }) => stringOf(input ?? ""))).toEqual(INPUTS);
});

it("D11: what is remembered of a queue that another server purged hands out nothing of it", async ({
	onTestFinished,
}) => {
	const { site, other, addThere } = await two(onTestFinished);
	for (let n = 0; n < 4; n += 1) await site.add();
	await site.take();
	expect(await other.jobs.purge({ endpoint: site.endpoint, now: T0 })).toBe(3);
	expect(await site.takeIds({ limit: 5 })).toEqual([]);
	for (const id of ["a-1", "a-2"]) await addThere(id);
	expect(await site.takeIds({ limit: 5 })).toEqual(["a-1", "a-2"]);
});

it("a claim gets what other servers have added since, in order, and what they have handed out not at all", async ({
	onTestFinished,
}) => {
	const { site, other, addThere } = await two(onTestFinished);
	const first = [await site.add(), await site.add(), await site.add()].map(({ id }) => id);
	expect(await site.takeIds()).toEqual(first.slice(0, 1));
	const taken = await other.jobs.claim({
		endpoint: site.endpoint,
		worker: "w2",
		limit: 1,
		maxBytes: 1e6,
		now: T0,
	});
	expect(taken.jobs.map(({ job }) => job.id)).toEqual(first.slice(1, 2));
	await addThere("a-1");
	expect(await site.takeIds({ limit: 5 })).toEqual([first[2], "a-1"]);
	expect(await site.takeIds({ limit: 5 })).toEqual([]);
});

it("D20, D16: a claim that empties the usual queue goes on with low priority; returned jobs first", async ({
	onTestFinished,
}) => {
	const { site } = await two(onTestFinished);
	const [a, b] = [await site.add(), await site.add()];
	const low = await site.add({ lowPriority: true });
	const [taken] = (await site.take()).jobs;
	expect(taken?.job.id).toBe(a.id);
	await site.store.jobs.move({
		endpoint: site.endpoint,
		id: a.id,
		on: "release",
		attempt: taken!.job.attempt,
		over: true,
		now: T0,
	});
	expect(await site.takeIds({ limit: 2 })).toEqual([a.id, b.id]);
	expect(await site.takeIds({ limit: 2 })).toEqual([low.id]);
});

it("D20: a claim takes what waits and what its own transaction adds, those of low priority last", async ({
	onTestFinished,
}) => {
	const { site } = await two(onTestFinished);
	await site.add();
	await site.take();
	const together = async (waits: boolean): Promise<void> => {
		const stored = waits ? [await site.add()] : [];
		const [low, usual, taken] = await Promise.all([
			site.add({ lowPriority: true }),
			site.add(),
			site.takeIds({ limit: 5 }),
		]);
		expect(taken).toEqual([...stored, usual, low].map(({ id }) => id));
	};
	await together(false);
	await together(true);
});

it("a write sent with the end of its transaction that fails undoes all, and its error is reported", async (test) => {
	const { database } = await place(test);
	const add = statement("INSERT INTO queues (endpoint) VALUES ($1)");
	const all = statement("SELECT endpoint FROM queues ORDER BY endpoint");
	const written = (names: readonly string[]): Promise<string> =>
		database.write(async ({ run }, ending) => {
			await run(add, ["first"]);
			ending.writes(Promise.all(names.map((name) => run(add, [name]))));
			return "done";
		});
	await expect(written(["second", "first", "third"])).rejects.toThrow(/refused a statement \(23505\)/);
	expect((await database.read.run(all)).rows).toEqual([]);
	expect(await written(["second", "third"])).toBe("done");
	expect((await database.read.run(all)).rows.flat()).toEqual(["first", "second", "third"]);
});

it("last writes of which one could not be asked at all undo those before it", async (test) => {
	const { database } = await place(test);
	const add = statement("INSERT INTO queues (endpoint) VALUES ($1)");
	const written = database.write(async ({ run }, ending) => {
		const writing = run(add, ["first"]);
		ending.writes(
			(async () => {
				writing.catch(() => {});
				throw new Error("The second one cannot be put together.");
			})(),
		);
	});
	await expect(written).rejects.toThrow("cannot be put together");
	expect((await database.read.run(statement("SELECT endpoint FROM queues"))).rows).toEqual([]);
});

it("a last write that fails is what is reported, also where nothing was awaited before it", async (test) => {
	const { database } = await place(test);
	const add = statement("INSERT INTO queues (endpoint) VALUES ($1)");
	const twice = transaction({ connection: database.hot, clock: systemClock }, async ({ run }, ending) =>
		ending.writes(Promise.all([run(add, ["first"]), run(add, ["first"])])),
	);
	await expect(twice).rejects.toMatchObject({ code: "23505" });
});
