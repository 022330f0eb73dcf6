/**
 * The worker of the openai endpoint. It answers as the vLLM worker of RunPod does: events as text
 * cut anywhere, errors inside a sentence.
 */
import { start } from "sluice/worker";
import { ApiError, reply } from "./api.js";

await start({
	aggregate: true,
	concurrency: 4,
	async *handler(job, { signal }) {
		const { openai_route: route, openai_input: body } = job.input;
		try {
			yield* cut(reply(route, body, { id: job.id, now: Date.now(), random: Math.random, signal }));
		} catch (error) {
			if (!(error instanceof ApiError)) throw error;
			yield {
				error: {
					message: `vLLM returned HTTP ${error.status}: ${JSON.stringify(error.body)}`,
					type: "worker_error",
					code: null,
				},
			};
		}
	},
});

/**
 * Passes objects on, and text in pieces that begin and end anywhere, as a proxy reads them from a
 * socket.
 */
async function* cut(items) {
	const sizes = [37, 150, 211, 64];
	let text = "";
	let turn = 0;
	for await (const item of items) {
		if (typeof item !== "string") {
			yield item;
			continue;
		}
		text += item;
		for (let size = sizes[turn % 4]; text.length >= size; size = sizes[turn % 4]) {
			yield text.slice(0, size);
			text = text.slice(size);
			turn += 1;
		}
	}
	if (text !== "") yield text;
}
