/** The folder `.sluice/` next to the handler: queue, API key, id of the last worker. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { replaceFile } from "../../durable-file.ts";
import { CliError } from "../errors.ts";

const SQLITE_BUSY = 5;

export interface DevState {
	/** SQLite file. */
	database: string;
	/** The same in every run: pasted commands stay valid. */
	key: string;
	/** From an earlier run; may still be running. */
	lastWorker?: string | undefined;
	setWorker(id: string | undefined): void;
}

/** `fresh` empties the queue. Throws {@link CliError}. */
export function openState(q: { folder: string; fresh: boolean }): DevState {
	const folder = join(q.folder, ".sluice");
	const database = join(folder, "dev.db");
	const file = join(folder, "dev.json");
	try {
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		writeFileSync(join(folder, ".gitignore"), "*\n");
		if (q.fresh) removeDatabase(database);
	} catch (error) {
		if (error instanceof CliError) throw error;
		throw new CliError(`Cannot write to ${folder}: ${(error as Error).message}`, 1);
	}
	const saved = read(file);
	const key = saved.key ?? `dev_${randomBytes(18).toString("hex")}`;
	const save = (worker: string | undefined): void =>
		replaceFile(file, `${JSON.stringify({ key, worker })}\n`);
	save(saved.worker);
	return { database, key, lastWorker: saved.worker, setWorker: save };
}

/** Throws if another session has the database open. */
function removeDatabase(path: string): void {
	if (existsSync(path)) {
		const database = new DatabaseSync(path);
		try {
			database.exec("BEGIN EXCLUSIVE; ROLLBACK");
		} catch (error) {
			// An unreadable database is removed too.
			if ((error as { errcode?: number }).errcode === SQLITE_BUSY)
				throw new CliError(`Another session has ${path} open. Stop it first.`, 1);
		} finally {
			database.close();
		}
	}
	for (const suffix of ["", "-wal", "-shm", ".secret"]) rmSync(path + suffix, { force: true });
}

function read(file: string): { key?: string; worker?: string } {
	try {
		const { key, worker } = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
		return {
			...(typeof key === "string" ? { key } : {}),
			...(typeof worker === "string" ? { worker } : {}),
		};
	} catch {
		return {};
	}
}
