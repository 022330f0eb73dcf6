/**
 * The official, unmodified `openai` client against the example worker, started by the service: what
 * its users see.
 */
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KEY, startService, type TestService } from "../support/service.ts";

const EXAMPLE = new URL("../../examples/openai/", import.meta.url);
const LAUNCHER = {
	type: "process",
	command: [process.execPath, fileURLToPath(new URL("worker.js", EXAMPLE))],
};
const MODEL = "harbour-1";
const messages = [{ role: "user", content: "Write something about the wind" }] as const;
/** Goes on until `max_tokens`, for several seconds. */
const LONG = { model: MODEL, messages: [...messages], temperature: 0, max_tokens: 4096 };

type Reply = (
	route: string,
	body: object | undefined,
	context: { id: string; now: number; random: () => number; signal?: AbortSignal },
) => AsyncGenerator<object | string>;

let service: TestService;
let client: OpenAI;
let reply: Reply;
/** Requests sent by all clients. */
let requests = 0;

beforeAll(async () => {
	({ reply } = (await import(new URL("api.js", EXAMPLE).href)) as { reply: Reply });
	service = await startService({ endpoints: { openai: { workersMax: 1, launcher: LAUNCHER } } });
	client = clientOf(service, "openai");
});
afterAll(() => service.end());

/** The client with its own settings, but for its address and key. */
function clientOf({ url }: TestService, endpoint: string, apiKey = KEY): OpenAI {
	return new OpenAI({
		baseURL: `${url}/v2/${endpoint}/openai/v1`,
		apiKey,
		fetch: (...q) => {
			requests += 1;
			return fetch(...q);
		},
	});
}

/** What a call is refused with, and how often the client tried. */
async function refusal(request: Promise<unknown>): Promise<{ error: unknown; tries: number }> {
	requests = 0;
	try {
		await request;
	} catch (error) {
		return { error, tries: requests };
	}
	throw new Error("The call was not refused.");
}

/** Reads a stream to its end. */
async function all(request: Promise<AsyncIterable<unknown>>): Promise<void> {
	const chunks: unknown[] = [];
	for await (const chunk of await request) chunks.push(chunk);
}

async function textOf(seed: number, more: object = {}): Promise<string> {
	const { choices } = await client.chat.completions.create({
		model: MODEL,
		messages: [...messages],
		seed,
		...more,
	});
	return choices[0]!.message.content!;
}

describe("D32: the official client", () => {
	it("lists the models", async () => {
		const models = await client.models.list();
		expect(models.data.map(({ id }) => id)).toEqual([MODEL]);
	});

	it("gets a chat completion, and the job's id with it", async () => {
		const answer = await client.chat.completions.create({
			model: MODEL,
			messages: [...messages],
			seed: 1,
			max_tokens: 20,
		});
		expect(answer).toMatchObject({
			object: "chat.completion",
			model: MODEL,
			choices: [{ index: 0, message: { role: "assistant" } }],
		});
		expect(answer.choices[0]!.message.content).toMatch(/[a-z]+ [a-z]+/);
		expect(answer.usage).toMatchObject({
			prompt_tokens: 5,
			total_tokens: 5 + answer.usage!.completion_tokens,
		});
		const id = answer._request_id!;
		expect(answer.id).toBe(`chatcmpl-${id}`);
		expect((await service.engine.jobs.status({ endpoint: "openai", id })).job.state).toBe("COMPLETED");
	});

	it("gets the same text for the same seed, streamed or not, and others for others", async () => {
		const texts = await Promise.all([1, 1, 2, 3].map((seed) => textOf(seed)));
		expect(texts[0]).toBe(texts[1]);
		expect(new Set(texts).size).toBe(3);
		const stream = await client.chat.completions.create({
			model: MODEL,
			messages: [...messages],
			seed: 1,
			stream: true,
			stream_options: { include_usage: true },
		});
		let text = "";
		let usage: unknown;
		const reasons: unknown[] = [];
		for await (const chunk of stream) {
			text += chunk.choices[0]?.delta.content ?? "";
			if (chunk.choices[0]?.finish_reason) reasons.push(chunk.choices[0].finish_reason);
			usage = chunk.usage ?? usage;
		}
		expect(text).toBe(texts[0]);
		expect(reasons).toHaveLength(1);
		expect(usage).toMatchObject({ prompt_tokens: 5, completion_tokens: expect.any(Number) });
	});

	it("D58: gets a response in the background, polled and with its events", async () => {
		const request = { model: MODEL, input: "Describe the harbour", background: true, max_output_tokens: 20 } as const;
		const stream = await client.responses.create({ ...request, stream: true });
		let text = "";
		let id = "";
		for await (const event of stream) {
			if (event.type === "response.created") id = event.response.id;
			if (event.type === "response.output_text.delta") text += event.delta;
		}
		const response = await client.responses.retrieve(id);
		expect(response).toMatchObject({ status: "incomplete", output_text: text });
		expect(text).toMatch(/[a-z]+ [a-z]+/);
		const { id: other } = await client.responses.create({ ...request, max_output_tokens: 1 });
		const events = await client.responses.retrieve(other, { stream: true });
		let last = "";
		for await (const { type } of events) last = type;
		expect(last).toBe("response.incomplete");
	});

	it("has max_tokens, stop and temperature honoured", async () => {
		const { choices, usage } = await client.chat.completions.create({ ...LONG, max_tokens: 30 });
		expect([choices[0]!.finish_reason, usage!.completion_tokens]).toEqual(["length", 30]);
		const whole = choices[0]!.message.content!;
		expect(await textOf(5, { temperature: 0, max_tokens: 30 })).toBe(whole);
		const middle = whole.slice(20, 30);
		const stopped = await client.chat.completions.create({
			...LONG,
			max_tokens: 30,
			stop: [middle],
		});
		expect([stopped.choices[0]!.message.content, stopped.choices[0]!.finish_reason]).toEqual([
			whole.slice(0, whole.indexOf(middle)),
			"stop",
		]);
	});

	it("gets text completions, streamed and not", async () => {
		const q = { model: MODEL, prompt: "The keeper", seed: 4, max_tokens: 12 };
		const { choices, object } = await client.completions.create(q);
		expect(object).toBe("text_completion");
		expect(choices[0]!.text).toMatch(/^ of the lighthouse/);
		let text = "";
		for await (const chunk of await client.completions.create({ ...q, stream: true }))
			text += chunk.choices[0]?.text ?? "";
		expect(text).toBe(choices[0]!.text);
	});

	it.each([false, true])(
		"raises the error that the worker gives, without trying again (stream: %s)",
		async (stream) => {
			const unknown = await refusal(
				client.chat.completions.create({ model: "gpt-0", messages: [...messages], stream }),
			);
			expect(unknown.error).toBeInstanceOf(OpenAI.NotFoundError);
			expect(unknown).toMatchObject({
				tries: 1,
				error: {
					status: 404,
					code: "model_not_found",
					param: "model",
					type: "invalid_request_error",
				},
			});
			const missing = await refusal(client.chat.completions.create({ model: MODEL, messages: [], stream }));
			expect(missing.error).toBeInstanceOf(OpenAI.BadRequestError);
			expect(missing).toMatchObject({ tries: 1, error: { param: "messages" } });
		},
	);

	it("raises the service's own refusals", async () => {
		expect((await refusal(clientOf(service, "openai", "wrong-key-0123456789").models.list())).error).toBeInstanceOf(
			OpenAI.AuthenticationError,
		);
		expect((await refusal(clientOf(service, "nowhere").models.list())).error).toBeInstanceOf(OpenAI.NotFoundError);
		expect((await refusal(client.post("/embeddings", { body: { model: MODEL, input: "x" } }))).error).toBeInstanceOf(
			OpenAI.NotFoundError,
		);
	});

	it("does not try again when another client cancels the job", async () => {
		const started = service.next("job.started", ({ endpoint }) => endpoint === "openai");
		const refused = refusal(all(client.chat.completions.create({ ...LONG, stream: true })));
		const { id } = await started;
		await service.engine.jobs.cancel({ endpoint: "openai", id });
		const { error, tries } = await refused;
		expect(error).toBeInstanceOf(OpenAI.APIError);
		expect(tries).toBe(1);
	});

	it("stops the job when it aborts a stream", async () => {
		const other = await startService({
			endpoints: {
				openai: { workersMax: 1, launcher: LAUNCHER, env: { RUNPOD_LOG_LEVEL: "DEBUG" } },
			},
		});
		try {
			const started = other.next("job.started");
			const stream = await clientOf(other, "openai").chat.completions.create({
				...LONG,
				stream: true,
			});
			const { id } = await started;
			const settled = other.next("job.settled", (facts) => facts.id === id);
			const sent = other.next("stop.sent", (facts) => facts.id === id);
			stream.controller.abort();
			expect((await settled).state).toBe("CANCELLED");
			await sent;
		} finally {
			const exited = other.next("worker.exited");
			await other.end();
			// The kit's own words: the signal was aborted, and then the handler ended before its text
			// did.
			expect((await exited).lastOutput).toMatch(/Stopping the job.*Stopped\./s);
		}
	});
});

describe("openai example: the work", () => {
	it("ends when its signal aborts", async () => {
		const stop = new AbortController();
		const work = async (): Promise<void> => {
			for await (const text of reply(
				"/v1/chat/completions",
				{ ...LONG, stream: true },
				{ id: "j", now: 0, random: () => 0, signal: stop.signal },
			)) {
				expect(text).toMatch(/^data: /);
				stop.abort(new Error("cancelled"));
			}
		};
		await expect(work()).rejects.toThrow("cancelled");
	});

	it.each([
		[{ n: 2 }, "'n' must be 1"],
		[{ max_tokens: 0 }, "'max_tokens' must be a whole number from 1 to 4096"],
		[{ temperature: 3 }, "'temperature' must be a number from 0 to 2"],
		[{ seed: "x" }, "'seed' must be a whole number"],
		[{ stop: [""] }, "'stop' must be a text or a list of at most 4 texts"],
		[{ messages: undefined }, "'messages' must be a list of at least one message"],
		[{ messages: [{ content: 5 }] }, "'messages[0].content' must be a text"],
	])("refuses %j with a sentence", async (wrong, sentence) => {
		const work = reply("/v1/chat/completions", { ...LONG, ...wrong }, { id: "j", now: 0, random: () => 0 });
		await expect(work.next()).rejects.toThrow(sentence);
	});
});
