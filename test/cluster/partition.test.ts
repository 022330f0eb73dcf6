/**
 * Servers whose packets to or from the database are dropped, while another one still reaches it: what
 * callers get, who takes their roles, and what the database keeps of them (D16, D28, D40).
 */
import { Client } from "pg";
import { expect, it } from "vitest";
import { SESSION_LOCKS } from "../../src/kernel/store/postgres/connection/session-liveness.ts";
import { type Direction, networkFault, postgresNetwork } from "../support/postgres-network.ts";
import { sdkProtocol } from "../support/sdk-protocol.ts";
import { idsOf, movedEnv, statusOf, submit, workerEnvOf } from "../support/sdk-worker-bench.ts";
import { servers } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";

const DIRECTIONS: readonly Direction[] = ["to the database", "from the database", "in both directions"];

/** By when a client learns that the store is unavailable, and what a busy machine may add, ms. */
const TOLD_MS = 2000;
const BUSY_MS = 1500;

/** By when the others have the roles, and by when the database has ended the sessions, ms. */
const MOVED_MS = 12_000;
const ENDED_MS = 25_000;

/** By when a lost connection is replaced, and what its transaction locked is free, ms. */
const LOST_MS = 10_000;

const FAULT = networkFault();

it.skipIf(FAULT !== undefined)(
	"D16, D28, D40: partitioned servers answer 503, others go on with their roles, nothing is left",
	{ timeout: 90_000 },
	async (test) => {
		const { postgres, links, remove } = await postgresNetwork(DIRECTIONS.length + 1);
		test.onTestFinished(remove);
		const group = await servers(postgres);
		test.onTestFinished(() => group.end());
		const endpoints = { ep: { launcher: { type: "external" }, leaseMs: 60_000, limits: "off" } };
		const all = [];
		for (const link of links) all.push(await group.start({ by: link.through, endpoints }));
		const other = all.at(-1)!;
		const cut = all.slice(0, -1);
		const admin = new Client({
			connectionString: links.at(-1)!.through(postgres.adminUrl("postgres")),
		});
		await admin.connect();
		test.onTestFinished(() => admin.end());
		const sessionsOf = async (n: number): Promise<number> =>
			(await admin.query("SELECT 1 FROM pg_stat_activity WHERE client_addr = $1", [links[n]!.client])).rows.length;

		const env = await workerEnvOf(other.url, "ep");
		const workers = cut.map(({ url }) => sdkProtocol(movedEnv(env, url)));
		test.onTestFinished(() => workers.forEach((each) => each.close()));
		const had: string[] = [];
		for (const [n, { url }] of cut.entries()) {
			had.push(await submit(url, { input: {} }, "ep"));
			expect(idsOf(await workers[n]!.take({ busy: n > 0 }))).toEqual([had[n]]);
		}
		await until("the first server to lead", async () =>
			(await call(other.url, "/v1/servers")).json.servers[0].leads.includes("sweep"),
		);

		for (const [n, direction] of DIRECTIONS.entries()) links[n]!.drop(direction);
		const began = performance.now();
		const reports = workers.map((each, n) => each.done(had[n]!, { output: n }));
		for (const report of reports) report.catch(() => {});
		const slowest: number[] = [];
		await Promise.all(
			cut.flatMap(({ url }, n) =>
				[{ body: { input: {} } }, undefined].map(async (sent) => {
					const path = sent ? "/v2/ep/run" : `/v2/ep/status/${had[n]}`;
					for (let turn = 0; turn < 5; turn += 1) {
						const from = performance.now();
						const { status, headers, text } = await call(url, path, sent);
						slowest[n] = Math.max(slowest[n] ?? 0, performance.now() - from);
						expect([status, headers.get("retry-after")], text).toEqual([503, "2"]);
					}
				}),
			),
		);
		for (const ms of slowest) expect(ms).toBeLessThan(TOLD_MS + BUSY_MS);
		const job = await submit(other.url, { input: {} }, "ep");
		await until(
			"the last server to have the roles",
			async () => {
				const { servers: alive } = (await call(other.url, "/v1/servers")).json;
				return alive.length === 1 && alive[0].leads.includes("sweep");
			},
			MOVED_MS,
		);
		const moved = performance.now() - began;
		for (const { url } of cut) expect((await call(url, "/readyz", { key: null })).status).toBe(503);
		const ended: string[] = [];
		for (const [n, direction] of DIRECTIONS.entries()) {
			await until(`sessions ${direction} to end`, async () => (await sessionsOf(n)) === 0, ENDED_MS);
			ended.push(`${direction} ${((performance.now() - began) / 1000).toFixed(1)} s`);
		}

		for (const link of links) link.pass();
		for (const { url } of cut)
			await until("readiness", async () => (await call(url, "/readyz", { key: null })).status === 200);
		for (const [n, report] of reports.entries()) {
			expect((await report).status).toBe(200);
			expect(await statusOf(other.url, had[n]!, "ep")).toMatchObject({
				status: "COMPLETED",
				output: n,
			});
		}
		expect(idsOf(await workers[0]!.take())).toEqual([job]);
		process.stdout.write(
			`refused after at most ${Math.max(...slowest).toFixed(0)} ms; roles moved after ` +
				`${(moved / 1000).toFixed(1)} s; sessions ended: ${ended.join(", ")}\n`,
		);
	},
);

it.skipIf(FAULT !== undefined)(
	"D40: a server whose open connections are lost silently goes on with new ones",
	{ timeout: 90_000 },
	async (test) => {
		const { postgres, links, remove } = await postgresNetwork(DIRECTIONS.length);
		test.onTestFinished(remove);
		const group = await servers(postgres);
		test.onTestFinished(() => group.end());
		const endpoints = { ep: { launcher: { type: "external" }, limits: "off" } };
		const admin = new Client({
			connectionString: links[0]!.through(postgres.adminUrl("postgres")),
		});
		await admin.connect();
		test.onTestFinished(() => admin.end());
		const urls: string[] = [];
		for (const link of links) urls.push((await group.start({ by: link.through, endpoints })).url);

		/** Of all connections except the one that asks whether the database answers. */
		async function portsOf(n: number): Promise<number[]> {
			await submit(urls[n]!, { input: {} }, "ep");
			const { rows } = await admin.query<{ client_port: number }>(
				`SELECT client_port FROM pg_stat_activity WHERE client_addr = $1 AND pid <> pg_backend_pid()
					AND pid NOT IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = $2)`,
				[links[n]!.client, SESSION_LOCKS],
			);
			expect(rows.length).toBeGreaterThan(5);
			return rows.map(({ client_port: port }) => port);
		}

		async function accepted(n: number, direction: Direction): Promise<string> {
			const began = performance.now();
			const statuses: number[] = [];
			await until("a submission that is accepted", async () => {
				statuses.push((await call(urls[n]!, "/v2/ep/run", { body: { input: {} } })).status);
				return statuses.at(-1) === 200;
			});
			const ms = performance.now() - began;
			for (const status of statuses.slice(0, -1)) expect(status).toBe(503);
			expect(ms).toBeLessThan(LOST_MS);
			return `${direction}: ${statuses.join(", ")} in ${ms.toFixed(0)} ms`;
		}
		const ports = [];
		for (const n of links.keys()) ports.push(await portsOf(n));
		for (const [n, link] of links.entries()) link.drop(DIRECTIONS[n]!, ports[n]);
		const lines = await Promise.all(DIRECTIONS.map((each, n) => accepted(n, each)));
		process.stdout.write(`${lines.join("; ")}\n`);
	},
);
