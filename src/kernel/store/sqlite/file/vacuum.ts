/**
 * Returns free pages to the file system in small steps between the batches of the database thread (D40, decision 0031).
 */
import type { Clock } from "../../../system/clock.ts";
import type { Database, Statement } from "./database.ts";
import { throwIfFlushFailed } from "./disk-errors.ts";

const STEP_PAGES = 64;

/** Target duration of a step, ms: with a long list of free pages each step takes longer. */
const STEP_MS = 4;

/** Pause between two steps while no batch arrives, and after the last one, ms. */
const PAUSE_MS = 10;
export const IDLE_MS = 50;

/** Length of a pause while batches arrive, as a multiple of the step before it. */
const BUSY_PAUSE = 19;

/** Free pages that are kept for the next jobs: 16 MiB, and while batches arrive also a quarter of all pages. */
const KEPT_PAGES = 4096;
const KEPT_BUSY = 1 / 4;

export function openVacuum(
	db: Database,
	{ clock, keptPages = KEPT_PAGES }: { clock: Pick<Clock, "now">; keptPages?: number },
) {
	const free = db.prepare("PRAGMA freelist_count");
	const all = db.prepare("PRAGMA page_count");
	const count = (statement: Statement): number => Number(statement.get()?.[0]);
	let pages = STEP_PAGES;
	let returned = false;

	function shrink(most: number): number {
		const began = clock.now();
		db.exec(`PRAGMA incremental_vacuum(${Math.min(most, pages)})`);
		returned = true;
		const took = clock.now() - began;
		if (took > STEP_MS) pages = Math.max(1, Math.floor(pages / 2));
		else if (took < STEP_MS) pages = Math.min(STEP_PAGES, pages * 2);
		return took;
	}

	return {
		/**
		 * `busy`: a batch has arrived since the last step. Returns the pause before the next step, ms; undefined when none
		 * is needed until the next batch. Throws `FlushFailed`.
		 */
		step(busy: boolean): number | undefined {
			try {
				const kept = busy ? Math.max(keptPages, count(all) * KEPT_BUSY) : keptPages;
				const left = Math.ceil(count(free) - kept);
				if (left > 0) {
					const took = shrink(left);
					return busy ? Math.max(IDLE_MS, took * BUSY_PAUSE) : PAUSE_MS;
				}
				if (busy) return IDLE_MS;
				// Only a checkpoint shortens the file.
				if (returned) db.exec("PRAGMA wal_checkpoint(PASSIVE)");
				returned = false;
			} catch (error) {
				throwIfFlushFailed(error, db.path);
				// The disk is full: tried again after the next batch.
			}
			return undefined;
		},
	};
}
