/**
 * One server whose PostgreSQL stops and starts again: which calls fail, which are held, and what goes on
 * afterwards (D16 Outages, D17, D40).
 */
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/kernel/system/clock.ts";
import type { EventName } from "../../src/kernel/events.ts";
import { ROUTES } from "../../src/modules/tables.ts";
import { log } from "../../src/kernel/log.ts";
import { lateness } from "../support/lateness.ts";
import { sdkProtocol, type SdkProtocol } from "../support/sdk-protocol.ts";
import { idsOf, statusOf, submit, workerEnvOf } from "../support/sdk-worker-bench.ts";
import { servers, type Servers, type TestServer } from "../support/servers.ts";
import { KEY, call } from "../support/service.ts";
import { tcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

/** By when a client gets an error, and what a busy machine may add to that beside its {@link lateness}, ms. */
const TOLD_MS = 2000;
const BUSY_MS = 500;

/** What a key's management calls may take at once, ms, and the share of its time in which it pays for more (D41). */
const SPENT_MS = 300;
const SHARE = 0.15;

/** An outage that workers' posts and polls outlast, ms; the shortest lease passes in it twice. */
const SHORT_MS = 5000;

let group: Servers;
let proxy: TcpProxy;
let server: TestServer;
/** Not by way of the proxy. */
let database: Client;
const lines: string[] = [];
const recorded: { name: EventName; facts: object }[] = [];
const protocols: SdkProtocol[] = [];
let endpoints = 0;

beforeAll(async () => {
	group = await servers();
	database = new Client({ connectionString: group.store });
	await database.connect();
	proxy = await tcpProxy(Number(new URL(group.store).port));
	server = await group.start({
		by: proxy.through,
		// All routes are called at the same time.
		config: { budgets: { management: 200 } },
		endpoints: {
			old: {
				limits: { "purge-queue": { per10s: 100 }, requests: { per10s: 100, concurrent: 100 } },
			},
		},
	});
	log({ events: server.events, clock: systemClock, write: (line) => lines.push(line) });
	server.events.onAny((name, facts) => recorded.push({ name, facts }));
});
afterEach(async () => {
	await proxy.pass();
	while ((await get("/readyz", { key: null })).status !== 200) await systemClock.sleep(20);
});
afterAll(async () => {
	for (const each of protocols) each.close();
	await proxy?.pass();
	await database?.end();
	await group?.end();
	proxy?.close();
});

const get = (path: string, q: Parameters<typeof call>[2] = {}) => call(server.url, path, q);

async function fresh(settings: object = {}): Promise<string> {
	const id = `ep-${(endpoints += 1)}`;
	expect(
		(
			await get("/v1/endpoints", {
				body: { id, launcher: { type: "external" }, limits: "off", ...settings },
			})
		).status,
	).toBe(201);
	return id;
}

async function workerOf(ep: string): Promise<SdkProtocol> {
	const made = sdkProtocol(await workerEnvOf(server.url, ep));
	protocols.push(made);
	return made;
}

/** The database stops, and runs again with the answer. */
function outage(): () => Promise<number> {
	proxy.refuse();
	proxy.cut();
	return async () => {
		const back = server.next("store.back");
		const began = performance.now();
		await proxy.pass();
		await back;
		return performance.now() - began;
	};
}

/** The password of the database. */
const secret = (): string => new URL(group.store).password;

describe("clients", () => {
	/** What routes need to come as far as the store. */
	const BODIES: Readonly<Record<string, unknown>> = {
		createEndpoint: { id: "new", launcher: { type: "external" } },
		updateEndpoint: { workersMax: 2 },
		putEndpoint: { workersMax: 2 },
		compareEndpoints: { endpoints: {} },
		createKey: { name: "k", scopes: ["read"] },
		rotateKey: {},
		cancelJobs: { filter: {} },
		retryJobs: { filter: {} },
		putRegistry: { username: "u", password: "p" },
		silenceAlert: {},
		createVideo: { prompt: "x" },
		remixVideo: { prompt: "x" },
		createTemplate: { name: "t", image: "a:1" },
		changeTemplate: { disk: 5 },
		createLogin: { name: "l", username: "u", password: "p" },
		createVolume: { name: "v", size: 10, dataCenter: "local" },
		changeVolume: { size: 20 },
		createManaged: { name: "a", type: "QUEUE", image: "a:1", scaling: { type: "REQUEST_COUNT", requestCount: 1 } },
		updateManaged: { name: "a" },
		createSecret: { name: "s", value: "v" },
		changeSecret: { value: "v" },
	};

	/** Routes that report what this server knows without the store. */
	const OWN: ReadonlySet<string> = new Set([
		"workerLogs",
		"startWorkers",
		"searchLogs",
		"listServers",
		"createBatch",
		"createFile",
		"createUpload",
		"useUpload",
		"editVideo",
		"extendVideo",
		"createVideoCharacter",
		"getVideoCharacter",
		"listGpus",
		"listHosts",
		"listHttpPresets",
		"getS3Credentials",
		// Of an endpoint without an HTTP server.
		"getHttp",
		// Without such a host.
		"drainHost",
		"resumeHost",
		// PostgreSQL is backed up with its own tools.
		"createBackup",
		"getBackup",
		"getSession",
		"createConsoleLink",
		"feed",
		// Without alerts in the configuration.
		"testAlerts",
		"serviceLog",
		"metrics",
		// Without management.launcher, and of an endpoint in sluice.yaml.
		"createVolume",
		"createManaged",
		"updateManaged",
		"deleteManaged",
		"listManaged",
		"getManaged",
		// Nothing of it is in the store.
		"unsupported",
		"listPods",
		"streamWorkerLogs",
		"listGpuTypes",
		"getGpuType",
		"listCpuTypes",
		"getCpuType",
		"listDataCenters",
		"getDataCenter",
		"listBuilds",
	]);

	/**
	 * Keys, one for each of these names, that the server knows without the store from now on. Every 4 s it reads what
	 * lost signals would have announced: it then forgets all keys if any changed, else those younger than 30 s.
	 */
	async function knownKeys(names: readonly string[]): Promise<string[]> {
		const keys: string[] = [];
		for (const name of names)
			keys.push((await get("/v1/keys", { body: { name, scopes: ["admin"] } })).json.key as string);
		await database.query("UPDATE keys SET created_at = 0");
		// This later change has no signal: the read that finds it has also seen the change of keys.
		const ep = await fresh();
		await database.query("UPDATE endpoints SET paused = true WHERE id = $1", [ep]);
		await until("a read without a signal", async () => (await get(`/v1/endpoints/${ep}`)).json.paused);
		for (const key of keys) expect((await get("/v2/old/health", { key })).status).toBe(200);
		return keys;
	}

	it.each<[string, () => void]>([
		["silent", () => proxy.silent()],
		["stopped", () => void outage()],
	])(
		"D2, D40: while the database is %s every route answers in time: 503, or what is known without it",
		{ timeout: 60_000 },
		async (what, fail) => {
			const id = await submit(server.url, { input: {} }, "old");
			// What is not implemented reads nothing.
			const routes = ROUTES.filter(
				({ access, page, errorForm }) =>
					access !== "anyone" && access !== "worker" && !(page && errorForm?.name === "problem"),
			).flatMap((route) => route.methods.map((method) => ({ ...route, method })));
			// Calls of one key wait for each other (D41): here each has its own.
			const keys = await knownKeys(routes.map(({ name }) => name));
			const callAll = () =>
				Promise.all(
					routes.map(async ({ name, method, path }, index) => {
						const at =
							path
								.replace(":endpoint", "old")
								.replace(":job", id)
								.replace(":worker", "w")
								.replace(":delivery", "msg_1")
								.replace(":response", `resp_${id}`)
								.replace(":video", `video_${id}`)
								.replace(":key", "1")
								.replace(":version", "1")
								.replace(":registry", "ghcr.io")
								.replace(":alert", "SluiceSwaps")
								.replace(/:(?:template|login|volume|secret)/, "1")
								.replace(":id", "1")
								.replace("*", "v1/models") + (name === "workerEnv" ? "?url=http://127.0.0.1" : "");
						const began = performance.now();
						const body = method === "GET" ? {} : { body: JSON.stringify(BODIES[name] ?? { input: {} }) };
						const authorization = `Bearer ${name === "feed" ? "wrong-key-0123456789" : keys[index]}`;
						const answer = await fetch(server.url + at, {
							method,
							headers: { authorization, "content-type": "application/json" },
							...body,
						});
						const text = await answer.text();
						return {
							name,
							method,
							text,
							status: answer.status,
							headers: answer.headers,
							ms: performance.now() - began,
						};
					}),
				);
			fail();
			const late = lateness();
			const ends = await callAll();
			const { total, longest } = late();
			// A turn of the event loop is charged to each call that it delays.
			const busy = BUSY_MS + total + Math.max(0, longest - SPENT_MS) / SHARE;
			const others: string[] = [];
			for (const { name, method, status, headers, text, ms } of ends) {
				expect(ms, `${method} ${name}`).toBeLessThan(TOLD_MS + busy);
				if (status !== 503) {
					others.push(`${name} ${status}`);
					continue;
				}
				expect(headers.get("retry-after"), name).toBe("2");
				expect(text, name).toMatch(/store_unavailable|outcome_unknown|The store (?:is|became) unavailable/);
				expect(text).not.toContain(secret());
			}
			expect(others.length, "answers without the store").toBeGreaterThan(20);
			expect(others.filter((each) => !OWN.has(each.split(" ")[0]!))).toEqual([]);
			process.stdout.write(
				`${what}: ${ends.length} routes, 503 after at most ${Math.max(...ends.map(({ ms }) => ms)).toFixed(0)} ` +
					`of ${(TOLD_MS + busy).toFixed(0)} ms; without the store: ${others.join(", ")}\n`,
			);
			const known = performance.now();
			expect((await get("/v2/old/run", { body: { input: {} } })).status).toBe(503);
			process.stdout.write(`${what}: as soon as it is known 503 after ${(performance.now() - known).toFixed(0)} ms\n`);
			expect((await get("/healthz", { key: null })).status).toBe(200);
			expect((await get("/readyz", { key: null })).status).toBe(503);
			const back = server.next("store.back");
			const passed = performance.now();
			await proxy.pass();
			await back;
			while ((await get("/readyz", { key: null })).status !== 200) await systemClock.sleep(20);
			process.stdout.write(`${what}: ready again ${(performance.now() - passed).toFixed(0)} ms after its end\n`);
			await submit(server.url, { input: {} }, "old");
		},
	);

	it("a wait for a job that was accepted ends with the job as it was known, not with a 503", async () => {
		const ep = await fresh();
		const waits = get(`/v2/${ep}/runsync?wait=1000`, { body: { input: {} } });
		await server.next("job.queued");
		const end = outage();
		const { status, json } = await waits;
		expect([status, json.status]).toEqual([200, "IN_QUEUE"]);
		await end();
		expect(await statusOf(server.url, json.id, ep)).toMatchObject({ status: "IN_QUEUE" });
	});
});

describe("workers", () => {
	it("D16, D40: polls and posts are held over a short outage, each once; one event for its start and end", {
		timeout: 30_000,
	}, async () => {
		const ep = await fresh();
		const [busy, streaming, idle] = [await workerOf(ep), await workerOf(ep), await workerOf(ep)];
		const waits = get(`/v2/${ep}/runsync`, { body: { input: { n: 1 } } });
		const [first] = idsOf(await busy.take());
		const second = await submit(server.url, { input: { n: 2 } }, ep);
		expect(idsOf(await streaming.take())).toEqual([second]);
		await streaming.chunk(second, { output: "a" });
		const ready = server.next("worker.ready", ({ worker }) => worker === idle.id);
		const poll = idle.take();
		await ready;
		const [at, eventsBefore] = [lines.length, recorded.length];

		const end = outage();
		const unavailable = server.next("store.away");
		const posts = [
			busy.done(first!, { output: "held" }),
			streaming.chunk(second, { output: "b" }),
			streaming.ping([second]),
			busy.ping([]),
		];
		const answered: number[] = [];
		for (const post of posts) void post.then(() => answered.push(performance.now()));
		await unavailable;
		await systemClock.sleep(SHORT_MS);
		expect(answered).toEqual([]);
		const ms = await end();
		const back = performance.now();
		for (const post of posts) expect((await post).status).toBe(200);
		process.stdout.write(
			`outage of ${SHORT_MS} ms: back ${ms.toFixed(0)} ms after its end, held posts answered ` +
				`${(Math.max(...answered) - back).toFixed(0)} ms later\n`,
		);

		expect((await waits).json).toMatchObject({ status: "COMPLETED", output: "held" });
		const fourth = await submit(server.url, { input: { n: 4 } }, ep);
		expect(idsOf(await poll)).toEqual([fourth]);
		await streaming.done(second, { output: [] }, { stream: true });
		expect((await get(`/v2/${ep}/stream/${second}`)).json.map(({ output }: { output: string }) => output)).toEqual([
			"a",
			"b",
		]);
		expect(await statusOf(server.url, second, ep)).not.toHaveProperty("retries");
		const since = recorded.slice(eventsBefore).map(({ name }) => name);
		expect(since.filter((name) => name === "store.away" || name === "store.back")).toEqual([
			"store.away",
			"store.back",
		]);
		const said = lines.slice(at);
		expect(
			said
				.filter((line) => !/job .* (was lost|was returned)|lease|server|does/.test(line))
				.map((line) => line.slice(25, 52)),
		).toEqual(["the store cannot be written", "the store can be written ag"]);
		expect(lines.join("\n")).not.toContain(secret());
		expect(lines.join("\n")).not.toContain(KEY);
	});

	it("D16: every lease is extended by a full one before anything takes jobs back, also when no post was held", {
		timeout: 30_000,
	}, async () => {
		const ep = await fresh({ leaseMs: 2000 });
		const worker = await workerOf(ep);
		const ids = [await submit(server.url, { input: {} }, ep), await submit(server.url, { input: {} }, ep)];
		await worker.takeBatch({ size: 2 });
		await worker.ping(ids);
		const from = recorded.length;
		const end = outage();
		await server.next("store.away");
		let over = false;
		const looks = Promise.all(
			ids.map(async (id) => {
				const seen = new Set<string>();
				while (!over) {
					const { status, json } = await get(`/v2/${ep}/status/${id}`);
					seen.add(status === 200 ? json.status : String(status));
				}
				return [...seen];
			}),
		);
		await systemClock.sleep(SHORT_MS);
		await end();
		over = true;
		expect(await statusOf(server.url, ids[0]!, ep)).toMatchObject({ status: "IN_PROGRESS" });
		// At every moment a client saw it run.
		for (const seen of await looks) expect(seen.filter((each) => each !== "503" && each !== "IN_PROGRESS")).toEqual([]);
		expect((await worker.done(ids[0]!, { output: 1 })).status).toBe(200);
		expect(await statusOf(server.url, ids[0]!, ep)).toMatchObject({ status: "COMPLETED" });
		expect(recorded.slice(from).filter(({ name }) => name === "job.returned")).toEqual([]);
		// Of the other one nothing is heard any more: it is lost by its new lease, and only then.
		await server.next("job.returned", ({ id }) => id === ids[1]);
	});
});
