/** The last marks of a log, and the jobs of what is written after them. In memory only. */
import { type Mark, markAt } from "./mark-file.ts";

/** A log that grew by more between two reads of its length is read more often. */
const FAST_BYTES = 1024 * 1024;

/** Kept: enough for those who follow the log. */
const RECENT_MARKS = 64;

/** `write` is called with each new mark. */
export function recentMarks(write: (mark: Mark) => void) {
	let recent: Mark[] = [];
	/** The position of the last mark. */
	let position = 0;
	/** Bytes in the file when they were read last. */
	let size = 0;
	/** It may grow much between two looks, as a new one may. */
	let isFast = true;
	let jobs: readonly string[] = [];
	/** Number of changes of `jobs`, and how many there were before anything behind `position` was written. */
	let changes = 0;
	let changesAtPosition = 0;

	/** None if they changed after the last mark. */
	const jobsAtEnd = (): readonly string[] => (changesAtPosition === changes ? jobs : []);

	function add(mark: Mark): void {
		position = mark.position;
		recent.push(mark);
		if (recent.length > RECENT_MARKS) recent.shift();
		write(mark);
	}

	return {
		get all(): readonly Mark[] {
			return recent;
		},
		get isFast(): boolean {
			return isFast;
		},
		/** Bytes of the file that were noted last. */
		get size(): number {
			return size;
		},
		/** Number of changes of jobs: what is read of the file from now on was written after them. */
		get changes(): number {
			return changes;
		},
		/** Continues after the last mark of an earlier run. */
		resume(last: Mark | undefined): void {
			position = last?.position ?? 0;
		},
		/**
		 * The file, which begins at the position `start`, had so many `bytes` after so many `changes` of jobs. `time`: when
		 * they were written. False if it was shortened just now, so that its positions are not known yet.
		 */
		note({ start, bytes, changes: count, time }: Record<"start" | "bytes" | "changes" | "time", number>): boolean {
			if (start + bytes < position) return false;
			isFast = bytes - size > FAST_BYTES;
			size = bytes;
			if (start + bytes > position) add({ position: start + bytes, time: Math.round(time), jobs: jobsAtEnd() });
			changesAtPosition = count;
			return true;
		},
		/** The worker has these jobs from now on. `isKnown`: all that it wrote before is noted. */
		hold(next: readonly string[], isKnown: boolean): void {
			jobs = next;
			changes += 1;
			if (isKnown) changesAtPosition = changes;
		},
		/** The file begins at `start` now and is empty. What was written meanwhile is lost, with its positions. */
		restart(start: number, now: number): void {
			const last = markAt(recent, start) ?? { time: now, jobs: jobsAtEnd() };
			recent = recent.filter((other) => other.position < start);
			size = 0;
			add({ ...last, position: start });
		},
	};
}
