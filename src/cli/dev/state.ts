/**
 * `.sluice/`, what `sluice dev` keeps beside the handler: the queue, the key, and which worker ran
 * last.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { replaceFile } from "../../durable-file.ts";
import { CliError } from "../command.ts";

const SQLITE_BUSY = 5;

/** The folder and what it remembers. */
export interface DevStore {
	/** Path of the SQLite file. */
	path: string;
	/** The same in each run, so that pasted lines stay good. */
	key: string;
	/** Worker of an earlier run that may not have been ended. */
	lastWorker: string | undefined;
	/** Remembers the worker that runs now. */
	remember(worker: string | undefined): void;
}

/**
 * Opens or makes the folder. `fresh` begins with an empty queue. Throws {@link CliError} when it
 * cannot be written.
 */
export function devStore(q: { folder: string; fresh: boolean }): DevStore {
	const place = join(q.folder, ".sluice");
	const path = join(place, "dev.db");
	const file = join(place, "dev.json");
	try {
		mkdirSync(place, { recursive: true, mode: 0o700 });
		// It ignores itself: nothing of it belongs into a repository.
		writeFileSync(join(place, ".gitignore"), "*\n");
		if (q.fresh) begin(path);
	} catch (error) {
		if (error instanceof CliError) throw error;
		throw new CliError(
			`The queue is kept in ${place}, and that cannot be written: ${(error as Error).message}`,
			1,
		);
	}
	const before = read(file);
	const key = before.key ?? `dev_${randomBytes(18).toString("hex")}`;
	const save = (worker: string | undefined): void =>
		replaceFile(file, `${JSON.stringify({ key, worker })}\n`);
	save(before.worker);
	return { path, key, lastWorker: before.worker, remember: save };
}

/** Removes the database, unless another session has it open. */
function begin(path: string): void {
	if (existsSync(path)) {
		const database = new DatabaseSync(path);
		try {
			database.exec("BEGIN EXCLUSIVE; ROLLBACK");
		} catch (error) {
			// One that cannot be read at all is what --fresh is there for.
			if ((error as { errcode?: number }).errcode === SQLITE_BUSY)
				throw new CliError(`Another session has ${path} open. End it first.`, 1);
		} finally {
			database.close();
		}
	}
	for (const ending of ["", "-wal", "-shm", ".secret"]) rmSync(path + ending, { force: true });
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
