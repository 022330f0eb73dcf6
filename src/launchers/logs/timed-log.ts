/** Copies output that a platform keeps with times to a worker's log file. */
import { closeSync, existsSync, fstatSync, futimesSync, writeSync } from "node:fs";
import { boundLog, logPath, openLog, startPath } from "./log-files.ts";
import type { Piece } from "../platform-streams.ts";

/**
 * Resolves when the output ends or `signal` aborts. Rejects if the platform fails. `open` takes a time, s since the
 * epoch, or 0 for the first line.
 */
export async function copyToLog(
	{ logDir, workerId, signal }: { logDir: string; workerId: string; signal: AbortSignal },
	open: (since: number) => Promise<AsyncIterable<Piece[]>>,
): Promise<void> {
	const log = timedLog(logDir, workerId);
	try {
		for await (const pieces of await open(log.since)) log.append(pieces);
	} catch (error) {
		if (!signal.aborted) throw error;
	} finally {
		log.close();
	}
}

/**
 * The file's mtime is the time of the last line, where the next service continues. Only a very long unfinished line
 * is repeated.
 */
export function timedLog(logDir: string, workerId: string) {
	const path = logPath(logDir, workerId);
	const file = openLog(logDir, workerId);
	const { size, mtimeMs } = fstatSync(file);
	const known = size === 0 && !existsSync(startPath(path)) ? 0 : Math.floor(mtimeMs * 1000);
	let last = known;
	let at = 0;
	return {
		/** Time of the last whole line, s since the epoch. 0 before the first. */
		get since() {
			return last / 1e6;
		},
		/** Appends lines newer than the first `since`. Each is an RFC 3339 time, a space, and text. */
		append(pieces: readonly Piece[]): void {
			const news: Buffer[] = [];
			for (const { bytes, begins, ends } of pieces) {
				if (begins) at = timeOf(bytes);
				if (Number.isNaN(at) || at <= known) continue;
				news.push(begins ? bytes.subarray(bytes.indexOf(" ") + 1) : bytes);
				// An unfinished line must be read again.
				last = Math.max(last, ends ? at : at - 1);
			}
			if (news.length === 0) return;
			writeSync(file, Buffer.concat(news));
			boundLog(path);
			// Mid-microsecond, which rounding does not change.
			futimesSync(file, (last + 0.5) / 1e6, (last + 0.5) / 1e6);
		},
		close: () => closeSync(file),
	};
}

/** µs since the epoch. NaN without a time. */
function timeOf(line: Buffer): number {
	const [seconds = "", fraction = ""] = line.toString("latin1", 0, line.indexOf(" ")).replace("Z", "").split(".");
	return Date.parse(`${seconds}Z`) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}
