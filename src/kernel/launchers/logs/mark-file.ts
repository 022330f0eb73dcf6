/**
 * The file of a log's marks, lines `position time jobs`: each is about the bytes up to its position. Its size is
 * bounded, and no read of it stops the event loop for long.
 */
import { appendFile, readFile, rename, stat, writeFile } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { fileCalls } from "../../system/file-calls.ts";
import { marksPath, OWNER_FILE } from "./log-files.ts";

/** Above this size only the newer half is kept, bytes. */
export const MARKS_BYTES = 4 * 1024 * 1024;

/** Read before other work has its turn. */
const LINES_AT_ONCE = 5000;

/** A piece of a log that ends at `position`. */
export interface Mark {
	position: number;
	/** Ms since the epoch. */
	time: number;
	jobs: readonly string[];
}

export function lineOf({ position, time, jobs }: Mark): string {
	return `${position} ${time} ${jobs.join(",")}\n`;
}

/**
 * In the order of positions and of times. A clock that was set back corrects the times before; a position that is below
 * earlier ones, after bytes that a rotation lost, corrects the positions.
 */
export async function readMarks(path: string): Promise<Mark[]> {
	const file = marksPath(path);
	const text = await fileCalls.run(file, () => readFile(file, "utf8")).catch(() => "");
	const lines = text.split("\n").slice(0, -1).reverse();
	const marks: Mark[] = [];
	let [position, time] = [Infinity, Infinity];
	for (const [number, line] of lines.entries()) {
		if (number % LINES_AT_ONCE === LINES_AT_ONCE - 1) await setImmediate();
		const [at, when, jobs = ""] = line.split(" ");
		if (Number(at) >= position) continue;
		position = Number(at);
		time = Math.min(time, Number(when));
		marks.push({ position, time, jobs: jobs === "" ? [] : jobs.split(",") });
	}
	return marks.reverse();
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

export async function appendMarks(path: string, lines: string): Promise<void> {
	const file = marksPath(path);
	await fileCalls.run(file, () => appendFile(file, lines, { mode: OWNER_FILE }));
}

/** Only the writer of the file may call it. */
export async function shortenMarks(path: string): Promise<void> {
	const file = marksPath(path);
	const size = await fileCalls
		.run(file, () => stat(file))
		.then(
			(found) => found.size,
			() => 0,
		);
	if (size <= MARKS_BYTES) return;
	const text = await fileCalls.run(file, () => readFile(file, "utf8"));
	const half = text.slice(text.indexOf("\n", text.length / 2) + 1);
	const shorter = `${file}.new`;
	await fileCalls.run(shorter, () => writeFile(shorter, half, { mode: OWNER_FILE }));
	await fileCalls.run(file, () => rename(shorter, file));
}
