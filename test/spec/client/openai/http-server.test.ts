/**
 * The official, unmodified `openai` client before an endpoint whose worker is any HTTP server with OpenAI's API: what
 * reaches the server, and what comes back.
 */
import { fileURLToPath } from "node:url";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, KEY, startService, type TestService } from "../../../support/service.ts";

const SERVER = fileURLToPath(new URL("openai-server.ts", import.meta.url));
const AUDIO = Buffer.from("RIFF\0\r\n--x\xff", "latin1");
const PICTURE = Buffer.alloc(300_001, "\x89PNG\r\n", "latin1");

let service: TestService;
let client: OpenAI;

beforeAll(async () => {
	service = await startService({
		endpoints: {
			ep: {
				launcher: { type: "process", command: [process.execPath, SERVER, "{port}"] },
				http: { preset: "openai", port: 0, ready: { everyMs: 20 }, concurrency: 4 },
				workersMax: 1,
				idleTimeout: 3600,
			},
		},
	});
	client = new OpenAI({ baseURL: `${service.url}/v2/ep/openai/v1`, apiKey: KEY, maxRetries: 0 });
});
afterAll(() => service.end());

const audio = () => toFile(AUDIO, "speech.wav", { type: "audio/wav" });
const file = { name: "speech.wav", type: "audio/wav", base64: AUDIO.toString("base64") };
const messages = [{ role: "user", content: "hello" }] as const;

describe("D32: OpenAI's client, before an HTTP server", () => {
	it("lists the models, from memory the second time", async () => {
		const { data } = await client.models.list();
		expect(data.map(({ id }) => id)).toEqual(["m"]);
		const again = await client.models.list().withResponse();
		expect(again.data.data).toEqual(data);
		expect(again.response.headers.get("age")).toMatch(/^\d+$/);
	});

	it("chats, whole and streamed", async () => {
		const answer = await client.chat.completions.create({ model: "m", messages: [...messages] });
		expect(answer.choices[0]!.message.content).toBe("You said hello");
		const stream = await client.chat.completions.create({ model: "m", messages: [...messages], stream: true });
		const pieces: unknown[] = [];
		for await (const chunk of stream) pieces.push(chunk.choices[0]!.delta.content);
		expect(pieces).toEqual(["You", " said ", "hello"]);
	});

	it("gets embeddings", async () => {
		const { data } = await client.embeddings.create({ model: "m", input: ["ab", "abc"], encoding_format: "float" });
		expect(data.map(({ embedding }) => embedding)).toEqual([
			[2, 0.5],
			[3, 0.5],
		]);
	});

	it("transcribes a file: fields that repeat and bytes reach the server", async () => {
		const { text } = await client.audio.transcriptions.create({
			file: await audio(),
			model: "whisper",
			response_format: "verbose_json",
			timestamp_granularities: ["word", "segment"],
		});
		expect(JSON.parse(text)).toEqual({
			file: [file],
			model: ["whisper"],
			response_format: ["verbose_json"],
			"timestamp_granularities[]": ["word", "segment"],
		});
	});

	it.each([
		["text", "text/plain; charset=utf-8", /^\{"file".*\n$/],
		["srt", "application/x-subrip", /^1\n00:00:00,000 --> .*\n/],
		["vtt", "text/vtt", /^WEBVTT\n/],
	] as const)("gets a transcription as %s, with the server's content type", async (format, type, text) => {
		const { data, response } = await client.audio.transcriptions
			.create({ file: await audio(), model: "whisper", response_format: format })
			.withResponse();
		expect(response.headers.get("content-type")).toBe(type);
		expect(data).toMatch(text);
	});

	it("streams a transcription", async () => {
		const stream = await client.audio.transcriptions.create({ file: await audio(), model: "whisper", stream: true });
		const types: string[] = [];
		for await (const event of stream) types.push(event.type);
		expect(types).toEqual(["transcript.text.delta", "transcript.text.done"]);
	});

	it("edits pictures", async () => {
		const image = await toFile(PICTURE, "a.png", { type: "image/png" });
		const one = await client.images.edit({ image, prompt: "a hat", model: "m" });
		expect(Buffer.from(one.data![0]!.b64_json!, "base64").equals(PICTURE)).toBe(true);
		expect(one.data![0]!.revised_prompt).toBe("a hat");
		const two = await client.images.edit({ image: [image, image], prompt: "two", model: "m" });
		expect(two.data).toHaveLength(2);
	});

	it("speaks: the server's bytes, with their content type", async () => {
		const speech = await client.audio.speech.create({ model: "m", voice: "alloy", input: "hello" });
		expect(speech.headers.get("content-type")).toBe("audio/mpeg");
		expect(Buffer.from(await speech.arrayBuffer()).toString("latin1")).toBe("\xff\xfb\x90\0hello");
	});

	it("gets the server's own error", async () => {
		await expect(client.images.createVariation({ image: await audio() })).rejects.toMatchObject({ status: 404 });
	});
});

describe("a plain job", () => {
	it("D32: with messages is a chat, its output the server's answer", async () => {
		const { json } = await call(service.url, "/v2/ep/runsync?wait=60000", {
			body: { input: { model: "m", messages } },
		});
		expect(json).toMatchObject({
			status: "COMPLETED",
			output: { object: "chat.completion", choices: [{ message: { content: "You said hello" } }] },
		});
	});

	it("D32: with messages and stream has the events as chunks", async () => {
		const input = { model: "m", messages, stream: true };
		const { json } = await call(service.url, "/v2/ep/runsync?wait=60000", { body: { input } });
		expect(json.output.map((each: any) => each.choices[0].delta.content)).toEqual(["You", " said ", "hello"]);
	});

	it("protocol C.1: may name a route, and have a form", async () => {
		const openai_input = { file, model: "whisper" };
		const input = {
			openai_route: "/v1/audio/transcriptions",
			openai_content_type: "multipart/form-data",
			openai_input,
		};
		const { json } = await call(service.url, "/v2/ep/runsync?wait=60000", { body: { input } });
		expect(JSON.parse(json.output[0].text)).toEqual({ file: [file], model: ["whisper"] });
	});
});
