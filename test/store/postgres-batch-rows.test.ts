/** Batches of requests (D57) at several servers, in PostgreSQL. */
import { expect, it } from "vitest";
import { statement } from "../../src/kernel/store/postgres/connection/statement.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import { until } from "../support/until.ts";
import { batchRow } from "./batches.ts";
import { fileRow } from "./files.ts";
import { type Place, place, tablesAt } from "./postgres-place.ts";
import { T0 } from "./site.ts";

/** Operations of two servers, with an endpoint `a`. */
async function servers(here: Place): Promise<[Store, Store]> {
	const [one, other] = [here.another(), here.another()].map((database) => tablesAt({ ...here, database }) as Store);
	await one!.endpoints.put({ id: "a", settings: "{}", now: T0 });
	return [one!, other!];
}

const WAITS = statement(
	"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
);

function waits({ database }: Place, calls: number): Promise<unknown> {
	const count = async (): Promise<number> => Number((await database.read.run(WAITS)).rows[0]?.[0]);
	return until(`${calls} waits for a lock`, async () => (await count()) === calls);
}

/** Another server runs the statement `before`, and when `run` has resolved those `after`, in one transaction. */
async function during<A>(
	here: Place,
	{ before, after = [] }: { before: string; after?: readonly string[] },
	run: () => Promise<A>,
): Promise<A> {
	const { promise: over, resolve: end } = Promise.withResolvers<void>();
	const begun = Promise.withResolvers<void>();
	const blocking = here.another().write(async (runner) => {
		await runner.run(statement(before));
		begun.resolve();
		await over;
		for (const text of after) await runner.run(statement(text));
	});
	await begun.promise;
	try {
		return await run();
	} finally {
		end();
		await blocking;
	}
}

/** Starts the calls so that none of them has written when the last one begins. */
async function together<A>(here: Place, calls: readonly (() => Promise<A>)[]): Promise<A[]> {
	const answers = await during(here, { before: "LOCK TABLE batches IN SHARE MODE" }, async () => {
		const begun = Promise.all(calls.map((call) => call()));
		await waits(here, calls.length);
		return { begun };
	});
	return await answers.begun;
}

it("D57: of one request at two servers at once, one makes the batch and the other returns it", async (test) => {
	const here = await place(test);
	const both = await servers(here);
	const row = { endpoint: "a", fingerprint: "f".repeat(64) };
	const calls = both.map(
		({ batches }) =>
			() =>
				batches.insert({ row: batchRow(row), repeatsSince: T0 }),
	);
	const answers = await together(here, calls);
	expect(new Set(answers.map((each) => each?.repeated))).toEqual(new Set([false, true]));
	expect(answers[0]?.batch.id).toBe(answers[1]?.batch.id);
});

it("D57: of two servers that replace one version at once, one does, and only its file is stored", async (test) => {
	const here = await place(test);
	const both = await servers(here);
	const row = batchRow({ endpoint: "a" });
	const [{ batches, files }] = both;
	await batches.insert({ row, repeatsSince: T0 });
	const calls = both.map((server, n) => () => {
		const insert = [fileRow({ endpoint: "a", bytes: n })];
		const change = { insert, remove: [], endpointBytes: 9, totalBytes: 9 };
		return server.batches.replace({ ...row, progress: String(n), files: change });
	});
	const outcomes = await together(here, calls);
	expect(new Set(outcomes)).toEqual(new Set(["replaced", "stale"]));
	const done = outcomes.indexOf("replaced");
	expect(await batches.find(row)).toMatchObject({ version: 2, progress: String(done) });
	expect(await files.totals()).toEqual([{ endpoint: "a", files: 1, bytes: done }]);
});

it("D39, D57: a replacement waits for the removal of its endpoint elsewhere, and stores no file", async (test) => {
	const here = await place(test);
	const [{ batches, files }] = await servers(here);
	const row = batchRow({ endpoint: "a" });
	await batches.insert({ row, repeatsSince: T0 });
	const file = fileRow({ endpoint: "a" });
	const change = { insert: [file], remove: [], endpointBytes: 9, totalBytes: 9 };
	const after = ["files", "batches", "endpoints"].map((table) => `DELETE FROM ${table}`);
	const removal = { before: "SELECT 1 FROM endpoints FOR UPDATE", after };
	const { outcome } = await during(here, removal, async () => {
		const begun = batches.replace({ ...row, progress: "{}", files: change });
		await waits(here, 1);
		return { outcome: begun };
	});
	expect(await outcome).toBe("stale");
	expect(await files.unknown({ ids: [file.id] })).toEqual([file.id]);
});
