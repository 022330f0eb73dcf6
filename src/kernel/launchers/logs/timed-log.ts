/** Copies output that a platform keeps with times to a worker's log file. */
import { fileCalls } from "../../system/file-calls.ts";
import { boundLog, LOG_BYTES, logPath, openLog, startOf } from "./log-files.ts";
import { type LogSource, openSource } from "./log-sources.ts";
import type { Piece } from "../platform-streams.ts";

/** `source`: the program of the worker whose output this is, if the platform keeps that of several apart. */
export interface LogTarget {
	logDir: string;
	workerId: string;
	source?: LogSource | undefined;
}

/**
 * Resolves when the output ends or `signal` aborts. Rejects if the platform fails. `open` takes a time, s since the
 * epoch, or 0 for the first line.
 */
export async function copyToLog(
	{ logDir, workerId, source, signal }: LogTarget & { signal: AbortSignal },
	open: (since: number) => Promise<AsyncIterable<Piece[]>>,
): Promise<void> {
	const log = await timedLog(logDir, workerId, source);
	try {
		for await (const pieces of await open(log.since)) await log.append(pieces);
	} catch (error) {
		if (!signal.aborted) throw error;
	} finally {
		log.close();
	}
}

/**
 * The next service continues after the time of the last line. Only a very long unfinished line is repeated. That time
 * is the file's mtime, or for a `source` in a file of its own, since others change the mtime.
 */
export async function timedLog(logDir: string, workerId: string, source?: LogSource) {
	const path = logPath(logDir, workerId);
	const file = await openLog(logDir, workerId);
	let own: Awaited<ReturnType<typeof openSource>> | undefined;
	/** The bytes of the log, and the time of the last line that was copied, µs since the epoch. */
	async function earlier(): Promise<{ bytes: number; known: number }> {
		const { size: bytes, mtimeMs } = await fileCalls.run(path, () => file.stat());
		const isNew = bytes === 0 && (await startOf(path)) === 0;
		own = source && (await openSource(path, source));
		return { bytes, known: own ? await own.time() : isNew ? 0 : Math.floor(mtimeMs * 1000) };
	}
	const { bytes: found, known } = await earlier().catch(async (error: unknown) => {
		own?.close();
		await fileCalls.run(path, () => file.close()).catch(() => {});
		throw error;
	});
	let size = found;
	let last = known;
	let at = 0;
	return {
		/** Time of the last whole line, s since the epoch. 0 before the first. */
		get since() {
			return last / 1e6;
		},
		/** Appends lines newer than the first `since`. Each is an RFC 3339 time, a space, and text. */
		async append(pieces: readonly Piece[]): Promise<void> {
			const news: Buffer[] = [];
			for (const { bytes, begins, ends } of pieces) {
				if (begins) at = timeOf(bytes);
				if (Number.isNaN(at) || at <= known) continue;
				news.push(begins ? bytes.subarray(bytes.indexOf(" ") + 1) : bytes);
				// An unfinished line must be read again.
				last = Math.max(last, ends ? at : at - 1);
			}
			if (news.length === 0) return;
			const bytes = Buffer.concat(news);
			await fileCalls.run(path, () => file.writeFile(bytes));
			size += bytes.length;
			if (size > LOG_BYTES && (await boundLog(path))) size = 0;
			if (own) return await own.setTime(last);
			// Mid-microsecond, which rounding does not change.
			const time = (last + 0.5) / 1e6;
			await fileCalls.run(path, () => file.utimes(time, time));
		},
		close() {
			file.close().catch(() => {});
			own?.close();
		},
	};
}

/** µs since the epoch. NaN without a time. */
function timeOf(line: Buffer): number {
	const [seconds = "", fraction = ""] = line.toString("latin1", 0, line.indexOf(" ")).replace("Z", "").split(".");
	return Date.parse(`${seconds}Z`) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}
