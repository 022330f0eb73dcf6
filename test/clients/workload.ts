/**
 * What a worker that runs freely does here: it fails, streams words, or echoes, as its input
 * says.
 */
import type { SdkHandler } from "../support/sdk-worker.ts";

/**
 * `{"fail": true}` raises, `{"words": [...]}` yields each word, anything else comes back as
 * `{"echo": input}`.
 */
export const workload: SdkHandler = ({ input }) => {
	if (input.fail) throw new Error("no such model");
	if (input.words) return (input.words as string[]).values();
	return { echo: input };
};
