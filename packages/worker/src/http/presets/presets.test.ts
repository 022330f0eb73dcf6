/** What each preset sends, and makes of the answers and failures that its server is known for. */
import { afterEach, describe, expect, it } from "vitest";
import { closeServers, handlerOf, json } from "../../../../../test/support/worker-kit/job-handler.ts";
import {
	type Answer,
	answers,
	events,
	runPreset as run,
	sends,
	sendsBody,
} from "../../../../../test/support/worker-kit/preset-server.ts";
import { serverAt } from "../exchange/connection.ts";
import { createReadiness } from "../server/readiness.ts";
import { mappingOf } from "../../../../../test/support/worker-kit/mapping.ts";
import { systemClock } from "../../clock.ts";
import { resolveMapping } from "../mapping/resolve-mapping.ts";
import { PRESETS } from "./index.ts";

afterEach(closeServers);

it("a fake server knows a call by its parameters in any order, and not without one of them", async () => {
	const { server } = await handlerOf({}, answers({ "GET /view?a=1&b=": sends("seen") }));
	const statusOf = async (url: string): Promise<number> =>
		(await fetch(`http://127.0.0.1:${server.port}${url}`)).status;
	const statuses = await Promise.all(["/view?b=&clientId=x&a=1", "/view?a=1", "/view?a=2&b="].map(statusOf));
	expect(statuses).toEqual([200, 404, 404]);
});

describe("every preset", () => {
	it.each(Object.keys(PRESETS))("%s resolves, with the server's place only", (preset) => {
		const read = resolveMapping({ preset, url: "http://127.0.0.1:1" });
		expect(read.ok ? [] : read.faults).toEqual([]);
		expect(PRESETS[preset]!.title.length).toBeGreaterThan(10);
	});

	it.each(Object.keys(PRESETS))("%s: a refusal fails the job with the server's words", async (preset) => {
		const { run: start } = await handlerOf({ preset }, (_request, response) => json(response, { detail: "no" }, 422));
		const input = { model: "m", audio: "AAAA", workflow: {}, prompt: "x" };
		expect(await start(input)).toEqual({ error: 'HTTP 422: {"detail":"no"}' });
	});

	it.each([
		["cog", { status: "STARTING" }, false],
		["cog", { status: "SETUP_FAILED" }, false],
		["cog", { status: "BUSY" }, true],
		["docling", {}, true],
	])("%s knows readiness by %j", async (preset, value, ready) => {
		const { server } = await handlerOf({ preset }, (_request, response) => json(response, value));
		const readiness = createReadiness({
			server: serverAt({ port: server.port }),
			ready: mappingOf({ preset }).ready,
			...{
				concurrency: 1,
				headers: {},
				clock: systemClock,
				log: () => {},
				isAsleep: () => false,
				hasEnded: () => false,
				hide: (text: string) => text,
				onLost: () => {},
			},
		});
		expect(await readiness.probe()).toBe(ready);
	});
});

describe("language models", () => {
	const chat = { choices: [{ message: { content: "hi" } }] };

	it.each([
		["openai", { messages: [] }, "/v1/chat/completions"],
		["vllm", { prompt: "x" }, "/v1/completions"],
		["sglang", { input: "x" }, "/v1/embeddings"],
		["llamacpp", { temperature: 0 }, "/v1/chat/completions"],
		["nim", { messages: [], prompt: "x" }, "/v1/chat/completions"],
		["ollama", { model: "m", messages: [] }, "/api/chat"],
		["ollama", { model: "m", prompt: "x" }, "/api/generate"],
		["ollama", { model: "m", input: ["x"] }, "/api/embed"],
		["tgi", { inputs: "x" }, "/generate"],
		["tgi", { messages: [] }, "/v1/chat/completions"],
		["tei", { inputs: "x" }, "/embed"],
		["tei", { query: "x", texts: [] }, "/rerank"],
		["tei", { input: "x" }, "/v1/embeddings"],
		["infinity", { model: "m", input: ["x"] }, "/embeddings"],
		["infinity", { model: "m", query: "x", documents: [] }, "/rerank"],
	])("%s: %j goes to %s", async (preset, input, path) => {
		const { output, paths, bodies } = await run(preset, input, { [`POST ${path}`]: sends(chat) });
		expect([output, paths]).toEqual([chat, [`POST ${path}`]]);
		expect(JSON.parse(bodies[0]!)).toMatchObject(input);
	});

	it("openai: chunks of a stream, and an error amid it", async () => {
		const table = { "POST /v1/chat/completions": events('{"a":1}', '{"a":2}', "[DONE]") };
		expect((await run("openai", { messages: [], stream: true }, table)).output).toEqual([
			{ a: 1 },
			{ a: 2 },
			[{ a: 1 }, { a: 2 }],
		]);
		const broken = { "POST /v1/chat/completions": events('{"a":1}', '{"error":{"message":"oom","code":500}}') };
		const { output } = await run("openai", { messages: [], stream: true }, broken);
		expect(output).toEqual([{ a: 1 }, { error: '{"message":"oom","code":500}' }]);
	});

	it("ollama: does not stream unless asked, and then lines, one of which may be an error", async () => {
		const plain = await run("ollama", { prompt: "x" }, { "POST /api/generate": sends({ response: "y" }) });
		expect(JSON.parse(plain.bodies[0]!)).toEqual({ prompt: "x", stream: false });
		const lines = sendsBody('{"response":"a"}\n{"error":"model runner stopped"}\n', "application/x-ndjson");
		const { output } = await run("ollama", { prompt: "x", stream: true }, { "POST /api/generate": lines });
		expect(output).toEqual([{ response: "a" }, { error: "model runner stopped" }]);
	});

	it.each([
		["tgi", 424],
		["tei", 413],
		["ollama", 404],
	])("%s: HTTP %i fails the job", async (preset, status) => {
		const all = { "POST /generate": 0, "POST /embed": 0, "POST /api/generate": 0 };
		const table = Object.fromEntries(Object.keys(all).map((route) => [route, sends({ error: "no" }, status)]));
		expect((await run(preset, { inputs: "x", model: "m" }, table)).output).toEqual({
			error: `HTTP ${status}: {"error":"no"}`,
		});
	});
});

describe("docling", () => {
	const submit = sends({ task_id: "t", task_status: "pending" });
	const poll = "GET /v1/status/poll/t?wait=5";
	const input = { sources: [{ kind: "http", url: "https://x/y.pdf" }], options: { do_ocr: false } };

	it("submits, waits by polls, and reads the result once", async () => {
		const states = ["pending", "started", "success"];
		const { output, paths, bodies } = await run("docling", input, {
			"POST /v1/convert/source/async": submit,
			[poll]: (response) => json(response, { task_id: "t", task_status: states.shift() }),
			"GET /v1/result/t": sends({ document: { md_content: "# T" }, status: "success", errors: [] }),
		});
		expect(output).toEqual({ document: { md_content: "# T" }, status: "success", errors: [] });
		expect(paths).toEqual(["POST /v1/convert/source/async", poll, poll, poll, "GET /v1/result/t"]);
		expect(JSON.parse(bodies[0]!)).toEqual(input);
	});

	it("fails for a result with 200 that is a failure, and for a failed task", async () => {
		const failing = {
			"POST /v1/convert/source/async": submit,
			[poll]: sends({ task_status: "success" }),
			"GET /v1/result/t": sends({ document: {}, status: "failure", errors: [{ error_message: "bad PDF" }] }),
		};
		expect((await run("docling", input, failing)).output).toEqual({ error: '[{"error_message":"bad PDF"}]' });
		const failed = { ...failing, [poll]: sends({ task_status: "failure" }) };
		expect((await run("docling", input, failed)).output).toEqual({ error: expect.stringContaining("failure") });
	});

	it("a task that a restarted server does not know is a loss", async () => {
		const { output } = await run("docling", input, {
			"POST /v1/convert/source/async": submit,
			[poll]: sends({ detail: "Task not found." }, 404),
		});
		expect(output).toMatchObject({ name: "JobReturn", loss: true });
	});
});

describe("cog", () => {
	it("puts the prediction under the job's id and run, and its output is the job's", async () => {
		const { output, bodies } = await run(
			"cog",
			{ prompt: "a", seed: 1 },
			{
				"PUT /predictions/7f-1": sends({ id: "7f-1", status: "succeeded", output: ["data:image/png;base64,AA=="] }),
			},
		);
		expect(output).toEqual(["data:image/png;base64,AA=="]);
		expect(JSON.parse(bodies[0]!)).toEqual({ input: { prompt: "a", seed: 1 } });
	});

	it("fails for a failed prediction with 200, and waits for a free slot", async () => {
		const failed = sends({ status: "failed", error: "CUDA out of memory" });
		expect((await run("cog", {}, { "PUT /predictions/7f-1": failed })).output).toEqual({ error: "CUDA out of memory" });
		const busy = await run("cog", {}, { "PUT /predictions/7f-1": sends({}, 409) }, { errors: { busyMs: 1000 } });
		expect(busy.output).toMatchObject({ name: "JobReturn", loss: false });
	});
});

describe("speech", () => {
	it("whisper-asr: sends the audio as a form, and reads JSON that is labelled as text", async () => {
		const { output, paths, bodies } = await run(
			"whisper-asr",
			{ audio: "data:audio/wav;base64,UklGRg==", language: "fi" },
			{ "POST /asr?output=json&language=fi": sendsBody('{"text":"terve"}', "text/plain") },
		);
		expect([output, paths.length]).toEqual([{ text: "terve" }, 1]);
		expect(bodies[0]).toContain('name="audio_file"; filename="audio_file"\r\nContent-Type: audio/wav\r\n\r\nRIFF');
	});

	it("speaches: transcribes with the model of the input", async () => {
		const { output, bodies } = await run(
			"speaches",
			{ audio: "UklGRg==", model: "whisper-1", temperature: 0 },
			{ "POST /v1/audio/transcriptions": sends({ text: "hello" }) },
		);
		expect(output).toEqual({ text: "hello" });
		expect(bodies[0]!.match(/(?<=; )name="\w+"/g)).toEqual(['name="model"', 'name="temperature"', 'name="file"']);
	});

	it("speech: the answer's bytes, and those of a stream", async () => {
		const table = { "POST /v1/audio/speech": sendsBody(Buffer.from("RIFF"), "audio/wav") };
		const whole = { contentType: "audio/wav", bytes: 4, data: "UklGRg==" };
		const { output, bodies } = await run("speech", { input: "hi", voice: "af" }, table);
		expect([output, JSON.parse(bodies[0]!)]).toEqual([whole, { stream: false, input: "hi", voice: "af" }]);
		expect((await run("speech", { input: "hi", stream: true }, table)).output).toEqual(["UklG", "Rg==", whole]);
	});
});

describe("triton", () => {
	it.each([
		[{ model: "resnet", inputs: [] }, "/v2/models/resnet/infer"],
		[{ model: "llm", text_input: "x" }, "/v2/models/llm/generate"],
		[{ model: "llm", text_input: "x", stream: false }, "/v2/models/llm/generate"],
	])("%j goes to %s", async (input, path) => {
		expect((await run("triton", input, { [`POST ${path}`]: sends({ outputs: [] }) })).output).toEqual({ outputs: [] });
	});

	it("streams, and fails for an error after a 200", async () => {
		const table = { "POST /v2/models/m/generate_stream": events('{"text_output":"a"}', '{"error":"oom"}') };
		const { output } = await run("triton", { model: "m", text_input: "x", stream: true }, table);
		expect(output).toEqual([{ text_output: "a" }, { error: "oom" }]);
	});
});

describe("pictures", () => {
	const comfy = (history: object): Record<string, Answer> => ({
		"POST /upload/image": sends({ name: "in.png", subfolder: "", type: "input" }),
		"POST /prompt": sends({ prompt_id: "p-1", number: 1, node_errors: {} }),
		"GET /history/p-1": sends(history),
		"GET /view?filename=a+1.png&subfolder=&type=output": (response) =>
			response.writeHead(200, { "content-disposition": 'filename="a 1.png"', "content-type": "image/png" }).end("PNG"),
	});
	const fast = { async: { everyMs: 10 } };
	/** Of run 1 of job 7f. */
	const ID = "592b5a97-0adc-873b-9f8e-9e87a3a11649";

	it("comfyui: uploads pictures, waits for the history, and fetches what was made", async () => {
		const outputs = {
			9: {
				images: [
					{ filename: "a 1.png", subfolder: "", type: "output" },
					{ filename: "p.png", subfolder: "", type: "temp" },
				],
				seed: [1],
			},
		};
		const histories: object[] = [{}, {}, { "p-1": { outputs, status: { status_str: "success", completed: true } } }];
		const table = { ...comfy({}), "GET /history/p-1": ((response) => json(response, histories.shift())) as Answer };
		const input = { workflow: { 1: { class_type: "X" } }, images: [{ name: "in.png", image: "UE5H" }] };
		const { output, paths, bodies } = await run("comfyui", input, table, fast);
		expect(output).toEqual({
			9: {
				images: [
					{ contentType: "image/png", bytes: 3, name: "a 1.png", data: "UE5H" },
					{ filename: "p.png", subfolder: "", type: "temp" },
				],
				seed: [1],
			},
		});
		expect(paths).toEqual([
			"GET /queue",
			`GET /history/${ID}`,
			"POST /history",
			"POST /upload/image",
			"POST /prompt",
			...Array<string>(3).fill("GET /history/p-1"),
			"GET /view?filename=a+1.png&subfolder=&type=output",
		]);
		expect(JSON.parse(bodies[2]!)).toEqual({ delete: [ID] });
		expect(bodies[3]).toContain('name="image"; filename="in.png"\r\nContent-Type: application/octet-stream\r\n\r\nPNG');
		expect(JSON.parse(bodies[4]!)).toEqual({ prompt: { 1: { class_type: "X" } }, prompt_id: ID, client_id: "7f" });
	});

	it.each<[string, string[], object]>([
		["waits or runs", [], { queue_running: [[7, ID, {}, {}, []]], queue_pending: [] }],
		["is in the history", [`GET /history/${ID}`], { queue_running: [], queue_pending: [] }],
	])("comfyui: a prompt of an earlier attempt that %s is not sent again", async (_where, more, queue) => {
		const history = { [ID]: { outputs: { seed: [1] }, status: { status_str: "success" } } };
		const table = { ...comfy({}), "GET /queue": sends(queue), [`GET /history/${ID}`]: sends(history) };
		const { output, paths } = await run("comfyui", { workflow: {} }, table, fast);
		expect([output, paths]).toEqual([{ seed: [1] }, ["GET /queue", ...more, `GET /history/${ID}`]]);
	});

	it.each<[string, Record<string, Answer>, object]>([
		[
			"an error of a node",
			comfy({ "p-1": { outputs: {}, status: { status_str: "error", messages: [["execution_error", "oom"]] } } }),
			{ error: '[["execution_error","oom"]]' },
		],
		[
			"a workflow that it refuses",
			{ ...comfy({}), "POST /prompt": sends({ error: { type: "no_prompt" } }, 400) },
			{ error: 'HTTP 400: {"error":{"type":"no_prompt"}}' },
		],
		[
			"a file that is missing",
			comfy({ "p-1": { outputs: { type: "output" }, status: { status_str: "success" } } }),
			{ error: "HTTP 404: no such route" },
		],
		[
			"files that are too large together",
			{
				...comfy({ "p-1": { outputs: [{ type: "output" }, { type: "output" }], status: { status_str: "success" } } }),
				"GET /view?type=output": sendsBody("P".repeat(400), "image/png"),
			},
			{ error: "The output with its files is larger than 700 bytes (http.answer.maxBytes)." },
		],
	])("comfyui: %s fails the job", async (_name, table, error) => {
		const { output } = await run("comfyui", { workflow: {} }, table, { ...fast, answer: { maxBytes: 700 } });
		expect(output).toEqual(error);
	});

	it.each<[string, unknown[], number]>([
		["the JSON beside the files", [{ type: "output" }, "x".repeat(300)], 200],
		["what is said of each file", Array<object>(10).fill({ type: "output" }), 10],
	])("comfyui: the bound of an answer counts %s", async (_what, outputs, bytes) => {
		const history = { "p-1": { outputs, status: { status_str: "success" } } };
		const table = { ...comfy(history), "GET /view?type=output": sendsBody("P".repeat(bytes), "image/png") };
		const { output } = await run("comfyui", { workflow: {} }, table, { ...fast, answer: { maxBytes: 480 } });
		expect(output).toEqual({ error: "The output with its files is larger than 480 bytes (http.answer.maxBytes)." });
	});

	it("comfyui: a busy or lost server after the job was done is a loss", async () => {
		const history = { "p-1": { outputs: { type: "output" }, status: { status_str: "success" } } };
		const table = { ...comfy(history), "GET /view?type=output": sends({}, 503) };
		const { output } = await run("comfyui", { workflow: {} }, table, { ...fast, errors: { busyMs: 1000 } });
		expect(output).toMatchObject({ name: "JobReturn", loss: true });
	});

	it("comfyui: images must be a list", async () => {
		expect((await run("comfyui", { workflow: {}, images: "x" }, comfy({}))).output).toEqual({
			error: "input.images must be a list.",
		});
	});

	it("a1111: by what the input has", async () => {
		const made = sends({ images: ["AA=="], parameters: {}, info: "{}" });
		const text = await run("a1111", { prompt: "a" }, { "POST /sdapi/v1/txt2img": made });
		const image = await run("a1111", { init_images: ["AA=="] }, { "POST /sdapi/v1/img2img": made });
		expect([text.output, image.output]).toEqual(Array(2).fill({ images: ["AA=="], parameters: {}, info: "{}" }));
	});

	it("sdcpp: submits, polls, and gives the result", async () => {
		const states = [{ status: "queued" }, { status: "completed", result: { images: [{ b64_json: "AA==" }] } }];
		const { output } = await run(
			"sdcpp",
			{ prompt: "a" },
			{
				"POST /sdcpp/v1/img_gen": sends({ id: "7" }, 202),
				"GET /sdcpp/v1/jobs/7": (response) => json(response, states.shift()),
			},
			{ async: { everyMs: 10 } },
		);
		expect(output).toEqual({ images: [{ b64_json: "AA==" }] });
		const failed = await run(
			"sdcpp",
			{ prompt: "a" },
			{
				"POST /sdcpp/v1/img_gen": sends({ id: "7" }, 202),
				"GET /sdcpp/v1/jobs/7": sends({ status: "failed", error: "no memory" }),
			},
			{ async: { everyMs: 10 } },
		);
		expect(failed.output).toEqual({ error: "no memory" });
	});

	it("comfyui-api: sends the workflow with the job's id", async () => {
		const { output, bodies } = await run(
			"comfyui-api",
			{ prompt: { 1: {} } },
			{
				"POST /prompt": sends({ images: ["AA=="], filenames: ["a.png"] }),
			},
		);
		expect(output).toEqual({ images: ["AA=="], filenames: ["a.png"] });
		expect(JSON.parse(bodies[0]!)).toEqual({ id: "7f", prompt: { 1: {} } });
	});

	it.each([
		["a1111", "POST /sdapi/v1/interrupt"],
		["comfyui-api", "POST /interrupt"],
	])("%s: a cancelled job ends on the server by %s", async (preset, route) => {
		const stop = new AbortController();
		const { run: start, server } = await handlerOf({ preset }, (request, response) => {
			if (request.url.includes("interrupt")) json(response, {});
			else stop.abort();
		});
		await start({ prompt: {} }, stop.signal);
		expect(server.received.map(({ method, url }) => `${method} ${url}`)).toContain(route);
	});
});
