/**
 * A worker on the built worker kit whose jobs do as their input says ({@link Act}). It waits for
 * files in the folder `STAGE`, by which a test lets it go on.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { start as Start } from "../../../packages/worker/src/index.ts";

/** How a job behaves; all members may be absent. */
export interface Act {
	/** A line for the worker's log, before all else. */
	log?: string;
	/**
	 * Given out one by one. One that is `{ until: word }` is none, but waits for {@link Act.until}'s
	 * kind of word.
	 */
	chunks?: unknown[];
	/** Runs until a file of this name is there. */
	until?: string;
	/** Fails with this text, unless the file `mended` is there. */
	fail?: string;
	/** The output. */
	output?: unknown;
	/** Of jobs from `/openai/*`. */
	openai_route?: string;
	openai_input?: { messages?: readonly { content: string }[] };
}

const kit = new URL("../../../dist/worker/index.js", import.meta.url).href;
const { start } = (await import(kit)) as { start: typeof Start };
const folder = process.env["STAGE"]!;

async function wait(word: string, signal: AbortSignal): Promise<void> {
	while (!existsSync(join(folder, word))) await sleep(20, undefined, { signal });
}

async function* give(chunks: readonly unknown[], signal: AbortSignal): AsyncGenerator<unknown> {
	for (const chunk of chunks) {
		const word = (chunk as { until?: string } | null)?.until;
		if (word === undefined) yield chunk;
		else await wait(word, signal);
	}
}

/**
 * OpenAI's API: the answer is how many messages there are, and the words of the last one, one by one.
 * The word `until:WORD` waits, `fail` fails.
 */
async function* converse(
	route: string,
	messages: readonly { content: string }[],
	signal: AbortSignal,
): AsyncGenerator<unknown> {
	if (route === "/v1/models") return yield { data: [{ id: "echo-1", object: "model" }] };
	const event = (content: string, rest = {}): string =>
		`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }], ...rest })}\n\n`;
	yield event(`${messages.length}:`);
	for (const word of messages.at(-1)!.content.split(" "))
		if (word.startsWith("until:")) await wait(word.slice(6), signal);
		else if (word === "fail") return yield { error: { message: "The model is broken." } };
		else yield event(` ${word}`);
	yield event("", { usage: { completion_tokens: 42 } });
	yield "data: [DONE]\n\n";
}

await start<Act>({
	concurrency: 4,
	aggregate: true,
	async handler({ input }, { signal, log: write }) {
		const { log, chunks, until, fail, output, openai_route: route } = input;
		if (route !== undefined) return converse(route, input.openai_input?.messages ?? [], signal);
		if (log !== undefined) write(log);
		if (chunks !== undefined) return give(chunks, signal);
		if (until !== undefined) await wait(until, signal);
		if (fail !== undefined && !existsSync(join(folder, "mended"))) throw new Error(fail);
		return output ?? { done: true };
	},
});
