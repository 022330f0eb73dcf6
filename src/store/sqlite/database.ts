/** The only file that uses `node:sqlite`: opens the database file and interprets its errors. */
import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeFolder, OWNER_FILE } from "../../durable-file.ts";
import { StoreUnavailable } from "../contract/store.ts";

/** What a column holds or a parameter may be. */
export type Value = string | number | null | Uint8Array;

/** A prepared statement; rows come as arrays in the order of the columns. */
export interface Statement {
	get(...values: Value[]): Value[] | undefined;
	all(...values: Value[]): Value[][];
	iterate(...values: Value[]): IterableIterator<Value[]>;
	run(...values: Value[]): { changes: number | bigint };
}

/** An open database, used by one thread. */
export interface Database {
	readonly path: string;
	prepare(sql: string): Statement;
	/** Runs SQL without parameters, possibly several statements. */
	exec(sql: string): void;
	/** Whether a transaction is open: writing is only possible in one. */
	readonly inTransaction: boolean;
	close(): void;
}

/** Where the file is, and the most pages of 4096 bytes it may have (for tests of a full disk). */
export interface DatabaseOptions {
	path: string;
	maxPages?: number | undefined;
}

/** How long to wait for a service that is just closing the file, ms. */
const BUSY_TIMEOUT_MS = 2000;

/**
 * Exclusive lock: a second service is refused, and the WAL index needs no shared memory. Every
 * commit is flushed (D17). Page cache 8 MB; checkpoint after 16 MB of WAL.
 */
const PRAGMAS = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -8192;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA temp_store = MEMORY;
`;

/**
 * Opens or creates the file, for its owner alone since it holds inputs and the values of `env`, and
 * its folder. Throws {@link StoreUnavailable} `unreachable` when another process has it.
 */
export function openDatabase({ path, maxPages }: DatabaseOptions): Database {
	makeFolder(dirname(path));
	makeOwnersOnly(path);
	const db = new DatabaseSync(path, {
		timeout: BUSY_TIMEOUT_MS,
		returnArrays: true,
		enableForeignKeyConstraints: false,
	});
	try {
		db.exec(PRAGMAS);
		if (maxPages !== undefined) db.exec(`PRAGMA max_page_count = ${maxPages}`);
	} catch (error) {
		db.close();
		const code = resultCode(error);
		if (code === SQLITE_BUSY)
			throw new StoreUnavailable(
				"unreachable",
				`${path} is in use by another process. ` +
					"Only one service can have a SQLite store open; stop the other one or name another file.",
				{ cause: error },
			);
		if (code === SQLITE_NOTADB)
			throw new Error(
				`${path} is not a SQLite database. Name another file for the store; nothing was changed here.`,
				{ cause: error },
			);
		throw unavailable(error, path) ?? error;
	}
	return {
		path,
		// The driver's types do not know that `returnArrays` makes rows arrays.
		prepare: (sql) => db.prepare(sql) as unknown as Statement,
		exec: (sql) => db.exec(sql),
		get inTransaction() {
			return db.isTransaction;
		},
		close: () => db.close(),
	};
}

/**
 * Creates the file; SQLite gives its log the same mode and flushes the folder when it creates the
 * log. If it cannot be created, SQLite reports why.
 */
function makeOwnersOnly(path: string): void {
	try {
		closeSync(openSync(path, "wx", OWNER_FILE));
	} catch {}
}

const SQLITE_BUSY = 5;
const SQLITE_NOTADB = 26;
/** READONLY, IOERR, FULL, CANTOPEN: no write now, perhaps later. */
const NO_WRITE: ReadonlySet<number> = new Set([8, 10, 13, 14]);

/** The primary result code of SQLite in an error of the driver. */
function resultCode(error: unknown): number | undefined {
	if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number")
		return undefined;
	return error.errcode & 0xff;
}

/** The error as {@link StoreUnavailable} if the disk is full or fails. */
export function unavailable(error: unknown, path: string): StoreUnavailable | undefined {
	if (error instanceof StoreUnavailable) return error;
	const code = resultCode(error);
	if (code === undefined || !NO_WRITE.has(code)) return undefined;
	return new StoreUnavailable("full", `${path} cannot be written: ${(error as Error).message}.`, {
		cause: error,
	});
}
