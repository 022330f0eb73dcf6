/** The event that a background response sends at its end (D58), read by the official client. */
import OpenAI from "openai";
import { afterEach, beforeEach, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../../../support/manual-clock.ts";
import { call, folder, type Folder, startService, type TestService } from "../../../support/service.ts";
import { type Received, webhookReceiver, type WebhookReceiver } from "../../../support/webhook-receiver.ts";
import { endWith, handWorker, submitted } from "../../hand-worker.ts";
import { clientOf } from "../files/files-client.ts";
import { asTimePasses } from "../openai/answers.ts";
import { created, eventsOf, streamOf, workersResponse } from "./background-client.ts";

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

let clock: ManualClock;
let place: Folder;
let service: TestService;
let client: OpenAI;
let receiver: WebhookReceiver;
let status: number;
beforeEach(async () => {
	clock = manualClock(Date.now());
	place = folder();
	status = 200;
	receiver = await webhookReceiver({ reply: () => status });
	await begin();
});
afterEach(async () => {
	await endWith(service, clock);
	await receiver.end();
	place.remove();
});

async function begin(settings: object = {}): Promise<void> {
	service = await startService({
		endpoints: { ep: { webhookSecret: SECRET, ...settings } },
		settings: { webhooks: { allowPrivateNetworks: true } },
		clock,
		in: place,
	});
	client = clientOf(service, "ep");
}

/** Creates one and ends its job with this report. Returns its id. */
async function ended(report: object): Promise<string> {
	const worker = await handWorker(service, "ep");
	const { id } = await created(client, { webhook: `${receiver.url}/end` });
	const job = await worker.takeThis(id.slice("resp_".length));
	expect(job.text).not.toContain("webhook");
	await worker.done(job.id, report);
	return id;
}

async function next(count: number): Promise<Received> {
	let came = false;
	void receiver.arrived(count).then(() => (came = true));
	while (!came) await clock.advance(1000);
	return receiver.received[count - 1]!;
}

async function unwrapped({ body, headers }: Received): Promise<any> {
	const verifier = new OpenAI({ apiKey: "unused", webhookSecret: SECRET });
	return await verifier.webhooks.unwrap(body.toString(), new Headers(headers as Record<string, string>));
}

it.each([
	["completed", { output: workersResponse("Boats") }],
	["incomplete", { output: workersResponse("Bo", { status: "incomplete" }) }],
	["failed", { error: "broke" }],
	["failed", { output: { object: "error", message: "no", code: 404 } }],
])("D58, D21: says that it is %s, signed with the secret of the endpoint", async (ending, report) => {
	const id = await ended(report);
	const received = await next(1);
	expect(await unwrapped(received)).toEqual({
		id: expect.stringMatching(/^evt_[0-9a-f-]{36}_0$/),
		object: "event",
		type: `response.${ending}`,
		created_at: expect.any(Number),
		data: { id },
	});
	expect(received.path).toBe("/end");
});

it("D58: has the status of the last event, also if the worker sends the events again as its output", async () => {
	const text = eventsOf(["Bo"]).replaceAll('completed"', 'incomplete"');
	const { id } = await streamOf(client, { webhook: receiver.url });
	const worker = await handWorker(service, "ep");
	const job = await worker.takeThis(id.slice("resp_".length));
	await worker.chunk(job.id, { output: text });
	await worker.done(job.id, { output: [text, "data: [DONE]\n\n"] });
	expect(await unwrapped(await next(1))).toMatchObject({ type: "response.incomplete", data: { id } });
});

it("D58, D21: is sent again until the receiver answers 200, also after a start, under one id", async () => {
	status = 500;
	const id = await ended({ output: workersResponse("Boats") });
	const first = await unwrapped(await next(1));
	await endWith(service, clock);
	status = 200;
	await begin();
	const second = await next(2);
	expect(await unwrapped(second)).toEqual(first);
	expect(first).toMatchObject({ type: "response.completed", data: { id } });
	expect(second.headers["webhook-id"]).toBe(receiver.received[0]!.headers["webhook-id"]);
	await clock.advance(60_000);
	expect(receiver.received).toHaveLength(2);
});

it("D58, D21: one that is cancelled sends it too, and a job of /run sends its own body", async () => {
	const { id } = await created(client, { webhook: receiver.url });
	await client.responses.cancel(id);
	expect(await unwrapped(await next(1))).toMatchObject({ type: "response.cancelled", data: { id } });
	const job = await submitted(service, "ep", { input: {}, webhook: receiver.url });
	await call(service.url, `/v2/ep/cancel/${job}`, { method: "POST" });
	expect(JSON.parse((await next(2)).body.toString())).toMatchObject({ id: job, status: "CANCELLED", input: {} });
});

/** Two attempts two minutes apart; the result is removed after one, with `records: 0` the record too. */
const SHORT = { webhooks: { schedule: [120_000] }, retention: { run: 60_000, records: 0 } };

async function restarted(settings: object): Promise<void> {
	await endWith(service, clock);
	await begin(settings);
}

it.each([
	["completed", { output: workersResponse("Boats") }],
	["incomplete", { output: [workersResponse("Bo", { status: "incomplete" })] }],
	["failed", { output: { object: "error", message: "no", code: 404 } }],
	["failed", { output: "Boats" }],
	["failed", { error: "broke" }],
])(
	"D58, D21: an attempt after its result and record were removed says %s as the first one did",
	async (type, report) => {
		await restarted(SHORT);
		status = 500;
		const id = await ended(report);
		const first = await unwrapped(await next(1));
		expect(first).toMatchObject({ type: `response.${type}`, data: { id } });
		status = 200;
		expect(await unwrapped(await next(2))).toEqual(first);
		expect((await call(service.url, `/v2/ep/openai/v1/responses/${id}`)).status).toBe(404);
	},
);

it("D58, D21: nothing is sent that is not known: of a stream whose events were removed", async () => {
	await restarted(SHORT);
	status = 500;
	const { id } = await streamOf(client, { webhook: receiver.url });
	const worker = await handWorker(service, "ep");
	const job = await worker.takeThis(id.slice("resp_".length));
	await worker.chunk(job.id, { output: eventsOf(["Bo"]) });
	await worker.done(job.id, {});
	expect(await unwrapped(await next(1))).toMatchObject({ type: "response.completed", data: { id } });
	const failed = service.next("webhook.failed", ({ retryMs }) => retryMs === undefined);
	await clock.leap(130_000);
	expect(await asTimePasses(clock, failed)).toMatchObject({ reason: expect.stringContaining("was erased") });
	expect(receiver.received).toHaveLength(1);
});

it("D58, D9: its result is there for the receiver as long as that of /run, without store too", async () => {
	const id = await ended({ output: workersResponse("Boats") });
	await next(1);
	await clock.leap(1_700_000);
	expect(await client.responses.retrieve(id)).toMatchObject({ status: "completed", store: false });
});
