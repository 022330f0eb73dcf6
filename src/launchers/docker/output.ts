/** Copies a container's output from the daemon to the worker's log file, which outlives it. */
import { timedLog } from "../timed-log.ts";
import type { Daemon } from "./daemon.ts";

/** Kind of stream, three zeros, length. */
const HEADER_BYTES = 8;

/** Copies until the container ends or `signal` aborts; rejects if the daemon fails. */
export async function copyOutput(
	daemon: Daemon,
	container: string,
	q: { logDir: string; workerId: string; signal: AbortSignal },
): Promise<void> {
	const log = timedLog(q.logDir, q.workerId);
	try {
		const stream = await daemon.logs(container, { since: log.since, signal: q.signal });
		for await (const pieces of framesOf(stream)) log.append(pieces);
	} catch (error) {
		if (!q.signal.aborted) throw error;
	} finally {
		log.close();
	}
}

/** Complete frames per chunk of the multiplexed stream. */
export async function* framesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer[]> {
	let left: Buffer = Buffer.alloc(0);
	for await (const chunk of stream) {
		const bytes = Buffer.concat([left, chunk]);
		const pieces: Buffer[] = [];
		let at = 0;
		while (bytes.length >= at + HEADER_BYTES) {
			const end = at + HEADER_BYTES + bytes.readUInt32BE(at + 4);
			if (end > bytes.length) break;
			pieces.push(bytes.subarray(at + HEADER_BYTES, end));
			at = end;
		}
		left = bytes.subarray(at);
		yield pieces;
	}
}
