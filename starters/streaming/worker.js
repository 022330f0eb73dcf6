import { start } from "sluice-worker";
import { generate } from "./model.js";

const MODEL = "echo-1";

await start({
	// Many streams at once, as an engine that batches wants them.
	concurrency: 8,
	// The output of the job is the list of all chunks.
	aggregate: true,
	async *handler(job, { signal }) {
		const { openai_route: route, openai_input: body } = job.input;
		if (route === undefined) {
			const { prompt = "", max_tokens: maxTokens } = job.input;
			for await (const token of generate(prompt, { maxTokens, signal })) yield { token };
		} else yield* openai(route, body, { id: job.id, signal });
	},
});

/** OpenAI's API: clients use the base address /v2/ENDPOINT/openai/v1. */
async function* openai(route, body, { id, signal }) {
	if (route === "/v1/models") {
		yield { object: "list", data: [{ id: MODEL, object: "model" }] };
		return;
	}
	if (route !== "/v1/chat/completions") {
		yield { error: { message: `There is no ${route} here.`, type: "invalid_request_error" } };
		return;
	}
	const prompt = body.messages.at(-1)?.content ?? "";
	const tokens = generate(prompt, { maxTokens: body.max_tokens, signal });
	const common = { id: `chatcmpl-${id}`, created: Math.floor(Date.now() / 1000), model: MODEL };
	if (!body.stream) {
		let content = "";
		for await (const token of tokens) content += token;
		const message = { role: "assistant", content };
		const choices = [{ index: 0, message, finish_reason: "stop" }];
		yield { ...common, object: "chat.completion", choices };
		return;
	}
	const event = (delta, finish_reason = null) => {
		const choices = [{ index: 0, delta, finish_reason }];
		return `data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", choices })}\n\n`;
	};
	for await (const content of tokens) yield event({ content });
	yield event({}, "stop");
	yield "data: [DONE]\n\n";
}
