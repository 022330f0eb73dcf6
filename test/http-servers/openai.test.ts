/**
 * Servers with OpenAI's API: the official client is the judge of the fake, and is answered the same through Sluice.
 */
import OpenAI, { APIError, toFile } from "openai";
import { describe, expect, it, type TestContext } from "vitest";
import { KEY } from "../support/service.ts";
import { until } from "../support/until.ts";
import { FAIL, FAILURE, HOLD } from "./fakes/model.ts";
import { type OpenAiServer, startOpenAi } from "./fakes/openai.ts";
import { connectedSite, fakeOf, type Site, SLOW_MS } from "./servers.ts";

const clientOf = (baseURL: string): OpenAI => new OpenAI({ baseURL, apiKey: KEY, maxRetries: 0 });
const direct = ({ port }: OpenAiServer): OpenAI => clientOf(`http://127.0.0.1:${port}/v1`);
const through = ({ service }: Site): OpenAI => clientOf(`${service.url}/v2/ep/openai/v1`);

const fakeServer = (test: TestContext): Promise<OpenAiServer> => fakeOf(test, startOpenAi({ created: 1_767_225_600 }));

const chat = (content: string) => ({ model: "tiny", messages: [{ role: "user" as const, content }] });

/** The events of a stream, and the error that ends it. */
async function eventsOf(stream: Promise<AsyncIterable<unknown>>): Promise<{ events: unknown[]; error?: unknown }> {
	const events: unknown[] = [];
	try {
		for await (const event of await stream) events.push(event);
		return { events };
	} catch (error) {
		return { events, error: shownError(error) };
	}
}

function shownError(error: unknown): object {
	if (!(error instanceof APIError)) throw error;
	const { status, code, type, param, error: body } = error as APIError<number | undefined>;
	return { class: error.constructor.name, status, code, type, param, body };
}

const failureOf = (call: Promise<unknown>): Promise<object> =>
	call.then((value) => expect.fail(`no error, but ${JSON.stringify(value)}`), shownError);

/** All that the client can ask of the server. */
async function judged(client: OpenAI) {
	const speech = await client.audio.speech.create({ model: "tiny", voice: "alloy", input: "hello" });
	const file = await toFile(Buffer.from("RIFF\0\r\n--x\xff", "latin1"), "spëech.wav", { type: "audio/wav" });
	const transcription = { file, model: "tiny" };
	return {
		models: (await client.models.list()).data,
		chat: await client.chat.completions.create(chat("hello there")),
		stream: await eventsOf(
			client.chat.completions.create({ ...chat("hello"), stream: true, stream_options: { include_usage: true } }),
		),
		completion: await client.completions.create({ model: "tiny", prompt: "hello" }),
		completionStream: await eventsOf(client.completions.create({ model: "tiny", prompt: "hello", stream: true })),
		// The client asks for base64 and decodes it.
		embeddings: (await client.embeddings.create({ model: "tiny", input: ["ab", "abcd"] })).data,
		text: await client.audio.transcriptions.create(transcription),
		plainText: await client.audio.transcriptions.create({ ...transcription, response_format: "text" }),
		speech: [speech.headers.get("content-type"), Buffer.from(await speech.arrayBuffer()).toString("latin1")],
		pictures: await client.images.generate({ model: "tiny", prompt: "a heron", n: 2, size: "256x256" }),
		unknownModel: await failureOf(client.chat.completions.create({ ...chat("hello"), model: "huge" })),
		failedStream: await eventsOf(client.chat.completions.create({ ...chat(FAIL), stream: true })),
	};
}

describe("a server with OpenAI's API", { timeout: 2 * SLOW_MS }, () => {
	it("is one for the official client", async (test) => {
		const seen = await judged(direct(await fakeServer(test)));
		expect(seen).toMatchObject({
			models: [{ id: "tiny", object: "model", owned_by: "vllm" }],
			chat: { choices: [{ message: { content: "You said hello there." }, finish_reason: "stop" }] },
			completion: { choices: [{ text: "You said hello." }], usage: { completion_tokens: 4 } },
			embeddings: [{ embedding: [2, 0.5, -0.5] }, { embedding: [4, 1, -0.5] }],
			text: { text: "spëech.wav (audio/wav): 524946460" + "00d0a2d2d78ff" },
			plainText: "spëech.wav (audio/wav): 52494646000d0a2d2d78ff",
			speech: ["audio/mpeg", "\xff\xfb\0alloy: hello"],
			unknownModel: { class: "NotFoundError", status: 404, code: 404, type: "NotFoundError", param: "model" },
			failedStream: { error: { class: "APIError", body: { message: FAILURE, code: 500 } } },
		});
		const { events } = seen.stream as { events: OpenAI.ChatCompletionChunk[] };
		expect(events.map(({ choices: [choice] }) => choice?.delta.content)).toEqual([
			...["You", " said", " hello", "."],
			...[undefined, undefined],
		]);
		expect(events.at(-1)!.usage).toMatchObject({ completion_tokens: 4 });
		expect(seen.pictures.data!.map(({ b64_json }) => Buffer.from(b64_json!, "base64").toString("latin1"))).toEqual([
			"\x89PNG 0 256x256 a heron",
			"\x89PNG 1 256x256 a heron",
		]);
	});

	it("D32: is the same for the client through Sluice", async (test) => {
		const fake = await fakeServer(test);
		const site = await connectedSite(test, { preset: "vllm", ready: { everyMs: 20 } }, fake);
		expect(await judged(through(site))).toEqual(await judged(direct(fake)));
	});

	it("gives jobs the output that the client saw", async (test) => {
		const fake = await fakeServer(test);
		const { run } = await connectedSite(test, { preset: "vllm", ready: { everyMs: 20 } }, fake);
		const seen = await judged(direct(fake));
		expect(await run(chat("hello there"))).toMatchObject({ status: "COMPLETED", output: seen.chat });
		expect(await run({ ...chat("hello"), stream: true, stream_options: { include_usage: true } })).toMatchObject({
			output: seen.stream.events,
		});
		expect(await run({ model: "tiny", prompt: "hello" })).toMatchObject({ output: seen.completion });
		expect((await run({ model: "tiny", input: ["ab", "abcd"] })).output.data).toEqual(seen.embeddings);
		const { status, error } = await run({ ...chat("hello"), model: "huge" });
		expect([status, error]).toEqual([
			"FAILED",
			expect.stringMatching(/^HTTP 404: [^]*"The model `huge` does not exist/),
		]);
		expect(await run({ ...chat(FAIL), stream: true })).toMatchObject({
			status: "FAILED",
			error: expect.stringContaining(FAILURE),
		});
	});

	it("ends a stream whose job is cancelled, or whose client leaves", async (test) => {
		const fake = await fakeServer(test);
		const site = await connectedSite(test, { preset: "vllm", ready: { everyMs: 20 } }, fake);
		const id = await site.submit({ ...chat(HOLD), stream: true });
		await until("the stream", () => fake.streams() === 1);
		await site.cancel(id);
		await until("its end", () => fake.streams() === 0, 5000);
		expect(await site.over(id)).toMatchObject({ status: "CANCELLED" });
		for (const client of [direct(fake), through(site)]) {
			const stream = await client.chat.completions.create({ ...chat(HOLD), stream: true });
			for await (const event of stream) {
				expect(event.choices[0]!.delta.content).toBe("You");
				break;
			}
			await until("the end of the stream", () => fake.streams() === 0);
		}
	});
});
