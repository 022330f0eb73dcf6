/** What outages leave in PostgreSQL is removed by autovacuum, however few they are. */
import { Client } from "pg";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { until } from "../support/until.ts";

const TRIALS = `
  SELECT pg_relation_size(reltoastrelid)::int FROM pg_class WHERE relname = 'meta'`;

it("D40: the rows of trial writes are removed, also after few of them", async () => {
	const server = await startPostgres({ settings: { autovacuum_naptime: "1s" } });
	onTestFinished(() => server.remove());
	const { name, url } = await server.createDatabase();
	const store = await openPostgres({ url, clock: systemClock });
	onTestFinished(() => store.close());
	const client = new Client({ connectionString: server.adminUrl(name) });
	await client.connect();
	onTestFinished(() => client.end());
	const size = async (): Promise<number> =>
		(await client.query<[number]>({ text: TRIALS, rowMode: "array" })).rows[0]![0];

	await store.ping();
	await store.ping();
	expect(await size()).toBeGreaterThan(30_000);
	await until("the rows of trial writes to be removed", async () => (await size()) === 0, 40_000);
}, 90_000);
