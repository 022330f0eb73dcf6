/**
 * The log of one worker: when its parts were written and for which jobs, and its bound (decisions 0045, 0057). Workers
 * write their files directly, so the service looks how long each is. The length of a local log is read in the turn of
 * the event loop in which the jobs of its worker change; a link may lead to a folder that hangs, so lines around a
 * change have no job there.
 */
// oxlint-disable-next-line no-restricted-imports -- the one exception, see above
import { lstatSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { Clock } from "../../system/clock.ts";
import { fileCalls } from "../../system/file-calls.ts";
import { boundLog, forgetStart, inTurn, keepStart, LOG_BYTES, logPath, placeOf, startNow } from "./log-files.ts";
import { type Mark, readMarks, shortenMarks } from "./mark-file.ts";
import { markWriter } from "./mark-writer.ts";
import { recentMarks } from "./recent-marks.ts";

export type WatchedLog = ReturnType<typeof watchedLog>;

/** `id`: of the worker. Its log is in one of the folders once it has written. */
export function watchedLog(id: string, folders: readonly string[], clock: Clock) {
	const writer = markWriter();
	const marks = recentMarks((mark) => writer.write(path!, mark));
	/** Undefined until the worker has written. */
	let path: string | undefined;
	let isLink = false;
	/** The marks of an earlier run are read. */
	let isResumed = false;
	/** A look that waits for files. */
	let looking: Promise<void> | undefined;

	/** A link is not followed, so this does not wait for another machine. Undefined without a log. */
	function find(): { path: string; size: number } | undefined {
		for (const each of path === undefined ? folders.map((folder) => logPath(folder, id)) : [path]) {
			const found = lstatSync(each, { throwIfNoEntry: false });
			if (!found) continue;
			path = each;
			isLink = found.isSymbolicLink();
			return { path, size: found.size };
		}
		return undefined;
	}

	/** Notes a length, as `note` of the marks does. `time`: default now. */
	function note(bytes: number, changes: number, time = clock.wall()): boolean {
		const start = path === undefined ? undefined : startNow(path);
		return start !== undefined && marks.note({ start, bytes, changes, time });
	}

	/** Whether the length could be read in this turn. Never throws, because a log must not disturb jobs. */
	function noteNow(): boolean {
		try {
			const found = find();
			return !found || (!isLink && note(found.size, marks.changes));
		} catch {
			return false;
		}
	}

	/** Continues the marks of an earlier run. `isOlder`: what is there was written before. */
	async function resume(file: string, isOlder: boolean): Promise<void> {
		const { changes } = marks;
		const place = await placeOf(file);
		const { size, mtimeMs } = await fileCalls.run(place.file, () => stat(place.file), place.group);
		marks.resume((await readMarks(file)).at(-1));
		await shortenMarks(file);
		await inTurn(file, () => keepStart(file));
		isResumed = true;
		if (isOlder) note(size, changes, mtimeMs);
	}

	async function noteLink(link: string): Promise<void> {
		const { changes } = marks;
		const { file, group } = await placeOf(link);
		note((await fileCalls.run(file, () => stat(file), group)).size, changes);
	}

	async function bound(file: string): Promise<void> {
		if (marks.size <= LOG_BYTES || !(await boundLog(file))) return;
		marks.restart(startNow(file)!, clock.wall());
	}

	async function lookNow(isOlder: boolean): Promise<void> {
		try {
			const found = find();
			if (!found) return;
			if (!isResumed) await resume(found.path, isOlder);
			if (isLink) await noteLink(found.path);
			else noteNow();
			await bound(found.path);
		} catch {
			// As in `noteNow`.
		}
	}

	/** One at a time, so that a log that hangs costs one call. */
	function look(isOlder = false): Promise<void> {
		return (looking ??= lookNow(isOlder).finally(() => (looking = undefined)));
	}

	return {
		get isFast(): boolean {
			return marks.isFast;
		},
		/** The last marks, from memory. */
		get recent(): readonly Mark[] {
			return marks.all;
		},
		look,
		noteNow,
		/** The worker has these jobs from now on. */
		hold(next: readonly string[]): void {
			marks.hold(next, noteNow());
		},
		/** Notes what the worker has written until now. */
		async update(): Promise<void> {
			await looking;
			await look();
			await looking;
			await writer.settled();
		},
		/** Resolves once what was noted is written. */
		settled: () => writer.settled(),
		/** The worker has ended. */
		forget(): void {
			if (path !== undefined) forgetStart(path);
		},
	};
}
