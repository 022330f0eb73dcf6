/** Reads log files of managed workers across rotations. */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { LogLine, LogPart, TimeRange, WorkerLogs } from "../launcher.ts";
import { logMarks, type Mark, markAt, readMarks } from "./log-marks.ts";
import { logPath, logsIn, marksPath, startOf } from "./log-files.ts";
import type { Clock } from "../../system/clock.ts";

const WINDOW_BYTES = 64 * 1024;

/** Longer lines are returned in pieces. */
export const LINE_BYTES = 16 * 1024;

const NEWLINE = 0x0a;

/** One of a log's two files. Holds bytes `from` to `to` of all output. */
interface Segment {
	file: number;
	from: number;
	to: number;
}

export function workerLogs(folders: readonly string[], clock: Clock): WorkerLogs {
	const marks = logMarks(folders, clock);
	const marksOf = cachedMarks();

	/** Opens the files, older first. `read` is synchronous, so no rotation comes in between. */
	function opened<T>(workerId: string, read: (segments: readonly Segment[], path: string) => T): T | undefined {
		for (const folder of folders) {
			const path = logPath(folder, workerId);
			const file = open(path);
			if (file === undefined) continue;
			const old = open(`${path}.old`);
			try {
				const start = startOf(path);
				const current = { file, from: start, to: start + fstatSync(file).size };
				return read(
					old === undefined ? [current] : [{ file: old, from: start - fstatSync(old).size, to: start }, current],
					path,
				);
			} finally {
				closeSync(file);
				if (old !== undefined) closeSync(old);
			}
		}
		return undefined;
	}

	return {
		async extent(workerId, range) {
			if (range) marks.update(workerId);
			return opened(workerId, (segments, path) => {
				const whole = { first: segments[0]!.from, last: segments.at(-1)!.to };
				return range ? partOf(whole, marksOf(path), range) : whole;
			});
		},
		async read({ workerId, from, whole }) {
			// Reads of a long log must not block other work.
			await setImmediate();
			marks.update(workerId);
			const recent = marks.recent(workerId);
			return opened(workerId, (segments, path) => {
				const last = segments.at(-1)!.to;
				const at = Math.min(Math.max(from, segments[0]!.from), last);
				const part = linesOf(bytesAt(segments, at), at, { whole, last });
				const [line] = part.lines;
				if (!line) return part;
				const [mark] = recent;
				const known = mark && mark.position <= line.position ? recent : marksOf(path);
				return {
					...part,
					lines: part.lines.map((line) => ({ ...line, ...detailsOf(known, line) })),
				};
			});
		},
		async list() {
			const found = await Promise.all(folders.map(logsIn));
			return found.flat().map(({ workerId, path, changed }) => {
				// Output of a platform is noted later than it was written.
				const noted = statSync(marksPath(path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
				return { workerId, changed: Math.max(changed, noted) };
			});
		},
		marks,
	};
}

/** Lines after the last mark have no time and belong to any. */
function partOf(
	{ first, last }: { first: number; last: number },
	marks: readonly Mark[],
	{ since = 0, until = Infinity }: TimeRange,
): { first: number; last: number } {
	const later = marks.findIndex(({ time }) => time > until);
	const earlier = marks.findLast(({ time }) => time < since);
	// A line that crosses the border is read from its begin.
	const begin = Math.max(first, (earlier?.position ?? first) - LINE_BYTES);
	return { first: begin, last: later < 0 ? last : Math.max(begin, marks[later - 1]?.position ?? first) };
}

function detailsOf(marks: readonly Mark[], { position }: LogLine): Pick<LogLine, "time" | "job"> {
	const mark = markAt(marks, position);
	if (!mark) return {};
	const { time, jobs } = mark;
	return { time, ...(jobs.length === 1 && { job: jobs[0]! }) };
}

/** A log is read in many pieces, so the last marks are kept. */
function cachedMarks(): (path: string) => readonly Mark[] {
	let last: { key: string; marks: readonly Mark[] } | undefined;
	return (path) => {
		const found = statSync(marksPath(path), { throwIfNoEntry: false });
		const key = `${path} ${found?.size} ${found?.mtimeMs}`;
		if (last?.key !== key) last = { key, marks: found ? readMarks(path) : [] };
		return last.marks;
	};
}

function open(path: string): number | undefined {
	try {
		return openSync(path, "r");
	} catch {
		return undefined;
	}
}

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

function linesOf(bytes: Buffer, start: number, { whole, last }: { whole: boolean; last: number }): LogPart {
	const lines: LogLine[] = [];
	let at = 0;
	while (at < bytes.length) {
		const newline = bytes.subarray(at, at + LINE_BYTES + 1).indexOf(NEWLINE);
		let end = newline < 0 ? at + LINE_BYTES : at + newline;
		if (newline < 0) {
			if (end >= bytes.length && !(whole && start + bytes.length >= last)) break;
			end = Math.min(end, bytes.length);
			// Do not cut inside a UTF-8 character.
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
