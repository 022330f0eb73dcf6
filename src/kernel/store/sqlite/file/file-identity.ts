/**
 * Notices that the database file or its log was deleted or replaced while it is open: what is written then is lost
 * (D17, decision 0031).
 */
import { type BigIntStats, realpathSync, statSync } from "node:fs";
import { StoreUnavailable } from "../../contract/store.ts";

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
