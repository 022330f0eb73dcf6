/**
 * The folder that a server with a shared store keeps for itself: who it is, so that after a restart
 * it finds the workers it launched before, and nobody else's.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeFolder, OWNER_FILE } from "./durable-file.ts";

/** Result code of SQLite. */
const BUSY = 5;

/** How long to wait for a server that is just letting go, ms. */
const BUSY_MS = 2000;

/** A folder in use by this server. */
export interface DataFolder {
	/** Made with the folder, and kept in it. */
	serverId: string;
	/** May be repeated. */
	close(): void;
}

/**
 * Opens or makes the folder, for its owner alone. Throws an Error with a sentence while another
 * server uses it: both would take each other's workers for their own. The lock is one of SQLite,
 * which ends with its process, and holds across containers on one machine too.
 */
export function openDataFolder(path: string): DataFolder {
	makeFolder(path);
	const file = join(path, "server.db");
	makeOwnersOnly(file);
	const db = new DatabaseSync(file, { timeout: BUSY_MS });
	try {
		db.exec(
			"PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS server (id TEXT PRIMARY KEY) STRICT",
		);
		db.prepare("INSERT INTO server (id) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM server)").run(
			randomUUID().replaceAll("-", ""),
		);
		db.exec("COMMIT");
		return {
			serverId: String(db.prepare("SELECT id FROM server").get()?.["id"]),
			close: () => void (db.isOpen && db.close()),
		};
	} catch (error) {
		db.close();
		if ((error as { errcode?: number }).errcode !== BUSY) throw error;
		throw new Error(
			`The folder ${path} is in use by another server. Give each its own: --data-dir FOLDER.`,
			{ cause: error },
		);
	}
}

/**
 * Makes the file with mode 0600 where there is none; SQLite gives its journal the same mode, and
 * flushes the folder with it. Earlier versions left it readable for all.
 */
function makeOwnersOnly(file: string): void {
	try {
		closeSync(openSync(file, "a", OWNER_FILE));
		chmodSync(file, OWNER_FILE);
	} catch {
		// What keeps it from being made SQLite reports itself; another owner's file keeps its mode.
	}
}
