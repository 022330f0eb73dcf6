/** A worker that streams events (`stream.ts`). */
import { start } from "../packages/worker/src/index.ts";
import { events, type StreamInput } from "./stream-chunks.ts";

await start({
	async *handler({ input }: { input: { openai_input?: StreamInput } }) {
		if (input.openai_input) yield* events(input.openai_input);
		yield "data: [DONE]\n\n";
	},
	concurrency: 256,
});
