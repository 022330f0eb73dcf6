import { setTimeout } from "node:timers/promises";

/**
 * In place of a language model: words of the prompt, one after another. Replace `generate` with calls
 * of your engine, such as `fetch` to the port of a vLLM server.
 */
const PAUSE_MS = 30;

/** Yields tokens. */
export async function* generate(prompt, { maxTokens = 32, signal }) {
	const words = prompt.split(/\s+/).filter((word) => word !== "");
	for (let index = 0; index < Math.min(maxTokens, 2 * words.length); index += 1) {
		await setTimeout(PAUSE_MS, undefined, { signal });
		yield `${index === 0 ? "" : " "}${words[index % words.length]}`;
	}
}
