/** What `sluice connect` found at a URL: kind, version and model of the server, as far as the server says. */
import { parseJson } from "../../../cli/client/service-client.ts";
import { isObject } from "../../../kernel/lib/schema.ts";
import { printable } from "../../../kernel/lib/terminal-text.ts";

/** A GET of `path`, and where its JSON has version and model. */
interface AboutCall {
	path: string;
	version?: readonly string[];
	model?: readonly string[];
}

const MODELS: AboutCall = { path: "/v1/models", model: ["data", "0", "id"] };
const INFO: AboutCall = { path: "/info", version: ["version"], model: ["model_id"] };

/**
 * Names of the servers of presets, and what says more about them. Only calls that neither load a model nor wake one
 * that sleeps.
 */
const ABOUT: Readonly<Record<string, { name: string; calls: readonly AboutCall[] }>> = {
	raw: { name: "HTTP server", calls: [] },
	openai: { name: "Server with OpenAI's API", calls: [MODELS] },
	vllm: { name: "vLLM", calls: [{ path: "/version", version: ["version"] }, MODELS] },
	nim: { name: "NIM", calls: [MODELS] },
	sglang: { name: "SGLang", calls: [{ path: "/get_model_info", model: ["model_path"] }] },
	llamacpp: { name: "llama.cpp", calls: [MODELS] },
	// It names no model: one is loaded by the first job that asks for it.
	ollama: { name: "Ollama", calls: [{ path: "/api/version", version: ["version"] }] },
	tgi: { name: "Text Generation Inference", calls: [INFO] },
	tei: { name: "Text Embeddings Inference", calls: [INFO] },
	infinity: { name: "Infinity", calls: [{ path: "/models", model: ["data", "0", "id"] }] },
	triton: { name: "Triton", calls: [{ path: "/v2", version: ["version"] }] },
	docling: { name: "docling-serve", calls: [] },
	cog: { name: "Cog", calls: [{ path: "/", version: ["cog_version"] }] },
	comfyui: { name: "ComfyUI", calls: [{ path: "/system_stats", version: ["system", "comfyui_version"] }] },
	a1111: { name: "Stable Diffusion web UI", calls: [{ path: "/sdapi/v1/options", model: ["sd_model_checkpoint"] }] },
	sdcpp: { name: "stable-diffusion.cpp", calls: [] },
	// No route answers while it transcribes.
	"whisper-asr": { name: "whisper-asr-webservice", calls: [] },
	speech: { name: "Speech server", calls: [] },
};

const TIMEOUT_MS = 3000;
/** Characters. */
const MAX_BODY = 65_536;
const MAX_VALUE = 100;

/**
 * Such as `vLLM 0.9.1 with Qwen/Qwen3-8B at http://127.0.0.1:8000, ready`. Never rejects. Sends no credentials: a
 * server that asks for them does not say its version.
 */
export async function foundText(preset: string, url: string): Promise<string> {
	const { name, calls } = ABOUT[preset] ?? { name: preset, calls: [] };
	const answers = await Promise.all(
		calls.map(async ({ path, version, model }) => {
			const value = await jsonAt(url.replace(/\/$/, "") + path).catch(() => undefined);
			return { version: textAt(value, version), model: textAt(value, model) };
		}),
	);
	const version = answers.find((each) => each.version !== undefined)?.version;
	const model = answers.find((each) => each.model !== undefined)?.model;
	const what = [name, ...(version === undefined ? [] : [version]), ...(model === undefined ? [] : [`with ${model}`])];
	return `${what.join(" ")} at ${url}, ready`;
}

async function jsonAt(url: string): Promise<unknown> {
	const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
	let text = "";
	for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
		text += piece;
		if (text.length > MAX_BODY) return undefined;
	}
	return parseJson(text);
}

function textAt(value: unknown, members: readonly string[] | undefined): string | undefined {
	if (!members) return undefined;
	let found = value;
	for (const member of members) {
		if (!isObject(found) && !Array.isArray(found)) return undefined;
		found = Object.hasOwn(found, member) ? (found as Record<string, unknown>)[member] : undefined;
	}
	return typeof found === "string" ? printable(found.slice(0, MAX_VALUE)) : undefined;
}
