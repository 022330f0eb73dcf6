/**
 * Three servers as processes of their own on one PostgreSQL: any request may go to any of them (D7,
 * D8, D11, D16, D18, D27, D29, D30, D39).
 */
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { SESSION_LOCKS } from "../../src/kernel/store/postgres/connection/session-liveness.ts";
import { rawConnection, requestText } from "../spec/raw-http.ts";
import { type SdkProtocol, sdkProtocol } from "../support/sdk-protocol.ts";
import { idsOf, movedEnv, statusOf, stopsOf, submit, workerEnvOf } from "../support/sdk-worker-bench.ts";
import { servers, type Servers } from "../support/servers.ts";
import { call, KEY, type ServiceProcess } from "../support/service.ts";
import { untilFits } from "../support/until.ts";

/** Jobs of which the median is printed. */
const JOBS = 20;

/**
 * What the median of an idle cluster is to be below, ms, and how much a busy machine may add to
 * that.
 */
const PROMPT_MS = 50;
const BUSY = 10;

let group: Servers;
let a: ServiceProcess;
let b: ServiceProcess;
let c: ServiceProcess;
let endpoints = 0;
const protocols: SdkProtocol[] = [];

beforeAll(async () => {
	group = await servers();
	[a, b, c] = (await Promise.all([group.spawn(), group.spawn(), group.spawn()])) as [
		ServiceProcess,
		ServiceProcess,
		ServiceProcess,
	];
});
afterEach(() => {
	for (const each of protocols.splice(0)) each.close();
});
afterAll(() => group?.end());

/** A new endpoint, made at `a`, known to all. */
async function fresh(settings: object = {}): Promise<string> {
	const id = `ep-${(endpoints += 1)}`;
	const { status, text } = await call(a.url, "/v1/endpoints", {
		body: { id, launcher: { type: "external" }, ...settings },
	});
	expect(status, text).toBe(201);
	return id;
}

/** One worker as it reaches each server. */
async function worker(ep: string): Promise<{ at: (server: ServiceProcess) => SdkProtocol }> {
	const env = await workerEnvOf(a.url, ep);
	const at = new Map([a, b, c].map((server) => [server.url, sdkProtocol(movedEnv(env, server.url))]));
	protocols.push(...at.values());
	return { at: (server) => at.get(server.url)! };
}

/** Resolves when the endpoint's one worker polls there. */
const polled = (server: ServiceProcess, ep: string) =>
	untilFits(
		() => call(server.url, `/v2/${ep}/health`),
		({ json }) => json.workers.idle === 1,
	);

describe("three servers started at the same moment on an empty database", () => {
	it("D22, D34: make its tables once, and one first key, which one of them prints", async () => {
		const empty = await servers();
		const database = new Client({ connectionString: empty.store });
		try {
			const started = await Promise.all(Array.from({ length: 3 }, () => empty.spawn({ env: { SLUICE_API_KEY: "" } })));
			await database.connect();
			expect((await database.query("SELECT scopes FROM keys")).rows).toHaveLength(1);
			const printedKeys = () =>
				started.flatMap(({ stdout }) => /shown only this once: (\S+)/.exec(stdout())?.[1] ?? []);
			const [key, ...more] = await untilFits(
				async () => printedKeys(),
				(keys) => keys.length > 0,
			);
			expect(more).toEqual([]);
			for (const { url } of started) expect((await call(url, "/v1/endpoints", { key: key! })).status).toBe(200);
		} finally {
			await database.end();
			await empty.end();
		}
	});
});

describe("a job that meets all three", () => {
	it(`D8: submitted at C, taken at B, pinged at C, reported to A: the median of ${JOBS} is prompt`, async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const taken: number[] = [];
		const whole: number[] = [];
		for (let n = 0; n < JOBS; n += 1) {
			const poll = w.at(b).take();
			await polled(b, ep);
			const began = performance.now();
			const answer = call(c.url, `/v2/${ep}/runsync`, { body: { input: { n } } });
			const [id] = idsOf(await poll);
			taken.push(performance.now() - began);
			expect((await w.at(c).ping([id!])).status).toBe(200);
			const posted = performance.now();
			expect((await w.at(a).done(id!, { output: n })).status).toBe(200);
			expect((await answer).json).toMatchObject({ id, status: "COMPLETED", output: n });
			whole.push(taken.at(-1)! + performance.now() - posted);
		}
		const median = whole.toSorted((x, y) => x - y)[JOBS / 2]!;
		const pickUp = taken.toSorted((x, y) => x - y)[JOBS / 2]!;
		process.stdout.write(
			`median of ${JOBS}: ${median.toFixed(1)} ms (its way to the worker ${pickUp.toFixed(1)} ` +
				`ms); slowest ${Math.max(...whole).toFixed(1)} ms\n`,
		);
		expect(median).toBeLessThan(BUSY * PROMPT_MS);
	});

	it("D8, D16: while the connections that carry signals are cut repeatedly it still ends", {
		timeout: 40_000,
	}, async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const database = new Client({ connectionString: group.store });
		await database.connect();
		const over = new AbortController();
		let cuts = 0;
		const cutting = (async () => {
			while (!over.signal.aborted)
				cuts += (
					await database.query(
						"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND " +
							`classid = ${SESSION_LOCKS} AND database = (SELECT oid FROM pg_database WHERE datname ` +
							"= current_database())",
					)
				).rows.length;
		})();
		const began = performance.now();
		const poll = w.at(b).take();
		const answer = call(c.url, `/v2/${ep}/runsync?wait=60000`, { body: { input: {} } });
		const [id] = idsOf(await poll);
		await w.at(a).done(id!, { output: "done" });
		expect((await answer).json).toMatchObject({ id, status: "COMPLETED", output: "done" });
		over.abort();
		await cutting;
		await database.end();
		process.stdout.write(`${cuts} connections cut, ${(performance.now() - began).toFixed(0)} ms\n`);
		expect(cuts).toBeGreaterThan(3);
		expect(performance.now() - began).toBeLessThan(15_000);
	});
});

describe("a stream", () => {
	const CHUNKS = 30;

	it("D7: read at A and C at once while its worker posts to B: each chunk is delivered once", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(b).take();
		async function read(server: ServiceProcess): Promise<number[]> {
			const seen: number[] = [];
			for (;;) {
				const { json } = await call(server.url, `/v2/${ep}/stream/${id}?wait=20000&status=true`);
				const chunks = Array.isArray(json) ? json : json.stream;
				seen.push(...chunks.map(({ output }: { output: number }) => output));
				if (chunks.length === 0 && (await statusOf(server.url, id, ep)).status === "COMPLETED") return seen;
			}
		}
		const readers = [read(a), read(c)];
		for (let n = 0; n < CHUNKS; n += 1) await w.at(b).chunk(id, { output: n });
		await w.at(b).done(id, { output: [] }, { stream: true });
		const seen = (await Promise.all(readers)).flat();
		expect(seen.toSorted((x, y) => x - y)).toEqual(Array.from({ length: CHUNKS }, (_, n) => n));
	});

	it("D7: as server-sent events of C: all chunks that came to A and B, in order, and the end", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(b).take();
		const events = fetch(`${c.url}/v2/${ep}/stream/${id}`, {
			headers: { authorization: KEY, accept: "text/event-stream" },
		}).then((answer) => answer.text());
		for (let n = 0; n < CHUNKS; n += 1) await w.at(n % 2 === 0 ? a : b).chunk(id, { output: n });
		await w.at(b).done(id, { output: [] }, { stream: true });
		const printedKeys = (await events).split("\n\n");
		expect(
			printedKeys.flatMap((event) => /^id: (\d+)\ndata: \{"output":(\d+)/m.exec(event)?.slice(1).map(Number) ?? []),
		).toEqual(Array.from({ length: CHUNKS }, (_, n) => [n, n]).flat());
		expect(printedKeys.at(-2)).toMatch(/^event: end\n/);
	});
});

describe("a server that is killed", () => {
	/** More than the system keeps for a connection on both sides. */
	const CHUNKS = 16;
	const CHUNK_BYTES = 900_000;

	it("D7, D24: while it writes chunks, and holds places under a limit: both are free again soon", {
		timeout: 60_000,
	}, async () => {
		const ep = await fresh({ limits: { runsync: { concurrent: 2 } } });
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(b).take();
		for (let n = 0; n < CHUNKS; n += 1) await w.at(b).chunk(id, { output: `${n}:`.padEnd(CHUNK_BYTES, "x") });
		const victim = await group.spawn();
		const busy = [];
		for (let n = 0; n < 2; n += 1)
			busy.push(call(victim.url, `/v2/${ep}/runsync?wait=60000`, { body: { input: {} } }).catch(() => {}));
		await untilFits(
			() => call(a.url, `/v2/${ep}/health`),
			({ json }) => json.jobs.inQueue === 2,
		);
		const runsync = () => call(a.url, `/v2/${ep}/runsync?wait=1000`, { text: "{}" });
		await untilFits(runsync, ({ status }) => status === 429);
		const slow = await rawConnection(victim.url, { lazy: true });
		slow.write(
			requestText({
				method: "GET",
				path: `/v2/${ep}/stream/${id}`,
				headers: { Authorization: KEY },
			}),
		);
		const read = (wait: number) => call(a.url, `/v2/${ep}/stream/${id}?wait=${wait}`);
		const database = new Client({ connectionString: group.store });
		await database.connect();
		await untilFits(
			() => database.query("SELECT FROM jobs WHERE reader IS NOT NULL"),
			({ rows }) => rows.length === 1,
		);
		await database.end();
		expect((await read(1)).json).toEqual([]);
		const killed = performance.now();
		await victim.end("SIGKILL");
		const first = await read(20_000);
		const readAgain = performance.now() - killed;
		expect(first.json.map(({ output }: { output: string }) => Number.parseInt(output, 10))).toEqual(
			Array.from({ length: CHUNKS }, (_, n) => n),
		);
		await untilFits(runsync, ({ status }) => status === 400);
		const freed = performance.now() - killed;
		slow.socket.destroy();
		await Promise.all(busy);
		process.stdout.write(
			`its reader's chunks came again after ${readAgain.toFixed(0)} ms, its places after ${freed.toFixed(0)} ms\n`,
		);
		expect(readAgain).toBeLessThan(5000);
		expect(freed).toBeLessThan(10_000);
	});
});

describe("what a client or an operator asks of one server holds at all", () => {
	it("D18: a cancel at A reaches the stop channel at B, and C reports it", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		const id = await submit(a.url, { input: {} }, ep);
		await w.at(c).take();
		const stop = w.at(b).stop();
		expect((await call(a.url, `/v2/${ep}/cancel/${id}`, { method: "POST" })).status).toBe(200);
		expect(await statusOf(c.url, id, ep)).toMatchObject({ status: "CANCELLED" });
		expect(stopsOf(await stop)).toEqual([id]);
	});

	it("D11: a purge at A answers those who wait at B and C", async () => {
		const ep = await fresh();
		const waits = [b, c].map(({ url }) => call(url, `/v2/${ep}/runsync?wait=20000`, { body: { input: {} } }));
		await untilFits(
			() => call(a.url, `/v2/${ep}/health`),
			({ json }) => json.jobs.inQueue === 2,
		);
		expect((await call(a.url, `/v2/${ep}/purge-queue`, { method: "POST" })).json).toMatchObject({
			removed: 2,
			status: "completed",
		});
		for (const { status, json } of await Promise.all(waits)) {
			expect([status, json.status]).toEqual([200, "CANCELLED"]);
			for (const { url } of [a, b, c]) expect((await call(url, `/v2/${ep}/status/${json.id}`)).status).toBe(404);
		}
	});

	it("D27, D29: so do a pause, a changed setting and the end of an endpoint", async () => {
		const ep = await fresh();
		const w = await worker(ep);
		await call(a.url, `/v1/endpoints/${ep}/pause`, { method: "POST" });
		for (const { url } of [b, c])
			await untilFits(
				() => call(url, `/v1/endpoints/${ep}`),
				({ json }) => json.paused === true,
			);
		const id = await submit(b.url, { input: {} }, ep);
		const poll = w.at(c).take();
		await call(b.url, `/v1/endpoints/${ep}/resume`, { method: "POST" });
		expect(idsOf(await poll)).toEqual([id]);
		await call(c.url, `/v1/endpoints/${ep}`, {
			method: "PATCH",
			body: { limits: { status: { per10s: 0 } } },
		});
		for (const { url } of [a, b])
			await untilFits(
				() => call(url, `/v2/${ep}/status/${id}`),
				({ status }) => status === 429,
			);
		expect((await call(a.url, `/v1/endpoints/${ep}?jobs=cancel`, { method: "DELETE" })).status).toBeLessThan(300);
		for (const { url } of [b, c])
			await untilFits(
				() => call(url, `/v2/${ep}/run`, { body: { input: {} } }),
				({ status }) => status === 404,
			);
	});

	it("D30: and the end of a key, at once", async () => {
		const { json } = await call(a.url, "/v1/keys", { body: { name: "k", scopes: ["read"] } });
		const asks = [b, c].map(
			({ url }) =>
				() =>
					call(url, "/v1/endpoints", { key: json.key }),
		);
		for (const ask of asks) expect((await ask()).status).toBe(200);
		await call(a.url, `/v1/keys/${json.id}`, { method: "DELETE" });
		const began = performance.now();
		await Promise.all(asks.map((ask) => untilFits(ask, ({ status }) => status === 401)));
		const ms = performance.now() - began;
		process.stdout.write(`refused everywhere after ${ms.toFixed(0)} ms\n`);
		expect(ms).toBeLessThan(BUSY * PROMPT_MS);
	});
});
