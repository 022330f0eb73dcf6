/**
 * Two servers of a version with one more migration start at the same moment on a database of this version, beside a
 * server of this version that goes on: one migrates it, the other waits, and all serve (D16, D17). The migration does
 * nothing: every version after it must.
 */
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { expect, it } from "vitest";
import { sdkProtocol } from "../support/sdk-protocol.ts";
import { idsOf, movedEnv, statusOf, submit, workerEnvOf } from "../support/sdk-worker-bench.ts";
import { servers } from "../support/servers.ts";
import { call } from "../support/service.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MIGRATIONS = "dist/kernel/store/postgres/migrations";
const LAST = readdirSync(join(ROOT, "src/kernel/store/postgres/migrations")).length;

/** Copies the built package and adds a migration. */
function laterPackage(folder: string): void {
	for (const part of ["bin", "dist", "package.json"]) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
	symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
	const number = String(LAST + 1).padStart(4, "0");
	writeFileSync(join(folder, MIGRATIONS, `${number}_pretended.sql`), "SELECT 1;\n");
}

it("D16, D17: two servers of a later version start together beside one of this version", {
	timeout: 60_000,
}, async (test) => {
	const later = mkdtempSync(join(tmpdir(), "sluice-later-"));
	test.onTestFinished(() => rmSync(later, { recursive: true, force: true }));
	laterPackage(later);
	const group = await servers();
	test.onTestFinished(() => group.end());
	const endpoints = { ep: { launcher: { type: "external" }, limits: "off" } };
	const before = await group.spawn({ endpoints });
	const made = { id: "made", launcher: { type: "external" }, workersMax: 4 };
	expect((await call(before.url, "/v1/endpoints", { body: made })).status).toBe(201);
	const waiting = await submit(before.url, { input: {} }, "ep");
	const start = () => group.spawn({ endpoints, package: later });
	const [one, two] = await Promise.all([start(), start()]);

	for (const { url } of [before, one, two]) {
		expect((await call(url, "/readyz", { key: null })).status).toBe(200);
		expect((await call(url, "/v1/endpoints/made")).json).toMatchObject({ workersMax: 4 });
	}
	const check = new Client({ connectionString: group.store });
	await check.connect();
	const { rows } = await check.query("SELECT number FROM migrations ORDER BY number");
	await check.end();
	expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: LAST + 1 }, (_, n) => n + 1));

	const worker = sdkProtocol(movedEnv(await workerEnvOf(before.url, "ep"), two.url));
	test.onTestFinished(() => worker.close());
	const id = await submit(one.url, { input: {} }, "ep");
	for (const each of [waiting, id]) {
		expect(idsOf(await worker.take())).toEqual([each]);
		expect((await worker.done(each, { output: 1 })).status).toBe(200);
		expect(await statusOf(before.url, each, "ep")).toMatchObject({ status: "COMPLETED", output: 1 });
	}
});
