/** The events of background responses (D58): live, resumed, after a lost worker. */
import type { OpenAI } from "openai";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { manualClock } from "../../../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../../../support/service.ts";
import { endpointsByName, endWith, handWorker, type HandWorker } from "../../hand-worker.ts";
import { clientOf } from "../files/files-client.ts";
import { asTimePasses, expectOpenAIError } from "../openai/answers.ts";
import { allOf, created, eventsOf, numbers, resumed, sse, streamOf, workersResponse } from "./background-client.ts";

const LEASE_MS = 20_000;

const clock = manualClock();
const unused = endpointsByName(30);
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

/** All events of a response that has ended, from the beginning. */
const replayed = async (id: string, after?: number) => await allOf(await resumed(client, id, after));

it("D58: its id is known before a worker is there, then the worker's events arrive as it sends them", async () => {
	const stream = await streamOf(client);
	expect(await stream.next()).toMatchObject({ type: "response.queued", sequence_number: 1 });
	const job = await worker.takeThis(jobOf(stream.id));
	expect(job.input.openai_input).toMatchObject({ stream: true, background: false });
	const text = eventsOf(["Bo", "ats"]);
	const cut = text.indexOf('"ats"');
	await worker.chunk(job.id, { output: text.slice(0, cut) });
	expect(await stream.next()).toMatchObject({ type: "response.in_progress", response: { id: stream.id } });
	expect(await stream.next()).toMatchObject({ type: "response.output_text.delta", sequence_number: 3, delta: "Bo" });
	expect(await client.responses.retrieve(stream.id)).toMatchObject({ status: "in_progress", output: [] });
	await worker.chunk(job.id, { output: text.slice(cut) });
	expect(await stream.next()).toMatchObject({ sequence_number: 4, delta: "ats" });
	// The last event waits for the end of the job, so that a poll after it agrees.
	expect((await client.responses.retrieve(stream.id)).status).toBe("in_progress");
	await worker.done(job.id, { output: [text] });
	const [last, ...more] = await stream.rest();
	expect(last).toMatchObject({
		type: "response.completed",
		sequence_number: 5,
		response: { id: stream.id, background: true },
	});
	expect(more).toEqual([]);
	expect(await client.responses.retrieve(stream.id)).toMatchObject({
		id: stream.id,
		status: "completed",
		output_text: "Boats",
		usage: { input_tokens: 3, output_tokens: 5, total_tokens: 8 },
	});
});

it("D58: one that was cut is resumed after any event, live and after its end, with exactly the rest", async () => {
	const words = Array.from({ length: 12 }, (_, n) => `word ${n} 😀`);
	const text = eventsOf(words);
	const whole = await streamOf(client);
	const job = await worker.takeThis(jobOf(whole.id));
	const resumptions: Promise<unknown[]>[] = [];
	const step = Math.ceil(text.length / 9);
	for (let at = 0, n = 0; at < text.length; at += step, n += 1) {
		await worker.chunk(job.id, { output: text.slice(at, at + step) });
		resumptions.push(resumed(client, whole.id, n).then(allOf));
	}
	await worker.done(job.id, {});
	const events = [await replayed(whole.id)].flat();
	expect(numbers(events)).toEqual(Array.from({ length: 16 }, (_, n) => n));
	expect(await whole.rest()).toEqual(events.slice(1));
	for (const [n, rest] of resumptions.entries()) expect(await rest).toEqual(events.slice(n + 1));
	for (const [n] of events.entries()) expect(await replayed(whole.id, n)).toEqual(events.slice(n + 1));
});

it("D58, D16: after a lost worker its events begin again with higher numbers, the same for each reader", async () => {
	const stayed = await streamOf(client);
	const { id } = stayed;
	await worker.takeThis(jobOf(id));
	const text = eventsOf(["Bo", "ats"]);
	await worker.chunk(jobOf(id), { output: text.slice(0, text.indexOf('"ats"')) });
	const seen = [await stayed.next(), await stayed.next(), await stayed.next()];
	expect(seen.map((event) => event!.sequence_number)).toEqual([1, 2, 3]);
	const other = await handWorker(service, ep);
	const taken = other.take();
	await clock.advance(LEASE_MS + 1000);
	expect((await taken)?.id).toBe(jobOf(id));
	await other.chunk(jobOf(id), { output: text });
	await other.done(jobOf(id), {});
	const rest = await asTimePasses(clock, stayed.rest());
	expect(rest.map(({ type }) => type)).toEqual([
		"response.queued",
		"response.in_progress",
		"response.output_text.delta",
		"response.output_text.delta",
		"response.completed",
	]);
	expect(Math.min(...numbers(rest))).toBeGreaterThan(3);
	expect(await replayed(id, 3)).toEqual(rest);
	expect((await replayed(id)).slice(2)).toEqual(rest);
	expect((await client.responses.retrieve(id)).output_text).toBe("Boats");
});

it.each([
	["whole", { output: workersResponse("Boats") }, "completed"],
	["as a list of events", { output: [eventsOf(["Bo", "ats"])] }, "completed"],
	["not at all", { error: "broke" }, "failed"],
	["as what is none", { output: "Boats" }, "failed"],
])("D58: a worker that does not stream, and answers %s, ends the stream too", async (_, report, status) => {
	const stream = await streamOf(client);
	await worker.takeThis(jobOf(stream.id));
	await worker.done(jobOf(stream.id), report);
	const events = await stream.rest();
	expect(events.at(-1)).toMatchObject({ type: `response.${status}`, response: { id: stream.id, status } });
	expect(await replayed(stream.id, 0)).toEqual(events);
	expect((await client.responses.retrieve(stream.id)).status).toBe(status);
});

it("D58: a response that was not created with stream has events too", async () => {
	const { id } = await created(client);
	const live = resumed(client, id).then(allOf);
	await worker.takeThis(jobOf(id));
	await worker.done(jobOf(id), { output: workersResponse("Boats") });
	const events = await live;
	expect(events.map(({ type, sequence_number: n }) => `${n} ${type}`)).toEqual([
		"0 response.created",
		"1 response.queued",
		"2 response.in_progress",
		"3 response.completed",
	]);
	expect(await replayed(id, 1)).toEqual(events.slice(2));
	const waiting = await created(client);
	await client.responses.cancel(waiting.id);
	expect((await replayed(waiting.id)).at(-1)).toMatchObject({ type: "response.cancelled", sequence_number: 3 });
});

it("D58: a failure in the middle, a cancellation and an unfinished stream are last events", async () => {
	for (const [end, status] of [
		[async (id: string) => await worker.done(id, { error: "broke" }), "failed"],
		[async (id: string) => void (await client.responses.cancel(`resp_${id}`)), "cancelled"],
		[async (id: string) => await worker.done(id, {}), "failed"],
		[
			async (id: string) => {
				await worker.chunk(id, { output: 'data: {"error":{"message":"too long"}}\n\n' });
				await worker.done(id, {});
			},
			"failed",
		],
	] as const) {
		const stream = await streamOf(client);
		const job = jobOf(stream.id);
		await worker.takeThis(job);
		await worker.chunk(job, { output: sse("response.output_text.delta", { delta: "Bo" }) });
		await end(job);
		const events = await stream.rest();
		expect(events.at(-1)).toMatchObject({ type: `response.${status}`, response: { id: stream.id, status } });
		expect(await replayed(stream.id, 0)).toEqual(events);
		expect((await client.responses.retrieve(stream.id)).status).toBe(status);
	}
});

it("D58: a comment keeps the connection, and a purge ends it with an error", async () => {
	const response = await fetch(`${service.url}/v2/${ep}/openai/v1/responses`, {
		method: "POST",
		headers: { authorization: `Bearer ${KEY}` },
		body: JSON.stringify({ model: "m", background: true, stream: true }),
	});
	expect(response.headers.get("content-type")).toBe("text/event-stream");
	const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
	let text = "";
	const read = async (wanted: string): Promise<void> => {
		while (!text.includes(wanted)) text += (await reader.read()).value ?? "";
	};
	await asTimePasses(clock, read(": waiting\n\n"));
	expect(text).toMatch(
		/^event: response\.created\ndata: \{.*\}\n\nevent: response\.queued\ndata: \{.*\}\n\n: waiting\n\n$/,
	);
	await call(service.url, `/v2/${ep}/purge-queue`, { method: "POST" });
	await read('data: {"error":{');
	expect(text).toContain('"code":"job_removed"');
	expect((await reader.read()).done).toBe(true);
});

it.each([["-1"], ["x"], ["1.5"], [""]])("D58: starting_after=%s is refused", async (value) => {
	const { id } = await created(client);
	const answer = await call(service.url, `/v2/${ep}/openai/v1/responses/${id}?stream=true&starting_after=${value}`);
	expect(expectOpenAIError(answer, 400, "bad_query").param).toBe("starting_after");
});
