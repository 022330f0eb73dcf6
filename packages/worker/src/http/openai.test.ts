/** Jobs of `/openai/*`, which the service has as `openai_route` and `openai_input` (protocol C). */
import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { failureOfError } from "../../../../src/modules/openai/failures.ts";
import { openaiInput } from "../../../../src/modules/openai/translation.ts";
import type { Received } from "../../../../test/support/worker-kit/http-servers.ts";
import { closeServers, handlerOf, json } from "../../../../test/support/worker-kit/job-handler.ts";

afterEach(closeServers);

const before = (answer: (request: Received, response: ServerResponse) => void, more: object = {}) =>
	handlerOf({ preset: "vllm", ...more }, answer);

const input = (route: string, body?: string): string => openaiInput(route, body) as string;

const events =
	(text: string) =>
	(_request: Received, response: ServerResponse): void =>
		void response.writeHead(200, { "content-type": "text/event-stream" }).end(text);

/** The input of a form, as the service makes it. */
const formInput = (route: string, form: object): string =>
	openaiInput(route, JSON.stringify(form), "multipart/form-data") as string;

describe("a job of a form", () => {
	const wav = Buffer.from("RIFF\0\r\n--x\xff", "latin1");
	const audio = { name: 'a "b".wav', type: "audio/wav", base64: wav.toString("base64") };
	const answered = (_request: Received, response: ServerResponse): void => json(response, { text: "hi" });

	/** The form that a server gets, as Node's own parser reads it: texts, and name, type and bytes of files. */
	async function received(form: object): Promise<[string, unknown][]> {
		const { run, server } = await before(answered);
		expect(await run(formInput("/v1/audio/transcriptions", form))).toEqual([{ text: "hi" }]);
		const [{ method, url, headers, body }] = server.received as [Received];
		expect([method, url]).toEqual(["POST", "/v1/audio/transcriptions"]);
		const { "content-type": type = "" } = headers;
		const read = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
		return await Promise.all(
			[...read].map(async ([name, value]): Promise<[string, unknown]> => {
				if (typeof value === "string") return [name, value];
				return [name, [value.name, value.type, Buffer.from(await value.arrayBuffer()).toString("latin1")]];
			}),
		);
	}

	it("is sent as the form that the client has sent: fields that repeat, files byte for byte", async () => {
		const form = { file: audio, model: "é", "granularities[]": ["word", "segment"], "image[]": [audio, audio] };
		const file = ['a "b".wav', "audio/wav", wav.toString("latin1")];
		expect(await received(form)).toEqual([
			["file", file],
			["model", "é"],
			["granularities[]", "word"],
			["granularities[]", "segment"],
			["image[]", file],
			["image[]", file],
		]);
	});

	it("may have values that no client's form has", async () => {
		const odd = { a: 1.5, b: true, c: { d: [1] }, e: null, f: [], g: { base64: "QQ==", type: "x\r\ny: z" } };
		expect(await received(odd)).toEqual([
			["a", "1.5"],
			["b", "true"],
			["c", '{"d":[1]}'],
			["g", ["g", "application/octet-stream", "A"]],
		]);
		expect(await received({})).toEqual([]);
	});

	it("fails with the name of a file that is not base64, and the server gets nothing", async () => {
		const { run, server } = await before(answered);
		const result = (await run(formInput("/v1/audio/transcriptions", { file: { base64: "%" } }))) as { error: string };
		expect(failureOfError(result.error)).toEqual({
			status: 400,
			message: "openai_input.file.base64 must be base64, a data: URL with base64, or an address.",
			type: "invalid_request_error",
			param: null,
			code: "invalid_file",
		});
		expect(server.received).toEqual([]);
	});

	it("streams by the field stream, which is a text", async () => {
		const sent = 'data: {"type":"transcript.text.delta","delta":"hi"}\n\n';
		const { run } = await before(events(sent));
		for (const stream of ["true", "True", "1"])
			expect(await run(formInput("/v1/audio/transcriptions", { file: audio, stream }))).toEqual([sent, [sent]]);
		const [whole] = (await run(formInput("/v1/audio/transcriptions", { stream: "false" }))) as [
			{ contentType: string },
		];
		expect(whole.contentType).toBe("text/event-stream");
	});

	it("is JSON without the service's word for it", async () => {
		const { run, server } = await before(answered);
		await run(input("/v1/audio/transcriptions", '{"file":{"base64":"QQ=="},"stream":"true"}'));
		expect(server.received[0]!.headers["content-type"]).toBe("application/json");
	});
});

it.each([
	["text", "text/plain; charset=utf-8", "wörds\n"],
	["subtitles", "text/vtt", "WEBVTT\n"],
	["a text in another charset", "text/plain; charset=latin1", Buffer.from("w\xf6rds", "latin1")],
	["audio", "audio/mpeg", Buffer.from([0, 255, 128])],
	["nothing", "text/plain", ""],
])("an answer that is %s has its bytes and its content type", async (_name, type, body) => {
	const { run } = await before((_request, response) => response.writeHead(200, { "content-type": type }).end(body));
	const bytes = Buffer.from(body);
	expect(await run(input("/v1/audio/speech", '{"input":"x"}'))).toEqual([
		{ contentType: type, bytes: bytes.length, data: bytes.toString("base64") },
	]);
});

describe("a job of /openai/*", () => {
	it("goes to its route, with the client's body byte for byte, and its answer is the output's only element", async () => {
		const { run, server } = await before((_request, response) => json(response, { id: "c" }), {
			request: { defaults: { temperature: 0 }, headers: { authorization: "Bearer {env.TOKEN}" } },
		});
		const body = '{ "model":"m","seed": 9223372036854775807,"messages":[{"content":"\\u00e9 1.0"}] }';
		expect(await run(input("/v1/chat/completions", body))).toEqual([{ id: "c" }]);
		const [request] = server.received;
		expect([request!.method, request!.url, request!.body.toString()]).toEqual(["POST", "/v1/chat/completions", body]);
		expect(request!.headers).toMatchObject({
			authorization: "Bearer t0ken-of-the-server",
			"content-type": "application/json",
		});
	});

	it.each([["/v1/models"], ["/v1/models/Qwen/Qwen3-8B"]])("without a body it is a GET of %s", async (route) => {
		const { run, server } = await before((_request, response) => json(response, { data: [] }));
		for (const each of [input(route), input(route, "null"), input(route, "{}")])
			expect(await run(each)).toEqual([{ data: [] }]);
		for (const { method, url, body } of server.received)
			expect([method, url, body.toString()]).toEqual(["GET", route, ""]);
	});

	it("streams whole events as text, with the last one", async () => {
		const sent = ['data: {"a": 1.0}\n\n', ": ping\n\nevent: x\ndata: b\n\n", "data: [DONE]\n\n"];
		const { run } = await before(events(sent.join("")));
		const chunks = [sent[0], "event: x\ndata: b\n\n", sent[2]];
		expect(await run(input("/v1/chat/completions", '{"stream":true}'))).toEqual([...chunks, chunks]);
	});

	it("a stream of chat that is cut is a loss, and others have no last event", async () => {
		const { run } = await before(events('event: response.completed\ndata: {"type":"x"}\n\n'));
		expect(await run(input("/v1/chat/completions", '{"stream":true}'))).toMatchObject({
			name: "JobReturn",
			loss: true,
		});
		const chunk = 'event: response.completed\ndata: {"type":"x"}\n\n';
		expect(await run(input("/v1/responses", '{"stream":true}'))).toEqual([chunk, [chunk]]);
	});

	it("a server that does not stream answers with the whole", async () => {
		const { run } = await before((_request, response) => json(response, [1]));
		expect(await run(input("/v1/embeddings", '{"stream":true}'))).toEqual([[1]]);
	});

	it("infinity has its routes without /v1", async () => {
		const { run, server } = await before((_request, response) => json(response, {}), { preset: "infinity" });
		await run(input("/v1/embeddings", '{"input":"x"}'));
		expect(server.received[0]!.url).toBe("/embeddings");
	});

	it.each([
		[
			"an error of the server",
			404,
			'{"error":{"message":"no model m","type":"NotFoundError","code":404}}',
			"no model m",
		],
		["an error that is a text", 400, "bad", "bad"],
	])("gives the service %s as it was", async (_name, status, body, message) => {
		const { run } = await before((_request, response) => response.writeHead(status).end(body));
		const result = (await run(input("/v1/completions", '{"prompt":"x"}'))) as { error: string };
		expect(result.error).toBe(`vLLM returned HTTP ${status}: ${body}`);
		expect(failureOfError(result.error)).toMatchObject({ status, message });
	});

	it("an error amid a stream fails the job with the server's code", async () => {
		const { run } = await before(events('data: {"error":{"message":"oom","type":"X","code":507}}\n\n'));
		const [failed] = (await run(input("/v1/completions", '{"stream":true}'))) as { error: string }[];
		expect(failureOfError(failed!.error)).toMatchObject({ status: 507, message: "oom", type: "X" });
	});

	it.each([
		["/v1/../metrics", "{}"],
		["/v1/models/..", "{}"],
		["/v1/./models", "{}"],
		["/v1//models", "{}"],
		["/v1/models/", "{}"],
		["/v1/models?x", "{}"],
		["/v1/models%2f..", "{}"],
		["/v1/{env.TOKEN}", "{}"],
		["/metrics", "{}"],
		["/v1/models", '{"a":1}'],
		["/v1/chat/completions", "{}"],
		["/v1/load_lora_adapter", '{"a":1}'],
	])("refuses %s with %s, and the server gets nothing", async (route, body) => {
		const { run, server } = await before((_request, response) => json(response, {}));
		const { error } = (await run(input(route, body))) as { error: string };
		expect(failureOfError(error)).toMatchObject({ status: 404, code: "unknown_route" });
		expect(server.received).toEqual([]);
	});

	it("is sent as it is by a mapping without OpenAI's API", async () => {
		const { run, server } = await before((_request, response) => json(response, 1), { preset: "raw" });
		expect(await run(input("/v1/models"))).toBe(1);
		expect(server.received[0]!.url).toBe("/");
	});
});

it("a path by a member counts the first that is neither null nor false", async () => {
	const paths = { b: "/b", a: "/a/{input.a}" };
	const { run, server } = await before((_request, response) => json(response, 1), {
		preset: "raw",
		request: { paths },
	});
	for (const each of [{ a: 0 }, { b: false, a: "x" }, { b: null }, { a: 1, b: [] }, [1]]) await run(each);
	expect(server.received.map(({ url }) => url)).toEqual(["/a/0", "/a/x", "/", "/b", "/"]);
});

it("the server's own text is no event of the worker's start", async () => {
	const failed = [{ at: "/failed" }];
	const { run } = await before((_request, response) => json(response, { failed: true, event: "prestart_failed" }), {
		preset: "raw",
		failed,
	});
	expect(await run({})).toEqual({ error: 'The server failed the job: {"failed":true,"event":"prestart_failed"}' });
});
