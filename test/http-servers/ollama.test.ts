/** Ollama: its official client is the judge of the fake, and jobs have the output that it saw. */
import { Ollama } from "ollama";
import OpenAI from "openai";
import { describe, expect, it, type TestContext } from "vitest";
import { KEY } from "../support/service.ts";
import { until } from "../support/until.ts";
import { mappingOf } from "../support/worker-kit/mapping.ts";
import { sleepServer } from "../../packages/worker/src/http/server/sleep.ts";
import { systemClock } from "../../packages/worker/src/clock.ts";
import { FAIL, FAILURE, HOLD } from "./fakes/model.ts";
import { type OllamaServer, startOllama } from "./fakes/ollama.ts";
import { connectedSite, fakeOf, SLOW_MS } from "./servers.ts";

const MODELS = ["tiny:latest", "embed:4b"];

const fakeServer = (test: TestContext): Promise<OllamaServer> => fakeOf(test, startOllama({ models: MODELS }));
const clientOf = ({ port }: OllamaServer): Ollama => new Ollama({ host: `http://127.0.0.1:${port}` });
const connected = (test: TestContext, fake: OllamaServer) =>
	connectedSite(test, { preset: "ollama", ready: { everyMs: 20 } }, fake);

const chat = (content: string) => ({ model: "tiny", messages: [{ role: "user", content }] });
const embed = { model: "embed:4b", input: ["ab", "abcd"] };

/** The events of a stream, and the error that ends it. */
async function eventsOf<T>(stream: Promise<AsyncIterable<T>>): Promise<{ events: T[]; error?: string }> {
	const events: T[] = [];
	try {
		for await (const event of await stream) events.push(event);
		return { events };
	} catch (error) {
		return { events, error: (error as Error).message };
	}
}

describe("Ollama", { timeout: 2 * SLOW_MS }, () => {
	it("is one for its official client", async (test) => {
		const client = clientOf(await fakeServer(test));
		expect(await client.version()).toEqual({ version: "0.9.1" });
		expect((await client.list()).models.map(({ name, details }) => [name, details.format])).toEqual([
			["tiny:latest", "gguf"],
			["embed:4b", "gguf"],
		]);
		expect((await client.ps()).models).toEqual([]);
		expect(await client.chat(chat("hello"))).toMatchObject({
			message: { role: "assistant", content: "You said hello." },
			...{ model: "tiny", done: true, done_reason: "stop", eval_count: 4 },
		});
		const { events } = await eventsOf(client.chat({ ...chat("hello"), stream: true }));
		expect(events.map(({ message }) => message.content)).toEqual(["You", " said", " hello", ".", ""]);
		expect(await client.generate({ model: "tiny", prompt: "hello" })).toMatchObject({ response: "You said hello." });
		expect((await client.embed(embed)).embeddings).toEqual([
			[2, 0.5, -0.5],
			[4, 1, -0.5],
		]);
		expect((await client.ps()).models.map(({ name }) => name)).toEqual(MODELS);
		expect(await client.generate({ model: "tiny", prompt: "", keep_alive: 0 })).toMatchObject({
			done_reason: "unload",
		});
		expect((await client.ps()).models.map(({ name }) => name)).toEqual(["embed:4b"]);
	});

	it("refuses, fails amid a stream, and ends a stream that its official client aborts", async (test) => {
		const fake = await fakeServer(test);
		const client = clientOf(fake);
		await expect(client.chat({ ...chat("x"), model: "huge" })).rejects.toMatchObject({
			...{ name: "ResponseError", status_code: 404, message: "model 'huge' not found" },
		});
		expect(await eventsOf(client.chat({ ...chat(FAIL), stream: true }))).toMatchObject({
			events: [{ message: { content: "You" } }],
			error: FAILURE,
		});
		const stream = await client.chat({ ...chat(HOLD), stream: true });
		await until("the stream", () => fake.streams() === 1);
		client.abort();
		await expect(eventsOf(Promise.resolve(stream))).resolves.toMatchObject({ error: expect.stringMatching(/abort/) });
		await until("the end of the stream", () => fake.streams() === 0);
	});

	it("gives jobs the output that the client saw, and streams only for those that ask", async (test) => {
		const fake = await fakeServer(test);
		const { run, submit, cancel, over } = await connected(test, fake);
		const client = clientOf(fake);
		expect((await run(chat("hello"))).output).toEqual(await client.chat(chat("hello")));
		const { events } = await eventsOf(client.chat({ ...chat("hello"), stream: true }));
		expect((await run({ ...chat("hello"), stream: true })).output).toEqual(events);
		const prompt = { model: "tiny", prompt: "hello" };
		expect((await run(prompt)).output).toEqual(await client.generate({ ...prompt }));
		expect((await run(embed)).output).toEqual(await client.embed({ ...embed }));
		expect(await run({ ...chat("x"), model: "huge" })).toMatchObject({
			status: "FAILED",
			error: `HTTP 404: {"error":"model 'huge' not found"}`,
		});
		expect(await run({ ...chat(FAIL), stream: true })).toMatchObject({ status: "FAILED", error: FAILURE });
		const id = await submit({ ...chat(HOLD), stream: true });
		await until("the stream", () => fake.streams() === 1);
		await cancel(id);
		await until("its end", () => fake.streams() === 0, 5000);
		expect(await over(id)).toMatchObject({ status: "CANCELLED" });
	});

	it("D32: answers OpenAI's client the same through Sluice", async (test) => {
		const fake = await fakeServer(test);
		const { service } = await connected(test, fake);
		const answers = async (baseURL: string) => {
			const client = new OpenAI({ baseURL, apiKey: KEY, maxRetries: 0 });
			const said = { model: "tiny", messages: [{ role: "user" as const, content: "hello" }] };
			const usage = { stream: true, stream_options: { include_usage: true } } as const;
			const { status, type, message } = await client.chat.completions.create({ ...said, model: "huge" }).then(
				(value) => expect.fail(JSON.stringify(value)),
				(error: InstanceType<typeof OpenAI.APIError>) => error,
			);
			return {
				models: (await client.models.list()).data,
				chat: await client.chat.completions.create(said),
				stream: await eventsOf(client.chat.completions.create({ ...said, ...usage })),
				error: { status, type, message },
			};
		};
		const direct = await answers(`http://127.0.0.1:${fake.port}/v1`);
		expect(direct).toMatchObject({
			models: MODELS.map((id) => ({ id, owned_by: "library" })),
			chat: { choices: [{ message: { content: "You said hello." } }] },
			error: { status: 404, type: "not_found_error" },
		});
		expect(direct.stream.events).toHaveLength(6);
		expect(await answers(`${service.url}/v2/ep/openai/v1`)).toEqual(direct);
	});

	it("sleeps by unloading each model", async (test) => {
		const fake = await fakeServer(test);
		const client = clientOf(fake);
		await client.chat(chat("hello"));
		await client.embed(embed);
		const files = { readPort: () => undefined, writePort() {}, isAsleep: () => true, setAsleep() {}, remove() {} };
		const mapping = mappingOf({ preset: "ollama", port: fake.port });
		await sleepServer({ mapping, env: {}, files, clock: systemClock, randomId: () => "b" });
		expect((await client.ps()).models).toEqual([]);
	});
});
