/**
 * What callers hold of the service's memory (D41): uploads that do not arrive, and answers that are
 * not read. Of 64 MiB clients have the half.
 */
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from "vitest";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { untilTrue } from "../../support/until.ts";
import { begun, endWith, expectError, handWorker, type HandWorker, submitted } from "../hand-worker.ts";
import { held } from "../openapi-calls.ts";
import { rawConnection, type RawConnection, requestText, stalledReader } from "../raw-http.ts";

const MB = 1024 * 1024;
let service: TestService;
/** With a clock that ends its waits for memory at once. */
let impatient: TestService;
const clock = manualClock();
let worker: HandWorker;
let other: string;
const open: { destroy(): void }[] = [];
const memory = () => service.engine.budgets.memory;

beforeAll(async () => {
	service = await startService({
		endpoints: { ep: {} },
		settings: { budgets: { memory: 64 * MB } },
	});
	impatient = await startService({
		endpoints: { ep: {} },
		settings: {
			budgets: { memory: 64 * MB },
			webhooks: { allowPrivateNetworks: true },
		},
		clock,
	});
	worker = await handWorker(service, "ep");
	other = await keyOf(service);
});
afterAll(() => Promise.all([service.end(), endWith(impatient, clock)]));
afterEach(async () => {
	for (const socket of open.splice(0)) socket.destroy();
	await untilTrue(() => memory().used === 0 && impatient.engine.budgets.memory.used === 0);
});

/** Another key that may write. */
async function keyOf({ url }: TestService): Promise<string> {
	const made = await call(url, "/v1/keys", { body: { name: "other", scopes: ["write"] } });
	return made.json.key as string;
}

/** Begins a submission of so many bytes and sends 20 kB of them. */
async function upload(at: TestService, bytes: number, key = KEY): Promise<RawConnection> {
	const connection = await rawConnection(at.url);
	open.push(connection.socket);
	connection.write(
		requestText({
			method: "POST",
			path: "/v2/ep/runsync",
			headers: { Authorization: key, "Content-Length": String(bytes) },
		}) + " ".repeat(20_000),
	);
	return connection;
}

/** A job that has ended with so many bytes. */
async function ended(at: TestService, by: HandWorker, bytes: number, body = {}): Promise<string> {
	const id = await submitted(at, "ep", { input: {}, ...body });
	await by.takeThis(id);
	await by.done(id, { output: "x".repeat(bytes) });
	await untilTrue(() => at.engine.budgets.memory.used === 0);
	return id;
}

const statusRequest = (id: string): string =>
	requestText({ method: "GET", path: `/v2/ep/status/${id}`, headers: { Authorization: KEY } });

it("D41: uploads of one key take no more than its share; other keys and workers go on", async () => {
	const at = impatient;
	const { memory: meter } = at.engine.budgets;
	await upload(at, 12 * MB);
	await untilTrue(() => meter.used === 12 * MB);
	const second = await held(clock, (await upload(at, 12 * MB)).answer(), 100);
	expectError(second, 429, "memory_share");
	expect(second.headers["retry-after"]).toBe("5");
	const key = await keyOf(at);
	await upload(at, 12 * MB, key);
	await untilTrue(() => meter.used === 24 * MB);
	expectError(await held(clock, (await upload(at, 12 * MB, key)).answer(), 100), 503, "memory_spent");
	const by = await handWorker(at, "ep");
	const id = await submitted(at, "ep");
	await by.takeThis(id);
	await by.done(id, { output: "x".repeat(40 * MB) });
	expect((await call(at.url, "/v2/ep/health")).status).toBe(200);
	expect(meter.spent).toBe(2);
});

it("D41: a small body is not counted", async () => {
	await upload(service, 12 * MB);
	await untilTrue(() => memory().used === 12 * MB);
	expect((await call(service.url, "/v2/ep/run", { body: { input: {} } })).status).toBe(200);
	expect(memory().used).toBe(12 * MB);
	await call(service.url, "/v2/ep/purge-queue", { method: "POST" });
});

it("D41: a large result is not read from the store for a key that leaves others unread", async () => {
	const by = await handWorker(impatient, "ep");
	const id = await ended(impatient, by, 12 * MB);
	const { status } = impatient.engine.jobs;
	let reads = 0;
	impatient.engine.jobs.status = (q) =>
		status({
			...q,
			output(large) {
				const admitted = q.output!(large)!;
				admitted.then(
					() => (reads += 1),
					() => {},
				);
				return admitted;
			},
		});
	open.push(await stalledReader(impatient.url, statusRequest(id)));
	for (let count = 0; count < 5; count += 1)
		expectError(await held(clock, call(impatient.url, `/v2/ep/status/${id}`), 100), 429, "memory_share");
	impatient.engine.jobs.status = status;
	expect(reads).toBe(1);
});

it("D41: nor is the body of a webhook delivery, of which only the beginning is shown", async () => {
	const by = await handWorker(impatient, "ep");
	// Nothing listens there.
	const id = await ended(impatient, by, 12 * MB, { webhook: "http://127.0.0.1:9/" });
	const delivery = `/v1/webhooks/msg_${id}_0`;
	expect((await call(impatient.url, delivery)).json.bodySize).toBeGreaterThan(12 * MB);
	open.push(await stalledReader(impatient.url, statusRequest(id)));
	expectError(await held(clock, call(impatient.url, delivery), 100), 429, "memory_share");
});

it("D41: a request waits for memory before it is refused", async () => {
	const id = await ended(service, worker, 12 * MB);
	const slow = await stalledReader(service.url, statusRequest(id));
	const second = await begun(service.url, `/v2/ep/status/${id}`);
	slow.destroy();
	const { status, json } = await second.answer;
	expect([status, json.output.length]).toEqual([200, 12 * MB]);
	const elsewhere = await call(service.url, `/v2/ep/status/${id}`, { key: other });
	expect(elsewhere.json.output).toHaveLength(12 * MB);
});

it("D41: an upload without progress is 408, an answer that is not read is cut off", async () => {
	const at = await startService({
		endpoints: { ep: {} },
		settings: { budgets: { memory: 64 * MB, readTimeout: 1000 } },
	});
	onTestFinished(() => at.end());
	const by = await handWorker(at, "ep");
	const id = await ended(at, by, 12 * MB);
	const { memory: meter } = at.engine.budgets;
	const stalled = await upload(at, 12 * MB);
	expectError(await stalled.answer(), 408, "request_timeout");
	await stalled.closed;
	await untilTrue(() => meter.used === 0);
	open.push(await stalledReader(at.url, statusRequest(id)));
	await untilTrue(() => meter.used > 12 * MB - 1);
	await untilTrue(() => meter.used === 0);
});
