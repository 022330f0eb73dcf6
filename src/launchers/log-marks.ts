/**
 * When the lines of a worker's log were written, and for which job. Workers write their files
 * directly, so the service notes how long each file is, several times a second and whenever the jobs
 * of the worker change, in a second file: lines of `position time jobs`, each about the bytes from
 * the position before to its own.
 */
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { Clock } from "../clock.ts";
import { logPath, marksPath, startOf } from "./log-files.ts";

/** Between two readings of the files' lengths, ms: times of lines are so exact. */
const LOOK_MS = 200;

/** Size from which only the newer half of a file is kept, bytes. */
const MARKS_BYTES = 4 * 1024 * 1024;

/** What is known of a piece of a log that ends at `position`. */
export interface Mark {
	position: number;
	/** Ms since the epoch. */
	time: number;
	/** Ids of the jobs that the worker held. */
	jobs: readonly string[];
}

export interface LogMarks {
	/** The worker may write from now on. */
	watch(workerId: string): void;
	/** It holds these jobs from now on. */
	hold(workerId: string, jobs: readonly string[]): void;
	/** Notes what it has written so far. */
	update(workerId: string): void;
	/** It has ended. */
	end(workerId: string): void;
	close(): void;
}

interface Watched {
	id: string;
	/** Undefined until it has written. */
	path?: string | undefined;
	/** Bytes before those of the file. */
	start: number;
	size: number;
	position: number;
	/** Bytes written to the file of marks since it was last shortened. */
	written: number;
	jobs: readonly string[];
}

/** `folders`: one per launcher. */
export function logMarks(folders: readonly string[], clock: Clock): LogMarks {
	const watched = new Map<string, Watched>();
	const closing = new AbortController();
	let looking = false;

	function find(each: Watched): string | undefined {
		each.path ??= folders.map((folder) => logPath(folder, each.id)).find((path) => existsSync(path));
		return each.path;
	}

	/** `time`: when it was written, if not just now. Never throws: a shared folder that fails must not disturb jobs. */
	function note(each: Watched, time?: number): void {
		try {
			const path = find(each);
			const found = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
			if (path === undefined || !found) return;
			// It was rotated.
			if (found.size < each.size) each.start = startOf(path);
			each.size = found.size;
			const position = each.start + found.size;
			if (position <= each.position) return;
			each.position = position;
			const jobs = each.jobs.join(",");
			const line = `${position} ${Math.round(time ?? clock.wall())} ${jobs}\n`;
			appendFileSync(marksPath(path), line, { mode: 0o600 });
			each.written += line.length;
			if (each.written < MARKS_BYTES / 2) return;
			shorten(path);
			each.written = 0;
		} catch {
			// Lines without times are better than no lines.
		}
	}

	/** Goes on with the marks of an earlier run of the service. */
	function resume(each: Watched): void {
		const path = find(each);
		if (path === undefined) return;
		try {
			each.start = startOf(path);
			each.position = readMarks(path).at(-1)?.position ?? 0;
			note(each, statSync(path).mtimeMs);
			shorten(path);
		} catch {
			// As above.
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
		watch(id) {
			if (watched.has(id)) return;
			const each: Watched = { id, start: 0, size: 0, position: 0, written: 0, jobs: [] };
			watched.set(id, each);
			resume(each);
			if (!looking) void look();
		},
		hold(id, jobs) {
			const each = watched.get(id);
			if (!each) return;
			note(each);
			each.jobs = jobs;
		},
		update(id) {
			const each = watched.get(id);
			if (each) note(each);
		},
		end(id) {
			const each = watched.get(id);
			if (!each) return;
			note(each);
			watched.delete(id);
		},
		close: () => closing.abort(),
	};
}

/** In the order of positions. */
export function readMarks(path: string): Mark[] {
	let text: string;
	try {
		text = readFileSync(marksPath(path), "utf8");
	} catch {
		return [];
	}
	return text
		.split("\n")
		.slice(0, -1)
		.map((line) => {
			const [position, time, jobs = ""] = line.split(" ");
			return {
				position: Number(position),
				time: Number(time),
				jobs: jobs === "" ? [] : jobs.split(","),
			};
		});
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
