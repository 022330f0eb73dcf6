/**
 * What Sluice writes in the header of its file, and how it recognises a database file that was copied
 * or restored without its log (`-wal`), in which the latest jobs are (decision 0031).
 *
 * The file itself says 1 in `user_version`, its log says 0: the first commit after a checkpoint of
 * the 1. So the file says 1 as long as it needs its log, and 0 once the log was merged, also by
 * another program.
 */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { logOf } from "./file-identity.ts";

/** `PRAGMA application_id` of the file: the letters SLUI. */
export const APPLICATION_ID = 0x534c5549;

/** Bytes of a log's header: with fewer it is empty. */
const LOG_HEADER = 32;

/** Whether a log with content exists. Call before the database is opened: that creates one. */
export function hasLog(path: string): boolean {
	try {
		return statSync(logOf(path)).size >= LOG_HEADER;
	} catch {
		return false;
	}
}

export function header(db: DatabaseSync, member: "application_id" | "user_version" | "auto_vacuum"): unknown {
	return Object.values(db.prepare(`PRAGMA ${member}`).get() ?? {})[0];
}

function isOwn(db: DatabaseSync): boolean {
	return header(db, "application_id") === APPLICATION_ID;
}

/** Whether the file says that it needs a log. */
export function needsLog(db: DatabaseSync): boolean {
	return isOwn(db) && header(db, "user_version") === 1;
}

/**
 * Marks the file, whose mark a checkpoint has overwritten. False if it cannot be written now, or is
 * not a store of Sluice (yet).
 */
export function markFile(db: DatabaseSync): boolean {
	if (!isOwn(db)) return false;
	let marked = true;
	for (const sql of ["PRAGMA user_version = 1; PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA user_version = 0"])
		try {
			db.exec(sql);
		} catch {
			marked = false;
		}
	return marked;
}

/** Bytes of `user_version` in the file. */
const USER_VERSION_AT = 60;

/** Says in a copy that nothing has open that it needs no log: it was made of file and log. */
export function markComplete(write: (bytes: Uint8Array, at: number) => void): void {
	write(new Uint8Array(4), USER_VERSION_AT);
}

/** Returns the sentence for the operator. */
export function missingLog(path: string): string {
	return (
		`${path} was copied or restored without its log ${path}-wal: the jobs that were accepted and the results ` +
		"that were stored last are missing. Restore a copy that sluice backup made, or copy both files of a " +
		"stopped service. " +
		`To go on without them, run: sluice migrate --store sqlite:${path} --accept-missing-log`
	);
}
