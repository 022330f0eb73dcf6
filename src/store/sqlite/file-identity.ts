/**
 * Notices that the database file or its log was deleted or replaced while it is open: what is
 * written then is lost with the process (D17, decision 0031).
 */
import { realpathSync, statSync } from "node:fs";
import { StoreUnavailable } from "../contract/store.ts";

export interface FileIdentity {
	/** Call after a commit, before it is acknowledged. Throws {@link StoreUnavailable} `moved`. */
	confirm(): void;
	/**
	 * Call before a transaction: checks again only after a failed {@link confirm}. Returns whether the
	 * files have just been moved back.
	 */
	admit(): boolean;
}

/** Device and inode; an open file keeps its inode, so another file cannot have the same. */
function inodeOf(path: string): string | undefined {
	const found = statSync(path, { bigint: true, throwIfNoEntry: false });
	return found && `${found.dev}:${found.ino}`;
}

/** `path` is the configured one; call while the database and its log are open. */
export function fileIdentity(path: string): FileIdentity {
	// SQLite places the log beside the file that a symbolic link points to.
	const log = `${realpathSync(path)}-wal`;
	const files = [path, log].map((file) => ({ file, inode: inodeOf(file) }));
	let moved = false;

	function confirm(): void {
		for (const { file, inode } of files) {
			let found: string | undefined;
			try {
				found = inodeOf(file);
			} catch {
				// A folder on the way is unreadable or was replaced by a file.
			}
			if (found === inode && found !== undefined) continue;
			moved = true;
			throw new StoreUnavailable(
				"moved",
				`${file} was ${found === undefined ? "deleted or moved" : "replaced"} while the service has it open; ` +
					"nothing is accepted, because it would be lost at the next start. Move the original file back, " +
					"or restart the service with a restored backup",
			);
		}
		moved = false;
	}

	return {
		confirm,
		admit() {
			if (!moved) return false;
			confirm();
			return true;
		},
	};
}
