/**
 * Databases that earlier versions made (`earlier/README.md`) open with this version: jobs, results,
 * streams, keys, endpoints, secrets and webhooks are there, and the service goes on with them.
 */
import { MODULES } from "../../src/modules/index.ts";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { type App, startApp } from "../../src/kernel/compose.ts";
import { loadConfig } from "../../src/kernel/config/config.ts";
import { eventBus } from "../../src/kernel/events.ts";
import { verify } from "../../src/kernel/store/sqlite/file/verify.ts";
import { advanceUntil, manualClock } from "../support/manual-clock.ts";
import { postgres } from "../support/postgres.ts";
import { sdkProtocol } from "../support/sdk-protocol.ts";
import { call } from "../support/service.ts";
import { openOn } from "../support/service-store.ts";
import { type Dialect, type Facts, KEY, SECRET } from "./earlier/facts.ts";

const FOLDER = fileURLToPath(new URL("earlier/", import.meta.url));
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith(".gz"));

const stored = (dialect: Dialect): string[] =>
	FILES.filter((name) => name.startsWith(dialect)).map((name) => /\d{4}/.exec(name)![0]);

function temporaryFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), "sluice-earlier-"));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

/** The address of a database with the stored content. */
async function storeOf(dialect: Dialect, number: string, folder: string): Promise<string> {
	const kept = join(FOLDER, `${dialect}-${number}`);
	if (dialect === "sqlite") {
		execFileSync("tar", ["-xzf", `${kept}.tar.gz`, "-C", folder]);
		return `sqlite:${join(folder, "sluice.db")}`;
	}
	const { url } = await (await postgres()).createDatabase();
	const client = new Client({ connectionString: url });
	await client.connect();
	await client.query(gunzipSync(readFileSync(`${kept}.sql.gz`)).toString());
	await client.end();
	return url;
}

async function start(store: string, folder: string, { at }: Facts): Promise<{ app: App; stop(): Promise<void> }> {
	const clock = manualClock(at + 1000);
	const endpoints = { ep: { name: "From a file", launcher: { type: "external" } } };
	const file = JSON.stringify({ budgets: { reservedDisk: 0 }, endpoints });
	const loaded = loadConfig({
		modules: MODULES,
		flags: { config: "sluice.yaml", port: "0", "drain-timeout": "0", "data-dir": folder },
		env: { SLUICE_API_KEY: KEY, SLUICE_SECRET: SECRET, SLUICE_STORE: store },
		cwd: folder,
		readFile: () => file,
	});
	if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
	const open = openOn(clock);
	const app = await startApp(loaded.config, { modules: MODULES, clock, events: eventBus(), env: {}, open });
	return {
		app,
		async stop() {
			let over = false;
			const stopped = app.stop().finally(() => (over = true));
			await advanceUntil(clock, () => over, 1000);
			await stopped;
		},
	};
}

describe.each<Dialect>(["sqlite", "postgres"])("databases of earlier versions: %s", (dialect) => {
	it("one is kept of each schema that a service could use, up to the one before the last", () => {
		const migrations = fileURLToPath(new URL(`../../src/kernel/store/${dialect}/migrations`, import.meta.url));
		const last = readdirSync(migrations).length;
		const expected = Array.from({ length: Math.max(1, last - 1) }, (_, n) => n + 1);
		expect(stored(dialect).map(Number)).toEqual(expect.arrayContaining(expected));
	});

	it.each(stored(dialect))("D17: migration %s", async (number) => {
		const facts = JSON.parse(readFileSync(join(FOLDER, `${dialect}-${number}.json`), "utf8")) as Facts;
		const { jobs } = facts;
		const folder = temporaryFolder();
		const store = await storeOf(dialect, number, folder);
		const { app, stop } = await start(store, folder, facts);
		const worker = sdkProtocol(
			Object.fromEntries(
				Object.entries(facts.worker).map(([name, value]) => [
					name,
					value.replace(/^http:\/\/127\.0\.0\.1:\d+/, app.url),
				]),
			),
		);
		try {
			const status = async (id: string): Promise<{ text: string; json: any }> =>
				await call(app.url, `/v2/ep/status/${id}`);
			const states = await Promise.all(
				Object.entries(jobs).map(async ([name, id]) => [name, (await status(id)).json.status]),
			);
			expect(Object.fromEntries(states)).toEqual({
				completed: "COMPLETED",
				large: "COMPLETED",
				failed: "FAILED",
				streamed: "COMPLETED",
				hooked: "COMPLETED",
				running: "IN_PROGRESS",
				cancelled: "CANCELLED",
				low: "IN_QUEUE",
				waiting: "IN_QUEUE",
				repeated: "IN_QUEUE",
			});
			expect((await call(app.url, "/v2/ep/health")).json.jobs).toEqual(facts.counts);
			expect((await status(jobs.completed)).text).toContain('"output":{"big":18446744073709551615,"text":"é😀"}');
			expect((await status(jobs.large)).json.output).toBe("x".repeat(200_000));
			expect((await status(jobs.failed)).json.error).toBe("it broke");
			const chunks = (await call(app.url, `/sdk/v2/ep/stream/${jobs.streamed}`)).json.stream;
			expect(chunks.map(({ output }: { output: unknown }) => output)).toEqual(["one", "two"]);
			// Keys, endpoints with secrets, webhooks.
			expect((await call(app.url, "/v2/ep/health", { key: facts.key })).status).toBe(200);
			expect((await call(app.url, "/v2/made/health", { key: facts.key })).status).toBe(401);
			const made = await app.engine.endpoints.find("made");
			expect(made).toMatchObject({ workersMax: 4, env: { TOKEN: "sealed env" } });
			expect(await app.engine.endpoints.find("ep")).toMatchObject({ name: "From a file" });
			expect(app.engine.endpoints.webhookSecret("ep")).toMatchObject({
				ok: true,
				text: facts.webhookSecret,
			});
			const { deliveries } = (await call(app.url, "/v1/webhooks")).json;
			expect(deliveries.map(({ id }: { id: string }) => id)).toEqual(facts.deliveries);
			// It goes on: the worker of then reports, and gets the others in order.
			expect((await worker.done(jobs.running, { output: 6 })).status).toBe(200);
			expect((await status(jobs.running)).json).toMatchObject({ status: "COMPLETED", output: 6 });
			for (const [id, n] of [
				[jobs.waiting, 9],
				[jobs.repeated, 10],
				[jobs.low, 8],
			] as const) {
				const taken = JSON.parse((await worker.take()).text) as Record<string, any>;
				expect(taken).toMatchObject({ id, input: { n } });
				if (id === jobs.waiting) expect(taken["s3Config"].accessSecret).toBe("sealed s3");
				await worker.done(id, { output: n });
			}
			const again = await call(app.url, "/v2/ep/run", {
				text: '{"input":{"n":10},"policy":{"ttl":604800000}}',
				headers: { "idempotency-key": "once" },
			});
			expect(again.json.id).toBe(jobs.repeated);
			const retried = await call(app.url, `/v2/ep/retry/${jobs.failed}`, { method: "POST" });
			expect(retried.json).toMatchObject({ id: jobs.failed, status: "IN_QUEUE" });
			const added = await call(app.url, "/v2/ep/run", { body: { input: {} } });
			expect(added.status).toBe(200);
		} finally {
			worker.close();
			await stop();
		}
		if (dialect === "sqlite")
			expect((await verify(join(folder, "sluice.db"), { migrate: false })).problems).toEqual([]);
	});
});
