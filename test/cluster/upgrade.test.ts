/**
 * Two servers of this version start at the same moment on a database of the version before: one
 * migrates it, the other waits, and both serve (D16, D17).
 */
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { Client } from "pg";
import { expect, it } from "vitest";
import { SECRET } from "../store/earlier/facts.ts";
import { sdkProtocol } from "../support/sdk-protocol.ts";
import { idsOf, movedEnv, statusOf, submit, workerEnvOf } from "../support/sdk-worker-bench.ts";
import { servers } from "../support/servers.ts";
import { call } from "../support/service.ts";

const MIGRATIONS = fileURLToPath(new URL("../../src/kernel/store/postgres/migrations", import.meta.url));
const LAST = readdirSync(MIGRATIONS).length;
const BEFORE = new URL(
	`../store/earlier/postgres-${String(Math.max(1, LAST - 1)).padStart(4, "0")}.sql.gz`,
	import.meta.url,
);

it("D16, D17: two servers start together on a database of the version before", {
	timeout: 60_000,
}, async (test) => {
	const group = await servers();
	test.onTestFinished(() => group.end());
	const client = new Client({ connectionString: group.store });
	await client.connect();
	await client.query(gunzipSync(readFileSync(BEFORE)).toString());
	await client.end();
	const endpoints = { ep: { launcher: { type: "external" }, limits: "off" } };
	const start = () => group.spawn({ endpoints, env: { SLUICE_SECRET: SECRET } });
	const [one, two] = await Promise.all([start(), start()]);

	for (const { url } of [one, two]) {
		expect((await call(url, "/readyz", { key: null })).status).toBe(200);
		expect((await call(url, "/v1/endpoints/made")).json).toMatchObject({ workersMax: 4 });
	}
	const check = new Client({ connectionString: group.store });
	await check.connect();
	const { rows } = await check.query("SELECT number FROM migrations ORDER BY number");
	await check.end();
	expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: LAST }, (_, n) => n + 1));

	await call(one.url, "/v2/ep/purge-queue", { method: "POST" });
	const worker = sdkProtocol(movedEnv(await workerEnvOf(one.url, "ep"), two.url));
	test.onTestFinished(() => worker.close());
	const id = await submit(one.url, { input: {} }, "ep");
	expect(idsOf(await worker.take())).toEqual([id]);
	expect((await worker.done(id, { output: 1 })).status).toBe(200);
	expect(await statusOf(one.url, id, "ep")).toMatchObject({ status: "COMPLETED", output: 1 });
});
