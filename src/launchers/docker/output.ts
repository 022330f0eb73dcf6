/** Copies a container's output from the daemon to the worker's log file, which outlives it. */
import { closeSync, existsSync, fstatSync, futimesSync, writeSync } from "node:fs";
import type { Daemon } from "./daemon.ts";
import { boundLog, logPath, openLog, startPath } from "../log-files.ts";

/** Kind of stream, three zeros, length. */
const HEADER_BYTES = 8;

/**
 * Copies until the container ends or `signal` aborts; rejects if the daemon fails. The file's mtime
 * is the time of the last line: the next service continues there.
 */
export async function copyOutput(
	daemon: Daemon,
	container: string,
	q: { logDir: string; workerId: string; signal: AbortSignal },
): Promise<void> {
	const path = logPath(q.logDir, q.workerId);
	const file = openLog(q.logDir, q.workerId);
	try {
		const { size, mtimeMs } = fstatSync(file);
		let last = size === 0 && !existsSync(startPath(path)) ? 0 : Math.floor(mtimeMs * 1000);
		const stream = await daemon.logs(container, { since: last / 1e6, signal: q.signal });
		for await (const pieces of framesOf(stream)) {
			const news = pieces.map(timed).filter(({ at }) => at > last);
			if (news.length === 0) continue;
			last = news.at(-1)!.at;
			writeSync(file, Buffer.concat(news.map(({ text }) => text)));
			boundLog(path);
			// Mid-microsecond, so that rounding does not change it.
			futimesSync(file, (last + 0.5) / 1e6, (last + 0.5) / 1e6);
		}
	} catch (error) {
		if (!q.signal.aborted) throw error;
	} finally {
		closeSync(file);
	}
}

/** Complete frames per chunk. */
async function* framesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer[]> {
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

/** `at`: µs since the epoch. */
function timed(piece: Buffer): { at: number; text: Buffer } {
	const space = piece.indexOf(" ");
	const [seconds = "", fraction = ""] = piece
		.toString("latin1", 0, space)
		.replace("Z", "")
		.split(".");
	return {
		at: Date.parse(`${seconds}Z`) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6)),
		text: piece.subarray(space + 1),
	};
}
