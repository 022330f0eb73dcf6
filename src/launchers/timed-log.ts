/** Output that a platform keeps with times, copied to a worker's log file (`log-files.ts`). */
import { closeSync, existsSync, fstatSync, futimesSync, writeSync } from "node:fs";
import { boundLog, logPath, openLog, startPath } from "./log-files.ts";
import type { Piece } from "./platform-streams.ts";

export interface TimedLog {
	/** Time of the last line that was written whole, s since the epoch; 0 before the first. */
	readonly since: number;
	/** Appends what is newer than `since` was at first. Each line is an RFC 3339 time, a space, and text. */
	append(pieces: readonly Piece[]): void;
	close(): void;
}

/**
 * The file's mtime is the time of the last line: the next service continues there, without gaps or
 * repetitions, except that it repeats a very long line that it finds unfinished.
 */
export function timedLog(logDir: string, workerId: string): TimedLog {
	const path = logPath(logDir, workerId);
	const file = openLog(logDir, workerId);
	const { size, mtimeMs } = fstatSync(file);
	const known = size === 0 && !existsSync(startPath(path)) ? 0 : Math.floor(mtimeMs * 1000);
	let last = known;
	/** Time of the current line. */
	let at = 0;
	return {
		get since() {
			return last / 1e6;
		},
		append(pieces) {
			const news: Buffer[] = [];
			for (const { bytes, begins, ends } of pieces) {
				if (begins) at = timeOf(bytes);
				if (Number.isNaN(at) || at <= known) continue;
				news.push(begins ? bytes.subarray(bytes.indexOf(" ") + 1) : bytes);
				// A line that goes on is not over.
				last = Math.max(last, ends ? at : at - 1);
			}
			if (news.length === 0) return;
			writeSync(file, Buffer.concat(news));
			boundLog(path);
			// Mid-microsecond, so that rounding does not change it.
			futimesSync(file, (last + 0.5) / 1e6, (last + 0.5) / 1e6);
		},
		close: () => closeSync(file),
	};
}

/** µs since the epoch; NaN without a time. */
function timeOf(line: Buffer): number {
	const [seconds = "", fraction = ""] = line.toString("latin1", 0, line.indexOf(" ")).replace("Z", "").split(".");
	return Date.parse(`${seconds}Z`) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}
