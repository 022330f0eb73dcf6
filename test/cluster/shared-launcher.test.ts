/**
 * Workers on a platform that all servers reach: one server drives them, any may get their calls, and
 * another takes them over (D28, D34).
 */
import { once } from "node:events";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LauncherDefinition } from "../../src/kernel/launchers/definition.ts";
import type * as Registry from "../../src/kernel/launchers/index.ts";
import { calls, platform, state } from "../launchers/pretend/launcher.ts";
import { servers, type Servers, type TestServer } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { tcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

vi.mock("../../src/kernel/launchers/index.ts", async (original) => {
	const registry = await original<typeof Registry>();
	const { PRETEND } = await import("../launchers/pretend/index.ts");
	(registry.LAUNCHERS as LauncherDefinition[]).push({ ...PRETEND, shared: true } as never);
	return registry;
});

const ID = "pretended";
const endpoints = {
	[ID]: {
		launcher: { type: "pretend", partition: "gpu" },
		workersMax: 1,
		idleTimeout: 3600,
		initTimeoutMs: 1500,
	},
};

let group: Servers;
let front: TcpProxy;
let leader: TestServer;
let other: TestServer;
beforeEach(async () => {
	group = await servers();
	front = await tcpProxy(1);
	const env = { SLUICE_PUBLIC_URL: `http://127.0.0.1:${front.port}` };
	leader = await group.start({ endpoints, env });
	await until("it scales the endpoint", () => leader.engine.cluster.scales(ID));
	other = await group.start({ endpoints, env });
	// Every call of a worker goes to the server that does not drive it.
	front.lead(Number(new URL(other.url).port));
	await until("it knows the other one", () => other.engine.workers.scaledAt(ID) !== undefined);
});
afterEach(async () => {
	await group.end();
	front.close();
	for (const { worker } of platform.values()) await worker?.kill();
	platform.clear();
	calls.length = 0;
	state.queueing = false;
});

const submit = async (input: object): Promise<string> =>
	(await call(other.url, `/v2/${ID}/run`, { body: { input } })).json.id;
const job = async (id: string): Promise<any> => (await call(other.url, `/v2/${ID}/status/${id}`)).json;
const completed = (id: string): Promise<any> =>
	until("the job completes", async () => {
		const found = await job(id);
		return found.status === "COMPLETED" && found;
	});

describe("a shared platform", () => {
	it("D28: the server that drives a worker sees the polls that reach another one", async () => {
		const id = await submit({ holdMs: 3000 });
		await until("it runs", async () => (await job(id)).status === "IN_PROGRESS");
		const [worker] = (await call(leader.url, `/v1/endpoints/${ID}/workers`)).json.workers;
		expect(worker).toMatchObject({ launcher: "pretend", state: "running", jobs: [id] });
		expect(await completed(id)).not.toHaveProperty("retries");
		expect(calls.filter((each) => each.startsWith("stop"))).toEqual([]);
		expect([...leader.engine.workers.of(ID)].map((each) => each.ready)).toEqual([true]);
	});

	it("D34: a server that stops leaves its workers to the other one, with their jobs", async () => {
		const id = await submit({ holdMs: 6000 });
		await until("it runs", async () => (await job(id)).status === "IN_PROGRESS");
		const before = [...platform.keys()];
		const adopted = other.next("worker.adopted");
		await leader.stop();
		await adopted;
		expect([...platform.keys()]).toEqual(before);
		expect(await completed(id)).not.toHaveProperty("retries");
		const second = await completed(await submit({}));
		expect(second.workerId).toBe((await job(id)).workerId);
		expect(calls.filter((each) => each.startsWith("stop"))).toEqual([]);
	});
});

describe("the warm-up of a worker on a shared platform", () => {
	const WARMED = "warmed";

	/** Of an endpoint with this warm-up; every call of its workers goes to the server that does not drive them. */
	async function warmed(input: object): Promise<{ driver: TestServer; second: TestServer; id: string }> {
		const settings = { ...endpoints[ID], initTimeoutMs: 60_000, warmup: { input } };
		await call(leader.url, "/v1/endpoints", { body: { id: WARMED, ...settings } });
		const driver = await until("a server scales it", () =>
			[leader, other].find(({ engine }) => engine.cluster.scales(WARMED)),
		);
		const second = driver === leader ? other : leader;
		await until("the second one knows it", () => second.engine.workers.scaledAt(WARMED) !== undefined);
		front.lead(Number(new URL(second.url).port));
		const { json } = await call(second.url, `/v2/${WARMED}/run`, { body: { input: {} } });
		return { driver, second, id: json.id };
	}

	/** One that has not begun, what answers its calls, and the headers and path of the post that ends its warm-up. */
	async function posting() {
		state.queueing = true;
		const { driver, second } = await warmed({});
		const [worker] = await until("it is launched", () => platform.size > 0 && [...driver.engine.workers.of(WARMED)]);
		const { id } = worker!;
		const token = await driver.engine.access.tokens.issue({ endpoint: WARMED, worker: id });
		const path = `/worker/${WARMED}/job-done/${id}/warmup-${id}`;
		return { worker: worker!, second, path, headers: { authorization: token } };
	}
	const begun = (): (readonly string[])[] =>
		[...platform.values()].flatMap(({ worker }) => (worker ? [worker.began] : []));

	it("D28: its result reaches the server that drives the worker by way of the other one", async () => {
		const { driver, id } = await warmed({ holdMs: 1000 });
		await until("it warms up", () => begun()[0]?.length === 1);
		const [worker] = [...driver.engine.workers.of(WARMED)];
		expect(worker).toMatchObject({ ready: false, managed: true });
		const done = await until("the job completes", async () => {
			const { json } = await call(driver.url, `/v2/${WARMED}/status/${id}`);
			return json.status === "COMPLETED" && json;
		});
		expect(done.workerId).toBe(worker!.id);
		expect(begun()).toEqual([[`warmup-${worker!.id}`, id]]);
	});

	it("D28: its failure ends the worker, though it was reported to the other one", async () => {
		const { driver, id } = await warmed({ fail: "no CUDA device" });
		await until("the second warm-up", () => calls.filter((each) => each.startsWith("stop")).length > 1);
		expect(driver.engine.workers.reason(WARMED)).toMatchObject({
			code: "start_failed",
			message: "Its warm-up failed: Error: no CUDA device.",
		});
		expect((await call(driver.url, `/v2/${WARMED}/status/${id}`)).json.status).not.toBe("COMPLETED");
	});

	it("D28: a large result of it passes the other one", async () => {
		const { worker, second, path, headers } = await posting();
		const sent = request(second.url + path, { method: "POST", headers });
		const answered = once(sent, "response");
		sent.write('{"output": "');
		for (let mb = 0; mb < 60; mb += 1) if (!sent.write("x".repeat(1024 * 1024))) await once(sent, "drain");
		sent.end('"}');
		const [answer] = await answered;
		answer.resume();
		expect(answer.statusCode).toBe(200);
		expect(worker.ready).toBe(true);
	});

	it("D28: an answer that comes before all of the post was read does not hold it up", async () => {
		const { second, path, headers } = await posting();
		const early = createServer((socket) => {
			socket.on("error", () => {});
			socket.once("data", () => socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}"));
		}).listen(0, "127.0.0.1");
		await once(early, "listening");
		const { port } = early.address() as AddressInfo;
		vi.spyOn(second.engine.workers, "scaledAt").mockReturnValue(`http://127.0.0.1:${port}`);
		const left = once(early, "connection").then(([socket]) => once(socket, "close"));
		const sent = request(second.url + path, { method: "POST", headers });
		const answered = once(sent, "response");
		await new Promise<void>((resolve) => sent.end(Buffer.alloc(20 * 1024 * 1024), resolve));
		const [answer] = await answered;
		expect(answer.statusCode).toBe(413);
		answer.resume();
		await left;
		early.close();
	});
});
