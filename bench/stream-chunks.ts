/** The chunks of the benchmark of streams: events of a chat, each with the time at which it was made. */
import { setTimeout as sleep } from "node:timers/promises";

/** `everyMs`: 0 for as fast as they are taken. */
export interface StreamInput {
	chunks: number;
	everyMs: number;
}

export async function* events({ chunks, everyMs }: StreamInput): AsyncGenerator<string> {
	for (let number = 0; number < chunks; number += 1) {
		if (everyMs > 0) await sleep(everyMs);
		const at = performance.timeOrigin + performance.now();
		yield `data: {"at":${at},"choices":[{"delta":{"content":"token ${number} "}}]}\n\n`;
	}
}
