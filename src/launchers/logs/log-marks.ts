/**
 * Times and jobs of log lines. Workers write their files directly, so the service notes how long each file is, in a
 * second file of lines `position time jobs`. Each line is about the bytes up to its position.
 */
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { Clock } from "../../system/clock.ts";
import { logPath, marksPath, startOf } from "./log-files.ts";

/** Read interval of file lengths, ms, and so the precision of times. */
const LOOK_MS = 200;

/** Above this size only the newer half is kept, bytes. */
const MARKS_BYTES = 4 * 1024 * 1024;

/** Kept in memory of each worker: enough for those who follow its log. */
const RECENT_MARKS = 64;

/** A piece of a log that ends at `position`. */
export interface Mark {
	position: number;
	/** Ms since the epoch. */
	time: number;
	jobs: readonly string[];
}

export type LogMarks = ReturnType<typeof logMarks>;

interface Watched {
	id: string;
	/** Undefined until it has written. */
	path?: string | undefined;
	/** Bytes that rotations have removed. */
	start: number;
	size: number;
	position: number;
	written: number;
	jobs: readonly string[];
	recent: Mark[];
}

export function logMarks(folders: readonly string[], clock: Clock) {
	const watched = new Map<string, Watched>();
	const closing = new AbortController();
	let looking = false;

	function find(each: Watched): string | undefined {
		each.path ??= folders.map((folder) => logPath(folder, each.id)).find((path) => existsSync(path));
		return each.path;
	}

	/**
	 * `time`: when it was written, default now. Never throws, because a shared folder that fails must not disturb
	 * jobs.
	 */
	function note(each: Watched, time?: number): void {
		try {
			const path = find(each);
			const found = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
			if (path === undefined || !found) return;
			// A shorter file was rotated.
			if (found.size < each.size) each.start = startOf(path);
			each.size = found.size;
			const position = each.start + found.size;
			if (position <= each.position) return;
			each.position = position;
			const jobs = each.jobs.join(",");
			const at = Math.round(time ?? clock.wall());
			const line = `${position} ${at} ${jobs}\n`;
			appendFileSync(marksPath(path), line, { mode: 0o600 });
			each.recent.push({ position, time: at, jobs: each.jobs });
			if (each.recent.length > RECENT_MARKS) each.recent.shift();
			each.written += line.length;
			if (each.written < MARKS_BYTES / 2) return;
			shorten(path);
			each.written = 0;
		} catch {
			// Lines without times are better than no lines.
		}
	}

	/** Continues the marks of an earlier run. */
	function resume(each: Watched): void {
		const path = find(each);
		if (path === undefined) return;
		try {
			each.start = startOf(path);
			each.position = readMarks(path).at(-1)?.position ?? 0;
			note(each, statSync(path).mtimeMs);
			shorten(path);
		} catch {
			// As in `note`, this must not disturb jobs.
		}
	}

	async function look(): Promise<void> {
		looking = true;
		while (watched.size > 0 && !closing.signal.aborted) {
			await clock.sleep(LOOK_MS, closing.signal);
			for (const each of watched.values()) note(each);
		}
		looking = false;
	}

	return {
		watch(id: string): void {
			if (watched.has(id)) return;
			const each: Watched = { id, start: 0, size: 0, position: 0, written: 0, jobs: [], recent: [] };
			watched.set(id, each);
			resume(each);
			if (!looking) void look();
		},
		hold(id: string, jobs: readonly string[]): void {
			const each = watched.get(id);
			if (!each) return;
			note(each);
			each.jobs = jobs;
		},
		update(id: string): void {
			const each = watched.get(id);
			if (each) note(each);
		},
		/** The last marks of a watched worker, from memory. */
		recent: (id: string): readonly Mark[] => watched.get(id)?.recent ?? [],
		end(id: string): void {
			const each = watched.get(id);
			if (!each) return;
			note(each);
			watched.delete(id);
		},
		close: () => closing.abort(),
	};
}

/** In the order of positions and of times: a clock that was set back corrects the times before. */
export function readMarks(path: string): Mark[] {
	let text: string;
	try {
		text = readFileSync(marksPath(path), "utf8");
	} catch {
		return [];
	}
	let least = Infinity;
	return text
		.split("\n")
		.slice(0, -1)
		.reverse()
		.map((line) => {
			const [position, time, jobs = ""] = line.split(" ");
			return {
				position: Number(position),
				time: (least = Math.min(least, Number(time))),
				jobs: jobs === "" ? [] : jobs.split(","),
			};
		})
		.reverse();
}

/** The mark of the byte before `position`. */
export function markAt(marks: readonly Mark[], position: number): Mark | undefined {
	let [low, high] = [0, marks.length];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (marks[middle]!.position < position) low = middle + 1;
		else high = middle;
	}
	return marks[low];
}

function shorten(path: string): void {
	const file = marksPath(path);
	if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) <= MARKS_BYTES) return;
	const text = readFileSync(file, "utf8");
	writeFileSync(file, text.slice(text.indexOf("\n", text.length / 2) + 1), { mode: 0o600 });
}
