/** Reads log files of managed workers across rotations. */
import { type FileHandle, stat } from "node:fs/promises";
import { fileCalls } from "../../system/file-calls.ts";
import { LINE_BYTES, type LogLine, type LogPart, type TimeRange, type WorkerLogs } from "../launcher.ts";
import { logMarks } from "./log-marks.ts";
import {
	bytesOf,
	inTurn,
	type LogPlace,
	logPath,
	marksPath,
	oldPath,
	placeOf,
	reading,
	startOf,
	tail,
} from "./log-files.ts";
import { type Mark, markAt, readMarks } from "./mark-file.ts";
import { logsIn } from "./old-logs.ts";
import type { Clock } from "../../system/clock.ts";

const WINDOW_BYTES = 64 * 1024;

const NEWLINE = 0x0a;

/** One of a log's two files. Holds bytes `from` to `to` of all output. */
interface Segment {
	place: LogPlace;
	handle: FileHandle;
	from: number;
	to: number;
}

export function workerLogs(folders: readonly string[], clock: Clock): WorkerLogs {
	const marks = logMarks(folders, clock);
	const marksOf = cachedMarks();

	/** Undefined also for a log that cannot be read, such as one of a folder that hangs. */
	async function opened<T>(workerId: string, read: (of: readonly Segment[], path: string) => Promise<T>) {
		for (const folder of folders) {
			const path = logPath(folder, workerId);
			const place = await placeOf(path).catch(() => undefined);
			if (!place) continue;
			// A rotation in between would change positions.
			return await inTurn(path, () => withSegments(place, (segments) => read(segments, path))).catch(() => undefined);
		}
		return undefined;
	}

	return {
		async extent(workerId, range) {
			if (range) await marks.update(workerId);
			return await opened(workerId, async (segments, path) => {
				const whole = { first: segments[0]!.from, last: segments.at(-1)!.to };
				return range ? partOf(whole, await marksOf(path), range) : whole;
			});
		},
		async read({ workerId, from, whole }) {
			await marks.update(workerId);
			const recent = marks.recent(workerId);
			return await opened(workerId, async (segments, path) => {
				const last = segments.at(-1)!.to;
				const at = Math.min(Math.max(from, segments[0]!.from), last);
				const part = linesOf(await bytesAt(segments, at), at, { whole, last });
				const [line] = part.lines;
				if (!line) return part;
				const [mark] = recent;
				const known = mark && mark.position <= line.position ? recent : await marksOf(path);
				return {
					...part,
					lines: part.lines.map((line) => ({ ...line, ...detailsOf(known, line) })),
				};
			});
		},
		async lastOutput(workerId) {
			for (const folder of folders) {
				const path = logPath(folder, workerId);
				if (await placeOf(path).catch(() => undefined)) return await tail(path);
			}
			return "";
		},
		async list() {
			const found = (await Promise.all(folders.map((folder) => logsIn(folder)))).flat();
			return await Promise.all(
				found.map(async ({ workerId, path, changed }) => {
					// Output of a platform is noted later than it was written.
					const noted = await statOf(marksPath(path));
					return { workerId, changed: Math.max(changed, noted?.mtimeMs ?? 0) };
				}),
			);
		},
		marks,
	};
}

/** The older file, if there is one, comes first. */
async function withSegments<T>(place: LogPlace, use: (segments: readonly Segment[]) => Promise<T>): Promise<T> {
	const { path } = place;
	const start = await startOf(path);
	return await reading(place, async (handle) => {
		const { size } = await fileCalls.run(place.file, () => handle.stat(), place.group);
		const current = { place, handle, from: start, to: start + size };
		const old = await placeOf(oldPath(path)).catch(() => undefined);
		if (!old) return await use([current]);
		return await reading(old, async (handle) => {
			const { size } = await fileCalls.run(old.file, () => handle.stat(), old.group);
			return await use([{ place: old, handle, from: start - size, to: start }, current]);
		});
	});
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
function cachedMarks(): (path: string) => Promise<readonly Mark[]> {
	let last: { key: string; marks: readonly Mark[] } | undefined;
	return async (path) => {
		const found = await statOf(marksPath(path));
		const key = `${path} ${found?.size} ${found?.mtimeMs}`;
		if (last?.key === key) return last.marks;
		const marks = found ? await readMarks(path) : [];
		last = { key, marks };
		return marks;
	};
}

async function statOf(path: string) {
	return await fileCalls.run(path, () => stat(path)).catch(() => undefined);
}

async function bytesAt(segments: readonly Segment[], position: number): Promise<Buffer> {
	const parts: Buffer[] = [];
	let at = position;
	for (const { place, handle, from, to } of segments) {
		const length = Math.min(to - at, position + WINDOW_BYTES - at);
		if (length <= 0) continue;
		const bytes = await bytesOf(place, handle, at - from, length);
		parts.push(bytes);
		at += bytes.length;
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
