/**
 * What one server does for all (D28, D34): each endpoint's workers are launched by one server, and
 * go to another when it stops or dies.
 */
import { Client } from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import { rawConnection, requestText } from "../spec/raw-http.ts";
import { sdkProtocol } from "../support/sdk-protocol.ts";
import { movedEnv, submit, workerEnvOf } from "../support/sdk-worker-bench.ts";
import { servers, type Servers, type TestServer } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { untilFits } from "../support/until.ts";

/**
 * A worker that lives and asks for nothing. Its folder is the same for all servers: it
 * would be that of each one's settings.
 */
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
afterEach(async () => {
	for (const each of groups.splice(0)) await each.end();
});

async function group(): Promise<Servers> {
	const made = await servers();
	groups.push(made);
	return made;
}

/** What the server leads, by its own word. */
const leads = (server: TestServer): string[] => server.engine.cluster.members().find(({ self }) => self)?.leads ?? [];

/**
 * Ids of the endpoint's workers that this server has launched and that are not on their way out.
 */
const launched = (server: TestServer, ep: string): string[] =>
	[...server.engine.workers.of(ep)]
		.filter(({ launcher, draining }) => launcher === "process" && !draining)
		.map(({ id }) => id);

describe("D28: one server launches the workers of an endpoint", () => {
	it("each of two servers launches its share of workers, gives them its own address, and counts all", {
		timeout: 60_000,
	}, async () => {
		const g = await group();
		const endpoints = Object.fromEntries(["e1", "e2", "e3", "e4"].map((id) => [id, { ...SLEEPER, workersMin: 0 }]));
		const a = await g.start({ endpoints });
		const b = await g.start({ endpoints });
		const both = [a, b];
		await untilFits(
			() => both.map((server) => leads(server).filter((name) => name.startsWith("scale:")).length),
			(sizes) => sizes.every((size) => size === 2),
		);
		for (const id of Object.keys(endpoints)) await submit(a.url, { input: {} }, id);
		for (const id of Object.keys(endpoints)) {
			await untilFits(
				() => both.flatMap((server) => launched(server, id)).length,
				(count) => count === 1,
			);
			for (const server of both)
				await untilFits(
					() => call(server.url, `/v2/${id}/health`),
					({ json }) => json.workers.initializing === 1,
				);
		}
		expect(both.map((server) => Object.keys(endpoints).filter((id) => launched(server, id).length > 0).length)).toEqual(
			[2, 2],
		);
	});

	it("D34: one that stops gives them up at once", { timeout: 60_000 }, async () => {
		const g = await group();
		const endpoints = { e1: SLEEPER };
		const a = await g.start({ endpoints });
		await untilFits(
			() => launched(a, "e1").length,
			(count) => count === 1,
		);
		const known = a.next("server.joined");
		const b = await g.start({ endpoints });
		await known;
		const taken = b.next("lease.taken", ({ name }) => name === "scale:e1");
		const began = performance.now();
		const stopped = a.stop();
		await taken;
		expect(performance.now() - began).toBeLessThan(1500);
		await untilFits(
			() => launched(b, "e1").length,
			(count) => count === 1,
		);
		await stopped;
	});
});

describe("D16, D34: a server that was not running", () => {
	it("finds its endpoints led by another, and ends its workers: none is launched twice for long", {
		timeout: 60_000,
	}, async () => {
		const g = await group();
		const endpoints = { e1: SLEEPER };
		// A server that can be suspended: its clock and its timers stand.
		let standing = false;
		const woken: (() => void)[] = [];
		const clock = {
			now: systemClock.now,
			wall: systemClock.wall,
			sleep: async (ms: number, signal?: AbortSignal) => {
				await systemClock.sleep(ms, signal);
				if (standing) await new Promise<void>((resolve) => woken.push(resolve));
			},
		};
		const a = await g.start({ endpoints, clock });
		await untilFits(
			() => launched(a, "e1").length,
			(count) => count === 1,
		);
		const [worker] = launched(a, "e1");
		const known = a.next("server.joined");
		const b = await g.start({ endpoints });
		await known;
		expect(launched(a, "e1"), "the other server leaves it alone").toEqual([worker]);
		const taken = b.next("lease.taken", ({ name }) => name === "scale:e1");
		const began = performance.now();
		standing = true;
		await taken;
		expect(performance.now() - began).toBeLessThan(10_000);
		await untilFits(
			() => launched(b, "e1").length,
			(count) => count === 1,
		);
		const lost = a.next("lease.lost", ({ name }) => name === "scale:e1");
		const exited = a.next("worker.exited", ({ worker: id }) => id === worker);
		standing = false;
		for (const wake of woken.splice(0)) wake();
		await lost;
		await exited;
		await untilFits(
			() => launched(a, "e1").length,
			(count) => count === 0,
		);
		expect(launched(b, "e1")).toHaveLength(1);
	});
});

describe("D16: a server that starts or stops beside others", () => {
	it("extends no lease at its start, for the others ran; the first one after all were stopped does", {
		timeout: 60_000,
	}, async () => {
		const g = await group();
		const a = await g.start({ endpoints: { e1: {} } });
		const w = sdkProtocol(await workerEnvOf(a.url, "e1"));
		await submit(a.url, { input: {} }, "e1");
		await w.take();
		w.close();
		const database = new Client({ connectionString: g.store });
		await database.connect();
		try {
			const leaseUntil = async (): Promise<number> =>
				Number((await database.query("SELECT lease_until FROM jobs")).rows[0].lease_until);
			const before = await leaseUntil();
			const b = await g.start();
			expect(await leaseUntil()).toBe(before);
			await a.stop();
			await b.stop();
			expect(await leaseUntil()).toBe(before);
			await g.start();
			expect(await leaseUntil()).toBeGreaterThan(before);
		} finally {
			await database.end();
		}
	});

	it("D34: answers on the connections that a balancer keeps, each for the last time, before it closes them", {
		timeout: 60_000,
	}, async () => {
		const g = await group();
		const a = await g.start();
		await g.start();
		await untilFits(
			() => a.engine.cluster.others(),
			(others) => others,
		);
		const request = requestText({ method: "GET", path: "/healthz" });
		const kept = await rawConnection(a.url);
		kept.write(request);
		expect((await kept.answer()).headers["connection"]).toBe("keep-alive");
		const stopped = a.stop();
		await untilFits(
			async () => {
				const another = await rawConnection(a.url);
				another.write(request);
				return (await another.answer()).headers["connection"];
			},
			(connection) => connection === "close",
		);
		kept.write(request);
		expect((await kept.answer()).headers["connection"]).toBe("close");
		await kept.closed;
		await stopped;
	});

	it("D34: does not wait for a job of a worker that can go on at the others", {
		timeout: 60_000,
	}, async () => {
		const g = await group();
		const a = await g.start({ endpoints: { e1: {} }, drainSeconds: 50 });
		const b = await g.start();
		await untilFits(
			() => a.engine.cluster.others(),
			(others) => others,
		);
		const env = await workerEnvOf(a.url, "e1");
		const [atA, atB] = [sdkProtocol(env), sdkProtocol(movedEnv(env, b.url))];
		const id = await submit(a.url, { input: {} }, "e1");
		await atA.take();
		atA.close();
		const began = performance.now();
		await a.stop();
		expect(performance.now() - began).toBeLessThan(10_000);
		expect((await atB.done(id, { output: 1 })).status).toBe(200);
		expect((await call(b.url, `/v2/e1/status/${id}`)).json).toMatchObject({ status: "COMPLETED" });
		atB.close();
	});
});

describe("D34: the last server that stops", () => {
	it("does not wait for jobs that it handed out and whose end other servers know", {
		timeout: 60_000,
	}, async () => {
		const g = await group();
		const a = await g.start({ endpoints: { e1: {} } });
		const b = await g.start({ drainSeconds: 50 });
		await untilFits(
			() => call(b.url, "/v2/e1/health"),
			({ status }) => status === 200,
		);
		const env = await workerEnvOf(a.url, "e1");
		const [atA, atB] = [sdkProtocol(env), sdkProtocol(movedEnv(env, b.url))];
		const id = await submit(a.url, { input: {} }, "e1");
		await atB.take();
		expect((await atA.done(id, { output: 1 })).status).toBe(200);
		for (const each of [atA, atB]) each.close();
		await a.stop();
		await untilFits(
			() => b.engine.cluster.others(),
			(others) => !others,
		);
		const began = performance.now();
		await b.stop();
		expect(performance.now() - began).toBeLessThan(10_000);
	});
});

describe("D24: servers whose clocks are wrong", () => {
	it.each([3_600_000, -86_400_000])(
		"one that is off by %i ms goes by the database's clock: nothing lapses, waits and leases hold",
		{ timeout: 60_000 },
		async (skew) => {
			const g = await group();
			const now = (): number => systemClock.now() + skew;
			const off = { now, wall: now, sleep: systemClock.sleep };
			const a = await g.start({ endpoints: { e1: {} } });
			const id = await submit(a.url, { input: {}, policy: { ttl: 60_000 } }, "e1");
			const b = await g.start({ clock: off });
			const seen = await call(b.url, `/v2/e1/status/${id}`);
			expect(seen.json.status).toBe("IN_QUEUE");
			expect(seen.json.delayTime).toBeLessThan(30_000);
			expect((await call(b.url, "/readyz", { key: null })).status).toBe(200);
			await a.stop();
			await untilFits(
				() => leads(b),
				(led) => led.includes("sweep"),
			);
			expect((await call(b.url, `/v2/e1/status/${id}`)).json.status).toBe("IN_QUEUE");
		},
	);

	it("D40: one whose clock keeps jumping is not ready, and leads nothing; it is when that ends", {
		timeout: 60_000,
	}, async () => {
		const g = await group();
		let skew = 0;
		const a = await g.start({
			endpoints: { e1: {} },
			clock: { ...systemClock, now: () => systemClock.now() + skew },
		});
		const ready = () => call(a.url, "/readyz", { key: null });
		expect((await ready()).status).toBe(200);
		const jumping = new AbortController();
		const jumps = (async () => {
			while (!jumping.signal.aborted) {
				skew += 5000;
				await systemClock.sleep(20, jumping.signal);
			}
		})();
		const refused = await untilFits(ready, ({ status }) => status === 503);
		expect(refused.json).toMatchObject({
			code: "not_ready",
			error: expect.stringMatching(/clock cannot be compared with the database's/),
		});
		jumping.abort();
		await jumps;
		await untilFits(ready, ({ status }) => status === 200);
	});
});
