/** Times and jobs of log lines, and the bound of logs, of all workers of a launcher (decisions 0045, 0057). */
import type { Clock } from "../../system/clock.ts";
import type { Mark } from "./mark-file.ts";
import { type WatchedLog, watchedLog } from "./watched-log.ts";

/** Interval of looks, ms, and so the precision of times. The second is for logs that grow fast. */
const LOOK_MS = 200;
const FAST_LOOK_MS = 20;

export type LogMarks = ReturnType<typeof logMarks>;

export function logMarks(folders: readonly string[], clock: Clock) {
	/** Logs by id of their worker. */
	const watched = new Map<string, WatchedLog>();
	const closing = new AbortController();
	let isLooping = false;

	async function loop(): Promise<void> {
		isLooping = true;
		for (let sinceAll = 0; watched.size > 0 && !closing.signal.aborted; ) {
			const isFast = [...watched.values()].some((log) => log.isFast);
			const ms = isFast ? FAST_LOOK_MS : LOOK_MS - sinceAll;
			await clock.sleep(ms, closing.signal);
			sinceAll = (sinceAll + ms) % LOOK_MS;
			for (const log of watched.values()) if (sinceAll === 0 || log.isFast) void log.look();
		}
		isLooping = false;
	}

	return {
		watch(id: string): void {
			if (watched.has(id)) return;
			const log = watchedLog(id, folders, clock);
			watched.set(id, log);
			void log.look(true);
			if (!isLooping) void loop();
		},
		hold(id: string, jobs: readonly string[]): void {
			watched.get(id)?.hold(jobs);
		},
		/** Notes what a worker has written until now. */
		async update(id: string): Promise<void> {
			await watched.get(id)?.update();
		},
		/** The last marks of a watched worker, from memory. */
		recent: (id: string): readonly Mark[] => watched.get(id)?.recent ?? [],
		/** Never rejects. Nothing waits for it but those who read the log. */
		async end(id: string): Promise<void> {
			const log = watched.get(id);
			if (!log) return;
			log.noteNow();
			await log.update();
			log.forget();
			watched.delete(id);
		},
		/** Resolves once what was noted is written. */
		async close(): Promise<void> {
			closing.abort();
			for (const log of watched.values()) log.noteNow();
			await Promise.all([...watched.values()].map((log) => log.settled()));
		},
	};
}
