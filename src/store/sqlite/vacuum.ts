/**
 * Returns free pages to the file system in small steps while the database thread is idle, so that
 * the file shrinks after a purge (D41).
 */
import { INCREMENTAL } from "./database.ts";
import { throwIfFlushFailed } from "./disk-errors.ts";
import type { Database } from "./database.ts";

/** Pages of one step: some ms. */
const STEP_PAGES = 32;

/** Free pages that are kept for the next jobs: 16 MiB. */
const KEPT_PAGES = 4096;

/** A larger file of an earlier version is converted by `sluice migrate --compact` only, bytes. */
const CONVERTED_BYTES = 64 * 2 ** 20;

export interface Vacuum {
	/** Returns some free pages; false when none are left to return. Throws `FlushFailed`. */
	step(): boolean;
}

function number(db: Database, pragma: string): number {
	return Number(db.prepare(`PRAGMA ${pragma}`).get()?.[0]);
}

/** Rewrites the whole file: needs as much free space as the file has. */
export function compact(db: Database): void {
	db.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
}

/** Makes a small file of an earlier version shrinkable; a full disk leaves it as it is. */
export function convert(db: Database): void {
	if (number(db, "auto_vacuum") === INCREMENTAL) return;
	if (number(db, "page_count") * number(db, "page_size") > CONVERTED_BYTES) return;
	try {
		compact(db);
	} catch {}
}

/** `keptPages` is smaller in tests. */
export function openVacuum(db: Database, { keptPages = KEPT_PAGES } = {}): Vacuum {
	const free = db.prepare("PRAGMA freelist_count");
	const shrinkable = number(db, "auto_vacuum") === INCREMENTAL;
	let returned = false;

	return {
		step() {
			if (!shrinkable) return false;
			const left = Number(free.get()?.[0]) - keptPages;
			try {
				if (left > 0) {
					db.exec(`PRAGMA incremental_vacuum(${Math.min(left, STEP_PAGES)})`);
					returned = true;
					return true;
				}
				// Only a checkpoint shortens the file.
				if (returned) db.exec("PRAGMA wal_checkpoint(PASSIVE)");
				returned = false;
			} catch (error) {
				throwIfFlushFailed(error, db.path);
				// A full disk: the next idle time tries again.
			}
			return false;
		},
	};
}
