/**
 * The data folder of a server with a shared store. By its identity a server finds the workers that it launched before a
 * restart.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeFolder, OWNER_FILE, requireKind } from "./durable-file.ts";

const SQLITE_BUSY = 5;

/** Wait for another server that is about to exit, ms. */
const BUSY_MS = 2000;

interface DataFolder {
	serverId: string;
	close(): void;
}

/**
 * Throws an Error while another server uses the folder. SQLite's lock ends with the process and works across containers
 * on one machine.
 */
export function openDataFolder(path: string): DataFolder {
	makeFolder(path);
	const file = join(path, "server.db");
	requireKind(file, "file");
	makeOwnersOnly(file);
	const db = new DatabaseSync(file, { timeout: BUSY_MS });
	try {
		db.exec(
			"PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE IF NOT EXISTS server (id " +
				"TEXT PRIMARY KEY) STRICT",
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
		if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
		throw new Error(`The folder ${path} is in use by another server. Each server needs its own: --data-dir FOLDER.`, {
			cause: error,
		});
	}
}

/** Sets mode 0600, also for SQLite's journal. */
function makeOwnersOnly(file: string): void {
	try {
		closeSync(openSync(file, "a", OWNER_FILE));
		chmodSync(file, OWNER_FILE);
	} catch {
		// SQLite reports a file that cannot be created; another owner's file keeps its mode.
	}
}
