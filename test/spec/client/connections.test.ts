/** Unfinished headers: without a key, so they must hold little memory (D41). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { untilTrue } from "../../support/until.ts";
import { begun, expectError, handWorker, submitted } from "../hand-worker.ts";
import { rawConnection, requestText } from "../raw-http.ts";

let service: TestService;
/** With few connections. */
let small: TestService;
beforeAll(async () => {
	const endpoints = { ep: {}, bodies: {}, results: {}, waited: {} };
	service = await startService({ endpoints });
	small = await startService({ endpoints, settings: { budgets: { connections: 100 } } });
});
afterAll(() => Promise.all([service.end(), small.end()]));

const long = "x".repeat(60_000);

it("D41: connections with long unfinished headers are closed, those with a key stay", async () => {
	const known = await rawConnection(service.url);
	const request = requestText({
		method: "GET",
		path: "/v2/ep/health",
		headers: { Authorization: KEY },
	});
	known.write(request);
	expect((await known.answer()).status).toBe(200);
	const { connections } = service.engine.budgets;
	const unfinished = await Promise.all(Array.from({ length: 600 }, () => rawConnection(service.url)));
	for (const each of unfinished) each.write(`GET / HTTP/1.1\r\nHost: a\r\nX: ${long}`);
	await untilTrue(() => connections.spent >= 20);
	await Promise.all(unfinished.filter(({ socket }) => socket.destroyed).map(({ closed }) => closed));
	known.write(request);
	expect((await known.answer()).status).toBe(200);
	expect((await call(service.url, "/healthz")).status).toBe(200);
	for (const { socket } of [known, ...unfinished]) socket.destroy();
});

it("D41: beyond the budget of connections the oldest without a key is closed, in a TLS handshake too", async () => {
	const { connections } = small.engine.budgets;
	await untilTrue(() => connections.used < 10);
	const idle = [];
	for (let count = 0; count < 120; count += 1)
		idle.push(await rawConnection(count % 2 === 0 ? small.url : small.url.replace("https:", "http:")));
	await Promise.all([idle[0]!.closed, idle[1]!.closed]);
	expect((await call(small.url, "/healthz")).status).toBe(200);
	expect(connections.used).toBeLessThanOrEqual(100);
	for (const { socket } of idle) socket.destroy();
});

it("D41: clients with a key that wait for an answer are not closed for connections without one", async () => {
	const ids = await Promise.all(Array.from({ length: 10 }, () => submitted(small, "waited")));
	const waiting = await Promise.all(ids.map((id) => begun(small.url, `/v2/waited/status-sync/${id}?wait=60000`)));
	const strangers = [];
	for (let count = 0; count < 150; count += 1) strangers.push(await rawConnection(small.url));
	await strangers[0]!.closed;
	const worker = await handWorker(small, "waited");
	for (let n = 0; n < ids.length; n += 1) await worker.done((await worker.take())!.id, { output: n });
	for (const { answer } of waiting) expect((await answer).json.status).toBe("COMPLETED");
	for (const { socket } of strangers) socket.destroy();
});

it("D41: bodies of clients with a key do not count as unfinished headers", async () => {
	const { connections } = service.engine.budgets;
	const refused = connections.spent;
	const client = async (): Promise<void> => {
		for (let n = 0; n < 3; n += 1) await submitted(service, "bodies", { input: { text: "x".repeat(1_500_000) } });
	};
	await Promise.all(Array.from({ length: 6 }, client));
	expect(connections.spent).toBe(refused);
});

it("D41: a worker's result does not count as unfinished headers", async () => {
	const id = await submitted(service, "results");
	const worker = await handWorker(service, "results");
	await worker.takeThis(id);
	await worker.done(id, { output: "x".repeat(16_000_000) });
	expect((await call(service.url, `/v2/results/status/${id}`)).json.status).toBe("COMPLETED");
});

it("D41: a connection with too many unanswered requests is closed", async () => {
	const { connections } = service.engine.budgets;
	const refused = connections.spent;
	const greedy = await rawConnection(service.url);
	greedy.write("GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1000));
	await greedy.closed;
	expect(connections.spent).toBe(refused + 1);
	expect((await call(service.url, "/healthz")).status).toBe(200);
});

it("D2: headers over 16 KB are 431, except of workers", async () => {
	const text = "x".repeat(20_000);
	expectError(await call(service.url, `/v2/ep/status/${text}`), 431, "headers_too_large");
	const worker = await handWorker(service, "ep");
	await worker.ping(text);
});
