/**
 * Notices that the database file or its log was deleted or replaced while it is open: what is written then is lost
 * (D17). Recognises a file that was copied or restored without its log (`-wal`), in which the latest jobs are
 * (decision 0031).
 *
 * The file says 1 in `user_version` as long as it needs its log. The first commit of the log says 0, which a merge of
 * the log, also by another program, writes to the file.
 */
import { type BigIntStats, realpathSync, statSync } from "node:fs";
import { StoreUnavailable } from "../../contract/store.ts";
import type { DatabaseSync } from "node:sqlite";

export type FileIdentity = ReturnType<typeof fileIdentity>;

/** SQLite places the log next to the file that a symbolic link points to. */
export function logOf(path: string): string {
	return `${realpathSync(path)}-wal`;
}

function read(path: string): BigIntStats | undefined {
	try {
		return statSync(path, { bigint: true, throwIfNoEntry: false });
	} catch {
		// A folder on the path is unreadable or was replaced by a file.
		return undefined;
	}
}

/**
 * Call while the database and its log are open. `checkpointed` is called when the file was written since it last
 * returned true.
 */
export function fileIdentity(path: string, checkpointed: () => boolean) {
	const files = [path, logOf(path)].map((file) => ({ file, own: read(file) }));
	let writtenAt: bigint | undefined;
	let moved = false;

	/** Call after a commit, before it is acknowledged. Throws {@link StoreUnavailable} `moved`. */
	function confirm(): void {
		for (const { file, own } of files) {
			const found = read(file);
			// An open file keeps its inode, so no other file has the same.
			if (found && found.ino === own?.ino && found.dev === own.dev) {
				if (file !== path || found.mtimeNs === writtenAt) continue;
				if (checkpointed()) writtenAt = read(path)?.mtimeNs;
				continue;
			}
			moved = true;
			throw new StoreUnavailable(
				"moved",
				`${file} was ${found === undefined ? "deleted or moved" : "replaced"} while the service has it open; ` +
					"nothing is accepted, because it would be lost at the next start. Move the original file back, " +
					"or stop the service and restore a backup (sluice restore)",
			);
		}
		moved = false;
	}

	return {
		confirm,

		/**
		 * Call before a transaction: checks only after a failed {@link confirm}. True if the files have just been moved
		 * back.
		 */
		admit(): boolean {
			if (!moved) return false;
			confirm();
			return true;
		},
	};
}

/** The letters SLUI. */
export const APPLICATION_ID = 0x534c5549;

/** Bytes of a log's header; a shorter log is empty. */
const LOG_HEADER = 32;

/** Whether the log exists. Call before the database is opened, which creates a log. */
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

export function needsLog(db: DatabaseSync): boolean {
	return isOwn(db) && header(db, "user_version") === 1;
}

/**
 * Writes the mark, which a checkpoint overwrites. False if it cannot be written now, or the file is not a store of
 * Sluice (yet).
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

const USER_VERSION_AT = 60;

/** Marks a copy that no process has open as complete: it was made from file and log and needs no log. */
export function markComplete(write: (bytes: Uint8Array, at: number) => void): void {
	write(new Uint8Array(4), USER_VERSION_AT);
}

export function missingLog(path: string): string {
	return (
		`${path} was copied or restored without its log ${path}-wal: the jobs that were accepted and the results ` +
		"that were stored last are missing. Restore a copy that sluice backup made, or copy both files of a " +
		"stopped service. " +
		`To go on without them, run: sluice migrate --store sqlite:${path} --accept-missing-log`
	);
}
