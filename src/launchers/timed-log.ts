/** Output that a platform keeps with times, copied to a worker's log file (`log-files.ts`). */
import { closeSync, existsSync, fstatSync, futimesSync, writeSync } from "node:fs";
import { boundLog, logPath, openLog, startPath } from "./log-files.ts";

export interface TimedLog {
	/** Of the last piece written, s since the epoch; 0 before the first. */
	readonly since: number;
	/** Appends what follows that piece. Each one is an RFC 3339 time, a space, and text. */
	append(pieces: readonly Buffer[]): void;
	close(): void;
}

/**
 * The file's mtime is the time of the last piece: the next service continues there, without gaps or
 * repetitions.
 */
export function timedLog(logDir: string, workerId: string): TimedLog {
	const path = logPath(logDir, workerId);
	const file = openLog(logDir, workerId);
	const { size, mtimeMs } = fstatSync(file);
	let last = size === 0 && !existsSync(startPath(path)) ? 0 : Math.floor(mtimeMs * 1000);
	return {
		get since() {
			return last / 1e6;
		},
		append(pieces) {
			const news = pieces.map(timed).filter(({ at }) => at > last);
			if (news.length === 0) return;
			last = news.at(-1)!.at;
			writeSync(file, Buffer.concat(news.map(({ text }) => text)));
			boundLog(path);
			// Mid-microsecond, so that rounding does not change it.
			futimesSync(file, (last + 0.5) / 1e6, (last + 0.5) / 1e6);
		},
		close: () => closeSync(file),
	};
}

/** `at`: µs since the epoch. */
function timed(piece: Buffer): { at: number; text: Buffer } {
	const space = piece.indexOf(" ");
	const [seconds = "", fraction = ""] = piece.toString("latin1", 0, space).replace("Z", "").split(".");
	return {
		at: Date.parse(`${seconds}Z`) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6)),
		text: piece.subarray(space + 1),
	};
}
