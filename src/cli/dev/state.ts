/** The folder `.sluice/` next to the handler, which keeps the state of sessions. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { replaceFile } from "../../kernel/system/durable-file.ts";
import { CliError } from "../client/errors.ts";

const SQLITE_BUSY = 5;

const ANSWER_MS = 1000;

export type DevState = ReturnType<typeof openState>;

/** Throws {@link CliError} if a session of this folder runs. */
export async function refuseSecondSession(folder: string): Promise<void> {
	const { key, url } = read(join(folder, ".sluice", "dev.json"));
	if (key === undefined || url === undefined) return;
	const answer = await fetch(`${url}/v1/endpoints`, {
		headers: { authorization: `Bearer ${key}` },
		signal: AbortSignal.timeout(ANSWER_MS),
	}).catch(() => undefined);
	if (answer?.ok)
		throw new CliError(`sluice dev already runs here at ${url}. Stop it first (Ctrl-C in its terminal).`, 1);
}

/** `fresh` empties the queue. Throws {@link CliError}. */
export function openState(q: { folder: string; fresh: boolean }) {
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
	const current: Saved = { key, worker: saved.worker };
	const save = (change: Saved): void => replaceFile(file, `${JSON.stringify(Object.assign(current, change))}\n`);
	save({});
	return {
		database,
		/** The same in every run, which keeps pasted commands valid. */
		key,
		/** It may still run. */
		lastWorker: saved.worker,
		setWorker: (worker: string | undefined): void => save({ worker }),
		setUrl: (url: string | undefined): void => save({ url }),
	};
}

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

type Saved = Partial<Record<"key" | "worker" | "url", string | undefined>>;

function read(file: string): Saved {
	try {
		const saved = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
		return Object.fromEntries(Object.entries(saved).filter(([, value]) => typeof value === "string"));
	} catch {
		return {};
	}
}
