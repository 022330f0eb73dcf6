/**
 * A server that is killed: what it led is another's within 10 s, and what its workers held
 * goes on (D16, D28, D34).
 */
import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../support/free-port.ts";
import { type SdkProtocol, sdkProtocol } from "../support/sdk-protocol.ts";
import { idsOf, movedEnv, statusOf, submit, workerEnvOf } from "../support/sdk-worker-bench.ts";
import { servers, type Servers } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { untilFits } from "../support/until.ts";

/** From the death of a server until another one leads what it led, ms. */
const TAKEN_MS = 10_000;

/** A worker that asks for nothing. */
const SLEEPER = {
	launcher: {
		type: "process",
		command: [process.execPath, "-e", "setInterval(() => {}, 1000)"],
		cwd: "/",
	},
	workersMin: 1,
	workersMax: 1,
};

const groups: Servers[] = [];
const protocols: SdkProtocol[] = [];
afterEach(async () => {
	for (const each of protocols.splice(0)) each.close();
	for (const each of groups.splice(0)) await each.end();
});

async function group(): Promise<Servers> {
	const made = await servers();
	groups.push(made);
	return made;
}

/** What each server does for all, by its address, as one of them reports it. */
async function leadsAt(url: string): Promise<Record<string, string[]>> {
	const { json } = await call(url, "/v1/servers");
	return Object.fromEntries(json.servers.map((server: { url: string; leads: string[] }) => [server.url, server.leads]));
}

describe("D28, D34: kill -9 of the server that leads", { timeout: 90_000 }, () => {
	it("another one sweeps, delivers and launches within 10 s; a restart adopts its own workers only", async () => {
		const g = await group();
		const endpoints = { launched: SLEEPER };
		const a = await g.spawn({ endpoints });
		await untilFits(
			() => call(a.url, "/v1/endpoints/launched/workers"),
			({ json }) => json.workers.length === 1,
		);
		const b = await g.spawn({ endpoints });
		await untilFits(
			() => leadsAt(b.url),
			(leads) => leads[a.url]?.length === 4,
		);
		const killed = performance.now();
		await a.end("SIGKILL");
		await untilFits(
			() => leadsAt(b.url),
			(leads) => leads[b.url]?.length === 4,
		);
		expect(performance.now() - killed).toBeLessThan(TAKEN_MS);
		await untilFits(
			() => call(b.url, "/v1/endpoints/launched/workers"),
			({ json }) => json.workers.length === 1 && json.workers[0].state === "initializing",
		);
		const [mine] = (await call(b.url, "/v1/endpoints/launched/workers")).json.workers as {
			id: string;
		}[];
		const again = await g.spawn({ endpoints, in: a.folder });
		const answer = await untilFits(
			() => call(again.url, "/v1/endpoints/launched/workers"),
			({ json }) => json.workers.length === 1,
		);
		expect(answer.json.workers).toMatchObject([{ id: mine!.id }]);
		expect((await leadsAt(again.url))[again.url]).toEqual([]);
	});

	it("restarted at once at its address, it goes on with what it led, and with its workers", async () => {
		const g = await group();
		const endpoints = { launched: SLEEPER };
		const port = await freePort();
		const a = await g.spawn({ endpoints, port });
		const [worker] = (
			await untilFits(
				() => call(a.url, "/v1/endpoints/launched/workers"),
				({ json }) => json.workers.length === 1,
			)
		).json.workers;
		await untilFits(
			async () => a.stderr(),
			(log) => log.includes(`worker ${worker.id} started`),
		);
		await a.end("SIGKILL");
		const again = await g.spawn({ endpoints, port, in: a.folder });
		expect((await leadsAt(again.url))[again.url]).toEqual(["deliveries", "removal", "scale:launched", "sweep"]);
		expect((await call(again.url, "/v1/endpoints/launched/workers")).json.workers).toMatchObject([
			{ id: worker.id, state: "idle" },
		]);
	});

	it("D16: jobs of workers that call any server lose nothing: pings and reports go to those that live", async () => {
		const g = await group();
		const [a, b] = [await g.spawn({ endpoints: { ep: { leaseMs: 4000 } } }), await g.spawn()];
		await untilFits(
			() => call(b.url, "/v2/ep/health"),
			({ status }) => status === 200,
		);
		const env = await workerEnvOf(a!.url, "ep");
		const [atA, atB] = [sdkProtocol(env), sdkProtocol(movedEnv(env, b!.url))];
		protocols.push(atA, atB);
		const ids = [await submit(a!.url, { input: {} }, "ep"), await submit(a!.url, { input: {} }, "ep")];
		expect(idsOf(await atA.takeBatch({ size: 2 }))).toEqual(ids);
		await a!.end("SIGKILL");
		// Three leases long.
		await untilFits(
			async () => (await atB.ping(ids), await statusOf(b!.url, ids[0]!, "ep")),
			({ status, executionTime }) => status !== "IN_PROGRESS" || executionTime > 12_000,
		);
		for (const id of ids) {
			expect((await atB.done(id, { output: id })).status).toBe(200);
			const job = await statusOf(b!.url, id, "ep");
			expect(job).toMatchObject({ status: "COMPLETED", output: id });
			expect(job).not.toHaveProperty("retries");
		}
	});

	it("D16: a lease that ends while the sweeping server is dead is noticed by the next one within 10 s", async () => {
		const g = await group();
		const [a, b] = [await g.spawn({ endpoints: { ep: { leaseMs: 2000 } } }), await g.spawn()];
		await untilFits(
			() => leadsAt(b.url),
			(leads) => leads[a.url]?.includes("sweep") === true,
		);
		const w = sdkProtocol(await workerEnvOf(a.url, "ep"));
		protocols.push(w);
		const id = await submit(a.url, { input: {} }, "ep");
		await w.take();
		const killed = performance.now();
		await a.end("SIGKILL");
		const other = sdkProtocol(movedEnv(await workerEnvOf(b.url, "ep"), b.url));
		protocols.push(other);
		expect(idsOf(await other.take())).toEqual([id]);
		expect(performance.now() - killed).toBeLessThan(TAKEN_MS);
	});
});
