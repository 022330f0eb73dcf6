/**
 * The worker of `job-cost.ts`: answers what it was given, in one piece or in `chunks`; with `fail` it
 * fails at the first attempt of each job.
 */
import { start } from "../../packages/worker/src/index.ts";
import type { Input } from "./jobs.ts";

const failed = new Set<string>();

function* chunksOf({ prompt, chunks = 1 }: Input): Generator<string> {
	const length = Math.ceil(prompt.length / chunks);
	for (let at = 0; at < prompt.length; at += length) yield prompt.slice(at, at + length);
}

await start<Input>({
	handler: ({ id, input }) => {
		if (input.fail && !failed.delete(id)) {
			failed.add(id);
			throw new Error("the first attempt fails");
		}
		return input.chunks ? chunksOf(input) : input;
	},
	concurrency: 128,
});
