/** Statements mean the same whatever plan PostgreSQL chooses for them. */
import { Client } from "pg";
import { expect, it } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { LOAD_JOBS, UPDATE_JOBS } from "../../src/kernel/store/postgres/rows/job-records.ts";
import { insertDeliveries } from "../../src/kernel/store/postgres/rows/deliveries.ts";
import { type Database, openDatabase } from "../../src/kernel/store/postgres/connection/database.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import { expireKeys } from "../../src/kernel/store/postgres/queries/purge.ts";
import { prepareSchema } from "../../src/kernel/store/postgres/schema.ts";
import { statement } from "../../src/kernel/store/postgres/connection/statement.ts";
import { openWebhooks } from "../../src/kernel/store/postgres/queries/webhooks.ts";
import { postgres } from "../support/postgres.ts";
import { tablesAt } from "./postgres-place.ts";
import { siteOf, T0 } from "./site.ts";

const ROWS = 5;
const SOME = 2;
const silent = { signal: () => undefined, notifyOthers: () => undefined };

/**
 * Ways to join: a planner that has only one of them runs a subquery once, or once for every row of
 * the table beside it.
 */
const JOINS = ["hashjoin", "mergejoin", "nestloop"];
/** What would keep the rows of a subquery for the next time. */
const KEPT = ["material", "hashagg", "sort"];

/** A database whose planner joins in one way. */
async function joiningBy(join: string, onTestFinished: (end: () => Promise<void>) => void): Promise<Database> {
	const { url } = await (await postgres()).createDatabase();
	await prepareSchema({ url });
	const client = new Client({ connectionString: url });
	await client.connect();
	const name = new URL(url).pathname.slice(1);
	for (const off of [...JOINS.filter((one) => one !== join), ...KEPT])
		await client.query(`ALTER DATABASE "${name}" SET enable_${off} = off`);
	await client.end();
	const database = openDatabase({ url, clock: systemClock });
	onTestFinished(() => database.close());
	return database;
}

/** What is removed until nothing is left, by each call. */
async function removed(step: () => Promise<number>): Promise<number[]> {
	const steps = [await step()];
	while (steps.at(-1) !== 0) steps.push(await step());
	return steps;
}

for (const join of JOINS) {
	it(`D21: deliveries that are over go no more than asked at a time: ${join}`, async ({ onTestFinished }) => {
		const database = await joiningBy(join, onTestFinished);
		const webhooks = openWebhooks({ database, ...silent });
		const rows = Array.from({ length: ROWS }, (_, n) => ({
			id: `msg_${n}`,
			endpoint: "a",
			job: `job-${n}`,
			url: "https://example.org/",
			receiver: "example.org",
			body: "{}",
			createdAt: T0,
		}));
		await database.write(({ run }) => insertDeliveries(run, rows));
		for (const { id } of rows)
			await webhooks.tried({ id, tried: { at: T0, tookMs: 1, error: "refused" }, state: "failed" });
		expect(await removed(() => webhooks.expire({ before: T0 + 1, limit: SOME }))).toEqual([2, 2, 1, 0]);
	});

	it(`D40: old rows of the metrics go no more than asked at a time: ${join}`, async ({ onTestFinished }) => {
		const { metrics } = tablesAt({ database: await joiningBy(join, onTestFinished), ...silent });
		await metrics.put({
			rows: Array.from({ length: ROWS }, (_, n) => ({
				endpoint: "a",
				step: 60_000,
				at: T0 + n,
				source: "here",
				tally: "{}",
			})),
		});
		expect(await removed(() => metrics.expire({ step: 60_000, before: T0 + ROWS, limit: SOME }))).toEqual([2, 2, 1, 0]);
	});

	it(`D14: keys that have expired go no more than asked at a time: ${join}`, async ({ onTestFinished }) => {
		const database = await joiningBy(join, onTestFinished);
		const add = statement(
			"INSERT INTO idempotency (endpoint, operation, key, body_hash, job, expires_at) " +
				"SELECT 'a', 'run', n::text, '', n::text, $1 FROM generate_series(1, $2::int4) AS n",
		);
		await database.write(({ run }) => run(add, [T0, ROWS]));
		const count = async (): Promise<number> =>
			Number((await database.read.run(statement("SELECT count(*) FROM idempotency"))).rows[0]?.[0]);
		expect(
			await removed(async () => {
				const before = await count();
				await expireKeys(database, { now: T0, limit: SOME });
				return before - (await count());
			}),
		).toEqual([2, 2, 1, 0]);
	});
}

it("jobs are found by their key where the statistics say that the table is empty, and dead rows fill it", async ({
	onTestFinished,
}) => {
	const { url } = await (await postgres()).createDatabase();
	const store = await openPostgres({ url, clock: systemClock });
	onTestFinished(() => store.close());
	const site = siteOf(store);
	for (let n = 0; n < ROWS; n += 1) await site.add();
	const [other, own] = [new Client({ connectionString: url }), new Client({ connectionString: url })];
	for (const client of [other, own]) {
		await client.connect();
		onTestFinished(() => client.end());
	}
	await other.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM queues");
	await own.query("DELETE FROM jobs");
	await own.query("VACUUM jobs");
	const { rows } = await own.query("SELECT reltuples, relpages FROM pg_class WHERE relname = 'jobs'");
	expect(rows).toEqual([{ reltuples: 0, relpages: 1 }]);
	const database = openDatabase({ url, clock: systemClock });
	onTestFinished(() => database.close());
	for (const [at, { text }] of [LOAD_JOBS, UPDATE_JOBS].entries()) {
		const parameters = Math.max(...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)));
		const nulls = Array.from({ length: parameters }, () => "NULL").join(", ");
		const plan = await database.write(async ({ run }) => {
			await run(statement(`PREPARE looked_up_${at} AS ${text}`));
			return (await run(statement(`EXPLAIN EXECUTE looked_up_${at}(${nulls})`))).rows.join("\n");
		});
		expect(plan).toMatch(/Index Cond: .*endpoint = given.endpoint.*id = given.id/);
	}
});
