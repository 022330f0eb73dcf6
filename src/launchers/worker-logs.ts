/** Reads log files of managed workers, running or ended, across rotations. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { LogLine, LogPart, WorkerLogs } from "./launcher.ts";
import { logPath, startOf } from "./log-files.ts";

/** Bytes per read. */
const WINDOW_BYTES = 64 * 1024;

/** Longer lines are returned in pieces. */
export const LINE_BYTES = 16 * 1024;

const NEWLINE = 0x0a;

/** One of a log's two open files: bytes `from` to `to` of all output. */
interface Segment {
	file: number;
	from: number;
	to: number;
}

/** `folders`: one per launcher. */
export function workerLogs(folders: readonly string[]): WorkerLogs {
	/** Opens a worker's files, older first. `read` is synchronous: no rotation in between. */
	function opened<T>(workerId: string, read: (segments: readonly Segment[]) => T): T | undefined {
		for (const folder of folders) {
			const path = logPath(folder, workerId);
			const file = open(path);
			if (file === undefined) continue;
			const old = open(`${path}.old`);
			try {
				const start = startOf(path);
				const current = { file, from: start, to: start + fstatSync(file).size };
				return read(
					old === undefined
						? [current]
						: [{ file: old, from: start - fstatSync(old).size, to: start }, current],
				);
			} finally {
				closeSync(file);
				if (old !== undefined) closeSync(old);
			}
		}
		return undefined;
	}

	return {
		extent: async (workerId) =>
			opened(workerId, (segments) => ({ first: segments[0]!.from, last: segments.at(-1)!.to })),
		async read({ workerId, from, whole }) {
			// Reads of a long log must not block other work.
			await setImmediate();
			return opened(workerId, (segments) => {
				const last = segments.at(-1)!.to;
				const at = Math.min(Math.max(from, segments[0]!.from), last);
				return linesOf(bytesAt(segments, at), at, { whole, last });
			});
		},
	};
}

function open(path: string): number | undefined {
	try {
		return openSync(path, "r");
	} catch {
		return undefined;
	}
}

/** At most one window. */
function bytesAt(segments: readonly Segment[], position: number): Buffer {
	const parts: Buffer[] = [];
	let at = position;
	for (const { file, from, to } of segments) {
		const length = Math.min(to - at, position + WINDOW_BYTES - at);
		if (length <= 0) continue;
		const bytes = Buffer.alloc(length);
		const read = readSync(file, bytes, 0, length, at - from);
		parts.push(bytes.subarray(0, read));
		at += read;
	}
	return Buffer.concat(parts);
}

function linesOf(
	bytes: Buffer,
	start: number,
	{ whole, last }: { whole: boolean; last: number },
): LogPart {
	const lines: LogLine[] = [];
	let at = 0;
	while (at < bytes.length) {
		const newline = bytes.subarray(at, at + LINE_BYTES + 1).indexOf(NEWLINE);
		let end = newline < 0 ? at + LINE_BYTES : at + newline;
		if (newline < 0) {
			// An unfinished last line.
			if (end >= bytes.length && !(whole && start + bytes.length >= last)) break;
			end = Math.min(end, bytes.length);
			// Not inside a character.
			while (end < bytes.length && end > at + 1 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
		}
		const next = newline < 0 ? end : end + 1;
		lines.push({
			text: bytes.toString("utf8", at, end).replace(/\r$/, ""),
			position: start + next,
		});
		at = next;
	}
	return { lines, next: start + at, end: start + bytes.length >= last };
}
