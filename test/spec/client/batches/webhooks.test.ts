/** The event that a batch sends at its end (D57), read by the official client. */
import OpenAI from "openai";
import { afterEach, beforeEach, expect, it } from "vitest";
import { manualClock, type ManualClock } from "../../../support/manual-clock.ts";
import { call, folder, type Folder, startService, type TestService } from "../../../support/service.ts";
import { type Received, webhookReceiver, type WebhookReceiver } from "../../../support/webhook-receiver.ts";
import { endWith } from "../../hand-worker.ts";
import { clientOf } from "../files/files-client.ts";
import { created, line } from "./batch-client.ts";

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

async function begin(): Promise<void> {
	service = await startService({
		endpoints: { ep: { webhookSecret: SECRET } },
		settings: { webhooks: { allowPrivateNetworks: true } },
		clock,
		in: place,
	});
	client = clientOf(service, "ep");
}

/** The batch fails, because its file is no JSON. */
const failing = (webhook: string) => created(client, ["{"], { webhook });

async function next(count: number): Promise<Received> {
	let came = false;
	void receiver.arrived(count).then(() => (came = true));
	while (!came) await clock.advance(1000);
	return receiver.received[count - 1]!;
}

it("D57, D21: says which batch has ended and how, signed with the secret of the endpoint", async () => {
	const { id } = await failing(`${receiver.url}/end`);
	const { body, headers, path } = await next(1);
	const verifier = new OpenAI({ apiKey: "unused", webhookSecret: SECRET });
	const event = await verifier.webhooks.unwrap(body.toString(), new Headers(headers as Record<string, string>));
	expect(path).toBe("/end");
	expect(event).toEqual({
		id: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
		object: "event",
		type: "batch.failed",
		created_at: expect.any(Number),
		data: { id },
	});
	expect(headers["webhook-id"]).toBe(event.id);
	const wrong = new OpenAI({ apiKey: "unused", webhookSecret: `whsec_${Buffer.alloc(32, 8).toString("base64")}` });
	await expect(
		wrong.webhooks.unwrap(body.toString(), new Headers(headers as Record<string, string>)),
	).rejects.toThrow();
});

it("D57: is sent again until the receiver answers 200, also after a start, under one id", async () => {
	status = 500;
	const { id } = await failing(receiver.url);
	const first = await next(1);
	await endWith(service, clock);
	status = 200;
	await begin();
	const second = await next(2);
	expect(second.headers["webhook-id"]).toBe(first.headers["webhook-id"]);
	await clock.advance(60_000);
	expect(receiver.received).toHaveLength(2);
	expect((await client.batches.retrieve(id)).status).toBe("failed");
	expect(await service.engine.kernel.store.batches.open({ limit: 10 })).toEqual([]);
});

it("D57: one that waits for its receiver is not cancelled, and wants no worker", async () => {
	status = 500;
	const { id } = await failing(receiver.url);
	await next(1);
	expect(await client.batches.cancel(id)).toMatchObject({ status: "failed", cancelling_at: null });
	// The runner reads the rows every 2 s.
	await clock.advance(3000);
	expect(service.engine.hooks.wantedWorkers!("ep")).toBe(0);
});

it.each([
	["a number", 7],
	["another scheme", "ftp://example.com"],
	["no host", "http://"],
	["9,000 characters", `http://example.com/${"x".repeat(9000)}`],
])("D57: %s is no address", async (_, webhook) => {
	await expect(created(client, [line("a")], { webhook })).rejects.toThrow(
		"webhook must be an absolute http or https URL",
	);
});

it("D57, D21: an address that is never called is refused", async () => {
	await endWith(service, clock);
	service = await startService({ endpoints: { ep: {} }, clock, in: place });
	client = clientOf(service, "ep");
	await expect(created(client, [line("a")], { webhook: receiver.url })).rejects.toThrow("webhook can never be sent");
	const { json } = await call(service.url, "/v2/ep/openai/v1/batches");
	expect(json.data).toEqual([]);
});
