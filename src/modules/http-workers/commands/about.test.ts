/** What `sluice connect` says about a server: answers as they are recorded of it, and of one that answers otherwise. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { foundText } from "./about.ts";

const servers: Server[] = [];
afterEach(async () => {
	for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
});

/** Starts a server with answers by path; others are 404. Resolves with its address and the paths that it was asked. */
async function serverOf(answers: Readonly<Record<string, string>>): Promise<{ url: string; asked: string[] }> {
	const asked: string[] = [];
	const server = createServer(({ url = "" }, response) => {
		asked.push(url);
		response.writeHead(url in answers ? 200 : 404).end(answers[url] ?? "no such route");
	});
	servers.push(server);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const MODELS = '{"object":"list","data":[{"id":"Qwen/Qwen3-8B","object":"model"},{"id":"second"}]}';
const INFO = '{"model_id":"BAAI/bge-m3","model_sha":null,"version":"1.8.2"}';

describe("what connect found", () => {
	it.each<[string, Record<string, string>, string]>([
		["raw", {}, "HTTP server"],
		["openai", { "/v1/models": MODELS }, "Server with OpenAI's API with Qwen/Qwen3-8B"],
		["vllm", { "/version": '{"version":"0.9.1"}', "/v1/models": MODELS }, "vLLM 0.9.1 with Qwen/Qwen3-8B"],
		["nim", { "/v1/models": MODELS }, "NIM with Qwen/Qwen3-8B"],
		["sglang", { "/get_model_info": '{"model_path":"m/x","is_generation":true}' }, "SGLang with m/x"],
		["llamacpp", { "/v1/models": '{"data":[{"id":"/models/q.gguf"}]}' }, "llama.cpp with /models/q.gguf"],
		["ollama", { "/api/version": '{"version":"0.12.3"}' }, "Ollama 0.12.3"],
		["tgi", { "/info": INFO }, "Text Generation Inference 1.8.2 with BAAI/bge-m3"],
		["tei", { "/info": INFO }, "Text Embeddings Inference 1.8.2 with BAAI/bge-m3"],
		["infinity", { "/models": '{"data":[{"id":"bge"}]}' }, "Infinity with bge"],
		["triton", { "/v2": '{"name":"triton","version":"2.61.0","extensions":[]}' }, "Triton 2.61.0"],
		["cog", { "/": '{"cog_version":"0.16.9","docs_url":"/docs"}' }, "Cog 0.16.9"],
		["comfyui", { "/system_stats": '{"system":{"comfyui_version":"0.3.40"},"devices":[]}' }, "ComfyUI 0.3.40"],
		["a1111", { "/sdapi/v1/options": '{"sd_model_checkpoint":"xl"}' }, "Stable Diffusion web UI with xl"],
		["whisper-asr", {}, "whisper-asr-webservice"],
		["speaches", {}, "speaches"],
	])("D36: %s", async (preset, answers, what) => {
		const { url, asked } = await serverOf(answers);
		expect(await foundText(preset, `${url}/`)).toBe(`${what} at ${url}/, ready`);
		expect(asked.toSorted()).toEqual(Object.keys(answers).toSorted());
	});

	it.each([
		["a route that it lacks", {}],
		["an answer that is no JSON", { "/version": "<html>", "/v1/models": "" }],
		["other types", { "/version": '{"version":9}', "/v1/models": '{"data":{"0":{"id":[]}}}' }],
		["no member", { "/version": "null", "/v1/models": '{"data":[]}' }],
		["an answer above the bound", { "/version": `{"version":"${"9".repeat(70_000)}"}` }],
	])("D36: says only the name for %s", async (_name, answers) => {
		const { url } = await serverOf(answers as Record<string, string>);
		expect(await foundText("vllm", url)).toBe(`vLLM at ${url}, ready`);
	});

	it("D36: names are cut, and cannot control the terminal", async () => {
		const { url } = await serverOf({ "/version": JSON.stringify({ version: `1\u001b[2J${"x".repeat(500)}` }) });
		expect(await foundText("vllm", url)).toBe(`vLLM 1?[2J${"x".repeat(95)} at ${url}, ready`);
	});

	it("D36: follows no redirect", async () => {
		const { url: other, asked } = await serverOf({ "/version": '{"version":"elsewhere"}' });
		const server = createServer((_request, response) =>
			response.writeHead(302, { location: `${other}/version` }).end(),
		);
		servers.push(server);
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
		expect(await foundText("vllm", url)).toBe(`vLLM at ${url}, ready`);
		expect(asked).toEqual([]);
	});
});
