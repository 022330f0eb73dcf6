/**
 * A job's input for each preset, as the console and `sluice init` propose it. It is not among the members of presets,
 * since the adapter needs none.
 */

const CHAT = { messages: [{ role: "user", content: "Say hello." }], max_tokens: 64 };

/** In the API format. Its nodes are part of ComfyUI and need no model. */
const WORKFLOW = {
	"1": { class_type: "EmptyImage", inputs: { width: 512, height: 512, batch_size: 1, color: 4_620_980 } },
	"2": { class_type: "SaveImage", inputs: { images: ["1", 0], filename_prefix: "sluice" } },
};

/** 11 s of speech in English, from the examples of whisper.cpp. */
const SPEECH = "https://raw.githubusercontent.com/ggml-org/whisper.cpp/master/samples/jfk.wav";

const PICTURE = { prompt: "a heron at dawn", width: 512, height: 512 };

/** Presets for any server have none: `raw`. */
export const EXAMPLE_INPUTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
	openai: { model: "MODEL", ...CHAT },
	vllm: CHAT,
	nim: { model: "meta/llama-3.1-8b-instruct", ...CHAT },
	sglang: CHAT,
	llamacpp: CHAT,
	ollama: { model: "llama3.2", prompt: "Say hello." },
	tgi: { inputs: "What is a heron?", parameters: { max_new_tokens: 64 } },
	docling: { sources: [{ kind: "http", url: "https://arxiv.org/pdf/2408.09869" }] },
	cog: { prompt: "a heron at dawn" },
	"whisper-asr": { audio: SPEECH, language: "en" },
	speaches: { audio: SPEECH, model: "Systran/faster-whisper-small" },
	speech: { model: "kokoro", voice: "af_heart", input: "Hello." },
	tei: { inputs: ["a heron", "a swan"] },
	infinity: { model: "BAAI/bge-small-en-v1.5", input: ["a heron", "a swan"] },
	triton: { model: "MODEL", inputs: [{ name: "INPUT", shape: [1, 2], datatype: "FP32", data: [0.5, 1.5] }] },
	comfyui: { workflow: WORKFLOW },
	a1111: { ...PICTURE, steps: 20 },
	sdcpp: PICTURE,
	"comfyui-api": { prompt: WORKFLOW },
	"vllm-omni": { prompt: "a heron at dawn", size: "832x480", seconds: "4" },
};
