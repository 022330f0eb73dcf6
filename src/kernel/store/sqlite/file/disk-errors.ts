/** What a failed call of SQLite means for the store: full, forbidden, damaged, busy, or a fault of the code. */
import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { StoreUnavailable } from "../../contract/store.ts";

export const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
export const SQLITE_NOTADB = 26;
/** READONLY, IOERR, FULL, CANTOPEN: writes may succeed later. */
const NO_WRITE: ReadonlySet<number> = new Set([8, 10, 13, 14]);

/** IOERR_FSYNC and IOERR_DIR_FSYNC. */
const FAILED_FLUSH: ReadonlySet<number> = new Set([1034, 1290]);

/**
 * The system may have dropped what was written, and a later flush would succeed without it. The process must end; the
 * next one reads what the disk has (decision 0031).
 */
export class FlushFailed extends Error {
	constructor(path: string, cause: Error) {
		super(
			`${path} could not be flushed to disk (${cause.message}). What was not acknowledged yet may be ` +
				"lost, so the service ends; its next start reads what the disk has. Check the disk.",
			{ cause },
		);
	}
}

export function throwIfFlushFailed(error: unknown, path: string): void {
	if (error instanceof Error && "errcode" in error && FAILED_FLUSH.has(error.errcode as number))
		throw new FlushFailed(path, error);
}

/**
 * Whether another transaction blocked a copy's first step. The driver reads the code from the connection, where the
 * next statement may have replaced it with 0.
 */
export function copyIsBusy(error: unknown): boolean {
	const code = resultCode(error);
	return code === SQLITE_BUSY || code === 0;
}

export function resultCode(error: unknown): number | undefined {
	if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
	return error.errcode & 0xff;
}

/** Returns why a stored text is damaged. Throws every other error again, also that of a file that can be read later. */
export function damageOf(error: unknown): string {
	const isDamage = error instanceof StoreUnavailable && error.why === "damaged" && error.cause === undefined;
	if (!isDamage) throw error;
	return error.message;
}

export function unavailable(error: unknown, path: string): StoreUnavailable | undefined {
	if (error instanceof StoreUnavailable) return error;
	const code = resultCode(error);
	if (code === SQLITE_CORRUPT)
		return new StoreUnavailable(
			"damaged",
			`${path} is damaged: ${(error as Error).message}. Stop the service, rename the file and its log, and ` +
				`restore a backup (sluice restore FILE --store sqlite:${path}), or save what can be read: ` +
				`sqlite3 ${path} .recover`,
			{ cause: error },
		);
	if (code === undefined || !NO_WRITE.has(code)) return undefined;
	// `full`: nothing can be written now. A log index that cannot grow is an I/O error.
	const why = whyFull(dirname(path)) ?? whyForbidden(path) ?? (error as Error).message;
	return new StoreUnavailable("full", `${path} cannot be written: ${why}.`, { cause: error });
}

function whyForbidden(path: string): string | undefined {
	try {
		accessSync(dirname(path), constants.W_OK | constants.X_OK);
		if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
		return undefined;
	} catch (error) {
		const { message, path: at } = error as NodeJS.ErrnoException;
		return `${message}. Give the user of the service write access to ${at}, or name another place with --store`;
	}
}

export function whyFull(folder: string): string | undefined {
	try {
		const { blocks, bavail, files, ffree } = statfsSync(folder);
		if (blocks === 0) return undefined;
		if (bavail === 0) return "database or disk is full";
		// Some file systems have no table of inodes.
		return files > 0 && ffree === 0 ? "the file system has no free inodes" : undefined;
	} catch {
		return undefined;
	}
}
