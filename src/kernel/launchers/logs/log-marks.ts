/**
 * Times and jobs of log lines, and the bound of logs (decisions 0045, 0057). Workers write their files directly, so the
 * service looks how long each is. The length of a local log is read in the turn of the event loop in which the jobs of
 * its worker change; a link may lead to a folder that hangs, so lines around a change have no job there.
 */
// oxlint-disable-next-line no-restricted-imports -- the one exception, see above
import { lstatSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { Clock } from "../../system/clock.ts";
import { fileCalls } from "../../system/file-calls.ts";
import { boundLog, forgetStart, inTurn, keepStart, LOG_BYTES, logPath, placeOf, startNow } from "./log-files.ts";
import { appendMarks, lineOf, type Mark, markAt, MARKS_BYTES, readMarks, shortenMarks } from "./mark-file.ts";

/** Interval of looks, ms, and so the precision of times. The second is for logs that grow by more than this between. */
const LOOK_MS = 200;
const FAST_LOOK_MS = 20;
const FAST_BYTES = 1024 * 1024;

/** Kept in memory of each worker: enough for those who follow its log. */
const RECENT_MARKS = 64;

export type LogMarks = ReturnType<typeof logMarks>;

interface Watched {
	readonly id: string;
	/** Undefined until it has written. */
	path?: string;
	isLink: boolean;
	/** The marks of an earlier run are read. */
	isResumed: boolean;
	/** Bytes in its file when they were read last. */
	size: number;
	/** It may grow much between two looks, as a new one may. */
	isFast: boolean;
	/** The position of the last mark. */
	position: number;
	jobs: readonly string[];
	/** Number of changes of `jobs`, and how many there were before anything behind `position` was written. */
	changes: number;
	changesAtPosition: number;
	recent: Mark[];
	/** Lines for the file of marks. */
	unwritten: string;
	written: number;
	/** A look that waits for files. */
	looking?: Promise<void> | undefined;
	writing?: Promise<void> | undefined;
}

export function logMarks(folders: readonly string[], clock: Clock) {
	const watched = new Map<string, Watched>();
	const closing = new AbortController();
	let isLooping = false;

	/** A link is not followed, so this does not wait for another machine. Undefined without a log. */
	function find(each: Watched): { size: number } | undefined {
		for (const path of each.path === undefined ? folders.map((folder) => logPath(folder, each.id)) : [each.path]) {
			const found = lstatSync(path, { throwIfNoEntry: false });
			if (!found) continue;
			each.path = path;
			each.isLink = found.isSymbolicLink();
			return found;
		}
		return undefined;
	}

	/**
	 * `size`: of the file, after `changes` changes of its worker's jobs. `time`: when it was written, default now. False
	 * if it was shortened just now, so that its positions are not known yet.
	 */
	function note(each: Watched, size: number, changes: number, time: number = clock.wall()): boolean {
		const start = each.path === undefined ? undefined : startNow(each.path);
		if (start === undefined || start + size < each.position) return false;
		each.isFast = size - each.size > FAST_BYTES;
		each.size = size;
		const position = start + size;
		if (position > each.position) {
			const jobs = each.changesAtPosition === each.changes ? each.jobs : [];
			add(each, { position, time: Math.round(time), jobs });
		}
		each.changesAtPosition = changes;
		return true;
	}

	function add(each: Watched, mark: Mark): void {
		each.position = mark.position;
		each.recent.push(mark);
		if (each.recent.length > RECENT_MARKS) each.recent.shift();
		each.unwritten += lineOf(mark);
		each.writing ??= write(each, each.path!).finally(() => (each.writing = undefined));
	}

	/** Lines without times are better than no lines, so a failure loses them. */
	async function write(each: Watched, path: string): Promise<void> {
		while (each.unwritten !== "") {
			const lines = each.unwritten;
			each.unwritten = "";
			await appendMarks(path, lines).catch(() => {});
			each.written += lines.length;
			if (each.written < MARKS_BYTES / 2) continue;
			each.written = 0;
			await shortenMarks(path).catch(() => {});
		}
	}

	/** Whether the length could be read in this turn. Never throws, because a log must not disturb jobs. */
	function noteNow(each: Watched): boolean {
		try {
			const found = find(each);
			if (!found) return true;
			return !each.isLink && note(each, found.size, each.changes);
		} catch {
			return false;
		}
	}

	/** Continues the marks of an earlier run. `isOlder`: what is there was written before. */
	async function resume(each: Watched, isOlder: boolean): Promise<void> {
		const path = each.path!;
		const { changes } = each;
		const place = await placeOf(path);
		const { size, mtimeMs } = await fileCalls.run(place.file, () => stat(place.file), place.group);
		each.position = (await readMarks(path)).at(-1)?.position ?? 0;
		await shortenMarks(path);
		await inTurn(path, () => keepStart(path));
		each.isResumed = true;
		if (isOlder) note(each, size, changes, mtimeMs);
	}

	async function noteLink(each: Watched): Promise<void> {
		const { changes } = each;
		const { file, group } = await placeOf(each.path!);
		note(each, (await fileCalls.run(file, () => stat(file), group)).size, changes);
	}

	/** What was written while the end was copied is lost, with the positions that it had. */
	async function bound(each: Watched): Promise<void> {
		const path = each.path!;
		if (each.size <= LOG_BYTES || !(await boundLog(path))) return;
		const position = startNow(path)!;
		const jobs = each.changesAtPosition === each.changes ? each.jobs : [];
		const last = markAt(each.recent, position) ?? { time: clock.wall(), jobs };
		each.recent = each.recent.filter((other) => other.position < position);
		each.size = 0;
		add(each, { ...last, position });
	}

	async function lookAt(each: Watched, isOlder: boolean): Promise<void> {
		try {
			if (!find(each)) return;
			if (!each.isResumed) await resume(each, isOlder);
			if (each.isLink) await noteLink(each);
			else noteNow(each);
			await bound(each);
		} catch {
			// As in `noteNow`.
		}
	}

	/** One at a time, so a log that hangs costs one call. */
	function look(each: Watched, isOlder = false): Promise<void> {
		return (each.looking ??= lookAt(each, isOlder).finally(() => (each.looking = undefined)));
	}

	async function loop(): Promise<void> {
		isLooping = true;
		for (let sinceAll = 0; watched.size > 0 && !closing.signal.aborted; ) {
			const isFast = [...watched.values()].some((each) => each.isFast);
			const ms = isFast ? FAST_LOOK_MS : LOOK_MS - sinceAll;
			await clock.sleep(ms, closing.signal);
			sinceAll = (sinceAll + ms) % LOOK_MS;
			for (const each of watched.values()) if (sinceAll === 0 || each.isFast) void look(each);
		}
		isLooping = false;
	}

	async function settled(each: Watched): Promise<void> {
		await each.looking;
		await each.writing;
	}

	return {
		watch(id: string): void {
			if (watched.has(id)) return;
			const each: Watched = {
				...{ id, isLink: false, isResumed: false, size: 0, isFast: true, position: 0 },
				...{ jobs: [], changes: 0, changesAtPosition: 0, recent: [], unwritten: "", written: 0 },
			};
			watched.set(id, each);
			void look(each, true);
			if (!isLooping) void loop();
		},
		hold(id: string, jobs: readonly string[]): void {
			const each = watched.get(id);
			if (!each) return;
			const isKnown = noteNow(each);
			each.jobs = jobs;
			each.changes += 1;
			if (isKnown) each.changesAtPosition = each.changes;
		},
		/** Notes what a worker has written until now. */
		async update(id: string): Promise<void> {
			const each = watched.get(id);
			if (!each) return;
			await each.looking;
			await look(each);
			await settled(each);
		},
		/** The last marks of a watched worker, from memory. */
		recent: (id: string): readonly Mark[] => watched.get(id)?.recent ?? [],
		/** Never rejects. Nothing waits for it but those who read the log. */
		async end(id: string): Promise<void> {
			const each = watched.get(id);
			if (!each) return;
			noteNow(each);
			await each.looking;
			await look(each);
			await settled(each);
			if (each.path !== undefined) forgetStart(each.path);
			watched.delete(id);
		},
		/** Resolves once what was noted is written. */
		async close(): Promise<void> {
			closing.abort();
			for (const each of watched.values()) noteNow(each);
			await Promise.all([...watched.values()].map(async ({ writing }) => await writing));
		},
	};
}
