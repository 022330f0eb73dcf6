/** The only file that uses `node:sqlite`. */
import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, backup } from "node:sqlite";
import { makeFolder, OWNER_FILE, requireKind } from "../../../system/durable-file.ts";
import { StoreUnavailable } from "../../contract/store.ts";
import { resultCode, SQLITE_BUSY, SQLITE_NOTADB, unavailable } from "./disk-errors.ts";
import { fileIdentity, type FileIdentity, hasLog, header, markFile, missingLog, needsLog } from "./file-header.ts";

/** Value of `auto_vacuum`: free pages can be returned (`vacuum.ts`). */
const INCREMENTAL = 2;

export type Value = string | number | null | Uint8Array;

/** Rows are arrays in column order. */
export interface Statement {
	get(...values: Value[]): Value[] | undefined;
	all(...values: Value[]): Value[][];
	iterate(...values: Value[]): IterableIterator<Value[]>;
	run(...values: Value[]): { changes: number | bigint };
}

export interface Database {
	readonly path: string;
	prepare(sql: string): Statement;
	exec(sql: string): void;
	/** Writes need an open transaction. */
	readonly inTransaction: boolean;
	readonly identity: FileIdentity;
	/**
	 * Copies the database into a new file in steps of some pages, while this thread does nothing with it or has no
	 * transaction open. `step` may throw, which ends the copy. The copy is the database of the moment at which this
	 * resolves.
	 */
	copyTo(
		path: string,
		q: { pages: number; step: (at: { totalPages: number; remainingPages: number }) => void },
	): Promise<void>;
	close(): void;
}

/** `maxPages`: maximum size in pages of 4096 bytes (for tests). `acceptMissingLog`: open a file that lacks its log. */
export interface DatabaseOptions {
	path: string;
	acceptMissingLog?: boolean;
	maxPages?: number | undefined;
}

class MissingLog extends Error {}

/** Wait for a service that is closing the file, ms. */
const BUSY_TIMEOUT_MS = 2000;

/**
 * After the exclusive lock: with it a second service is refused, and the WAL index needs no shared memory, for which a
 * full disk has no room. Every commit is flushed (D17). Page cache 8 MB; checkpoint after 16 MB of WAL.
 */
const PRAGMAS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -8192;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA temp_store = MEMORY;
`;

/**
 * Creates the file and its folder readable only by the owner. Throws {@link StoreUnavailable} `unreachable` when
 * another process has it open, an Error for the operator when it lacks its log.
 */
export function openDatabase({ path, maxPages, acceptMissingLog }: DatabaseOptions): Database {
	makeFolder(dirname(path));
	requireKind(path, "file");
	makeOwnersOnly(path);
	const complete = acceptMissingLog === true || hasLog(path);
	const db = new DatabaseSync(path, {
		timeout: BUSY_TIMEOUT_MS,
		returnArrays: true,
		enableForeignKeyConstraints: false,
	});
	let identity: FileIdentity;
	try {
		db.exec("PRAGMA locking_mode = EXCLUSIVE");
		// Setting it again would be a write.
		if (header(db, "auto_vacuum") !== INCREMENTAL) db.exec("PRAGMA auto_vacuum = INCREMENTAL");
		db.exec(PRAGMAS);
		if (maxPages !== undefined) db.exec(`PRAGMA max_page_count = ${maxPages}`);
		// The first read opens the log.
		db.exec("SELECT count(*) FROM sqlite_schema");
		if (!complete && needsLog(db)) throw new MissingLog(missingLog(path));
		identity = fileIdentity(path, () => markFile(db));
		identity.confirm();
	} catch (error) {
		db.close();
		if (error instanceof MissingLog) throw error;
		const code = resultCode(error);
		if (code === SQLITE_BUSY)
			throw new StoreUnavailable(
				"unreachable",
				`${path} is in use by another process. ` +
					"Only one service can have a SQLite store open; stop the other one, or name another file with --store.",
				{ cause: error },
			);
		if (code === SQLITE_NOTADB)
			throw new Error(`${path} is not a SQLite database. Name another file for the store; nothing was changed here.`, {
				cause: error,
			});
		throw unavailable(error, path) ?? error;
	}
	return {
		path,
		prepare: (sql) => db.prepare(sql) as unknown as Statement,
		exec: (sql) => db.exec(sql),
		get inTransaction() {
			return db.isTransaction;
		},
		identity,
		async copyTo(copy, { pages, step }) {
			await backup(db, copy, { rate: pages, progress: step });
		},
		close: () => db.close(),
	};
}

/** SQLite gives its log the same mode and flushes the folder. If creation fails, SQLite reports the reason later. */
function makeOwnersOnly(path: string): void {
	try {
		closeSync(openSync(path, "wx", OWNER_FILE));
	} catch {}
}
