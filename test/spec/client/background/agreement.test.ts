/** What is shown of a background response agrees (D58): each reader, each poll, whatever its worker or client does. */
import type { OpenAI } from "openai";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { manualClock } from "../../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../../support/service.ts";
import { endpointsByName, endWith, handWorker, type HandWorker } from "../../hand-worker.ts";
import { clientOf } from "../files/files-client.ts";
import { asTimePasses } from "../openai/answers.ts";
import { allOf, created, eventsOf, resumed, sse, streamOf, workersResponse } from "./background-client.ts";

const LEASE_MS = 20_000;

const clock = manualClock();
const unused = endpointsByName(20);
let service: TestService;
let ep: string;
let client: OpenAI;
let worker: HandWorker;
beforeAll(async () => {
	service = await startService({ endpoints: unused.settings, clock, pauseMs: Infinity });
});
beforeEach(async () => {
	ep = unused.next();
	client = clientOf(service, ep);
	worker = await handWorker(service, ep);
});
afterAll(() => endWith(service, clock));

const jobOf = (response: string): string => response.slice("resp_".length);
const replayed = async (id: string) => await allOf(await resumed(client, id));

it.each([
	["no response", { other: 1 }, "failed"],
	["a response that is none", { response: { object: "chat.completion", status: "completed" } }, "failed"],
	["a response that says it failed", { response: workersResponse("Bo", { status: "failed" }) }, "completed"],
	["a response that still runs", { response: workersResponse("Bo", { status: "in_progress" }) }, "completed"],
])("D58: a last event with %s: its event, each replay and each poll agree", async (_, members, status) => {
	const stream = await streamOf(client);
	await worker.takeThis(jobOf(stream.id));
	await worker.chunk(jobOf(stream.id), { output: sse("response.completed", members) });
	await worker.done(jobOf(stream.id), {});
	const last: any = (await stream.rest()).at(-1);
	expect(last).toMatchObject({ type: `response.${status}`, response: { id: stream.id, status } });
	expect((await replayed(stream.id)).at(-1)).toEqual(last);
	const { json } = await call(service.url, `/v2/${ep}/openai/v1/responses/${stream.id}`);
	expect(json).toEqual(last.response);
});

it("D58, D7: a reader of /stream changes nothing of the events after a loss", async () => {
	const live = await streamOf(client);
	const { id } = live;
	await worker.takeThis(jobOf(id));
	const text = eventsOf(["Bo", "ats"]);
	await worker.chunk(jobOf(id), { output: text.slice(0, text.indexOf('"ats"')) });
	for (let seen = 0; seen < 3; seen += 1) await live.next();
	expect((await call(service.url, `/v2/${ep}/stream/${jobOf(id)}`)).json).toHaveLength(1);
	const other = await handWorker(service, ep);
	const taken = other.take();
	await clock.advance(LEASE_MS + 1000);
	expect((await taken)?.id).toBe(jobOf(id));
	await other.chunk(jobOf(id), { output: text });
	await other.done(jobOf(id), {});
	const rest = await asTimePasses(clock, live.rest());
	expect(rest.map(({ type }) => type)).toEqual([
		"response.queued",
		"response.in_progress",
		"response.output_text.delta",
		"response.output_text.delta",
		"response.completed",
	]);
	expect((await replayed(id)).slice(2)).toEqual(rest);
	// Its own reader goes on with the chunk of the next attempt.
	expect((await call(service.url, `/v2/${ep}/stream/${jobOf(id)}`)).json).toHaveLength(1);
});

it("D58: one that was lost and cancelled in the queue has the same events for all readers", async () => {
	const { id } = await created(client);
	const live = resumed(client, id).then(allOf);
	await worker.takeThis(jobOf(id));
	await clock.advance(15_000);
	await clock.advance(LEASE_MS);
	expect((await client.responses.retrieve(id)).status).toBe("queued");
	await client.responses.cancel(id);
	const events = await asTimePasses(clock, live);
	expect(events.map(({ type }) => type)).toContain("response.in_progress");
	expect(await replayed(id)).toEqual(events);
});

it("D58: a client that lists items with one id gets each once", async () => {
	const input = Array.from({ length: 45 }, (_, n) => ({ id: "msg_same", role: "user", content: `${n}` }));
	const { id } = await created(client, { input });
	for (const order of ["asc", "desc"] as const) {
		const found: string[] = [];
		for await (const item of client.responses.inputItems.list(id, { order, limit: 20 })) {
			found.push((item as any).content[0].text);
			if (found.length > input.length) break;
		}
		expect(order === "asc" ? found : found.toReversed()).toEqual(input.map(({ content }) => content));
	}
});

it("D58: fields to include and an obfuscation that a client asks for change nothing", async () => {
	const { id } = await created(client);
	const plain = await client.responses.retrieve(id);
	const asked = { include: ["reasoning.encrypted_content"], include_obfuscation: true } as const;
	expect(await client.responses.retrieve(id, asked as never)).toEqual(plain);
	expect(
		(await client.responses.inputItems.list(id, { include: ["message.input_image.image_url"] })).data,
	).toHaveLength(1);
});

it("D58, D41: a reader that waits holds the members that its events repeat", async () => {
	const held = (): number => service.engine.budgets.memory.used;
	const before = held();
	const { id } = await created(client, { instructions: "a".repeat(3_000_000) });
	const streams = await Promise.all([streamOf(client, { instructions: "b".repeat(3_000_000) }), resumed(client, id)]);
	await streams[0].next();
	const events = streams[1][Symbol.asyncIterator]();
	for (let seen = 0; seen < 2; seen += 1) await events.next();
	await expect.poll(held).toBeGreaterThan(before + 6_000_000);
	expect(held()).toBeLessThan(before + 8_000_000);
	streams[0].leave();
	streams[1].controller.abort();
	await expect.poll(held).toBeLessThan(before + 1_000_000);
});
