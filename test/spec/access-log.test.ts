/** The access log: `request.served` for each request (D51). */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Events } from "../../src/kernel/events.ts";
import { call, KEY, startService, type TestService } from "../support/service.ts";
import { request } from "../support/transport.ts";
import { begun, handWorker } from "./hand-worker.ts";
import { keyWith } from "./operator.ts";
import { rawConnection, requestText } from "./raw-http.ts";

type Served = Events["request.served"];

let service: TestService;
beforeAll(async () => {
	service = await startService({
		endpoints: { ep: {}, other: {}, full: { limits: { queue: 0 } } },
		settings: { log: { access: "on" } },
	});
});
afterAll(() => service.end());

const served = (requestId: string, of = service): Promise<Served> =>
	of.next("request.served", (facts) => facts.requestId === requestId);

it("D51: a line has the route, not the path, status, time, bytes, key, request, endpoint and job", async () => {
	const { id, key } = await keyWith(service, ["write"]);
	const line = served("r1");
	const { json } = await call(service.url, "/v2/ep/run?secret=1", {
		key,
		body: { input: { secret: "x".repeat(5000) } },
		headers: { "x-request-id": "r1" },
	});
	expect(await line).toEqual({
		method: "POST",
		route: "/v2/:endpoint/run",
		status: 200,
		ms: expect.any(Number),
		bytesIn: expect.any(Number),
		bytesOut: expect.any(Number),
		keyId: id,
		requestId: "r1",
		endpoint: "ep",
		job: json.id,
	});
	const { bytesIn, bytesOut } = await line;
	expect([bytesIn > 5000, bytesIn < 6000, bytesOut > 200, bytesOut < 2000]).toEqual([true, true, true, true]);
});

it("D51: a request id with the operator's key in it is hidden in the line, not in the answer", async () => {
	const line = served("(hidden)");
	const { headers } = await call(service.url, "/healthz", { key: null, headers: { "x-request-id": `k=${KEY};` } });
	expect(headers.get("x-request-id")).toBe(`k=${KEY};`);
	expect(await line).toMatchObject({ route: "/healthz", requestId: "(hidden)" });
});

it("D51: the job of the path, if it is an id; none of a refused submission; no key where none is valid", async () => {
	const lines = [served("a"), served("b"), served("c"), served("d")];
	const job = "01a219fa-57fa-7bcd-ad08-6ce6e2fa40c4";
	const get = (path: string, id: string, init: object = {}) =>
		call(service.url, path, { headers: { "x-request-id": id }, ...init });
	await get(`/v2/ep/status/${job}`, "a");
	await get("/v2/ep/status/sluice_a_key_by_mistake", "d");
	await get("/v2/full/run", "first", { body: { input: {} } });
	await get("/v2/full/run", "b", { body: { input: {} } });
	await get("/x/y?key=1", "c", { key: "wrong-key-0123456789-0123456789" });
	const [first, second, third, last] = await Promise.all(lines);
	expect(first).toMatchObject({ route: "/v2/:endpoint/status/:job", status: 404, job, keyId: "environment" });
	expect(last).toMatchObject({ route: "/v2/:endpoint/status/:job", status: 404, job: undefined });
	expect(second).toMatchObject({ status: 429, endpoint: "full", job: undefined });
	expect(third).toMatchObject({ route: "none", status: 404, keyId: undefined, endpoint: undefined });
});

it("D51: what many requests of one connection moved is divided among them", async () => {
	const connection = await rawConnection(service.url);
	const sizes: number[] = [];
	for (const size of [10, 20_000, 10]) {
		const id = `size-${sizes.length}`;
		const line = served(id);
		const headers = { Host: "x", Authorization: KEY, "X-Request-Id": id };
		const body = JSON.stringify({ input: { text: "x".repeat(size) } });
		connection.write(requestText({ method: "POST", path: "/v2/ep/run", headers, body }));
		await connection.answer();
		sizes.push((await line).bytesIn);
	}
	connection.socket.destroy();
	expect(sizes.map((bytes) => bytes > 20_000)).toEqual([false, true, false]);
});

it("D51: a client that left before the answer is 499", async () => {
	const line = served("left");
	const headers = { authorization: KEY, "x-request-id": "left" };
	const sent = request(`${service.url}/v2/ep/runsync`, { method: "POST", headers }, () => {});
	sent.on("error", () => {});
	const queued = service.next("job.queued");
	sent.end('{"input":{}}');
	const { id } = await queued;
	sent.destroy();
	expect(await line).toMatchObject({ status: 499, job: id });
});

it("D51: polls and pings of workers and reads of logs only with all; nothing when it is off", async () => {
	const routesOf = async (access: string): Promise<string[]> => {
		const own = await startService({ endpoints: { ep: {} }, settings: { log: { access } } });
		const routes: string[] = [];
		own.events.on("request.served", ({ route }) => routes.push(route));
		const worker = await handWorker(own, "ep");
		await worker.ping();
		const poll = await begun(own.url, `/worker/ep/job-take/${worker.id}?gpu=none&job_in_progress=0`, {
			headers: { authorization: worker.token },
		});
		await call(own.url, "/v2/ep/run", { body: { input: {} } });
		await worker.done((await poll.answer).json.id, { output: 1 });
		await call(own.url, "/v1/logs");
		await call(own.url, "/v1/endpoints/ep/logs");
		await own.end();
		return routes.map((route) => route.split("/").slice(3).join("/"));
	};
	const POST = ["job-done/:worker/:job"];
	const [on, all, off] = await Promise.all([routesOf("on"), routesOf("all"), routesOf("off")]);
	expect(on).toEqual(expect.arrayContaining(["run", ...POST]));
	expect(on.filter((route) => /take|ping|logs/.test(route))).toEqual([]);
	expect(all).toEqual(expect.arrayContaining(["run", ...POST, "job-take/:worker", "ping/:worker", ":endpoint/logs"]));
	expect(off).toEqual([]);
});
