/** The answer of a job whose worker sent chunks only (protocol C.2). */
import { isFinal } from "../../kernel/core/jobs/job-states.ts";
import { RESULT_LIMIT } from "../../kernel/core/jobs/report.ts";
import type { StreamPart } from "../../kernel/engine/jobs/stream/stream.ts";
import { outputOf } from "./translation.ts";

/** An error object for chunks over the result limit. */
const TOO_LARGE = JSON.stringify({
	object: "error",
	message: `The worker's stream has more than ${RESULT_LIMIT} bytes, too many for one answer. Set "stream": true.`,
	code: 500,
});

/**
 * The only chunk's output, or a list of all. Undefined without chunks. `read`: chunks from a number on; `grown` is
 * called with the characters that are held.
 */
export async function resultOfChunks(
	read: (from: number) => Promise<Pick<StreamPart, "chunks" | "next" | "state">>,
	grown: (size: number) => void = () => {},
): Promise<string | undefined> {
	const outputs: string[] = [];
	let size = 0;
	for (let from = 0; ; ) {
		const found = await read(from);
		for (const chunk of found.chunks) {
			const output = outputOf(chunk);
			outputs.push(output);
			size += output.length;
		}
		grown(size);
		if (size > RESULT_LIMIT) return TOO_LARGE;
		from = found.next;
		if (isFinal(found.state) || found.chunks.length === 0) break;
	}
	return outputs.length > 1 ? `[${outputs.join(",")}]` : outputs[0];
}
