/**
 * What the errors of PostgreSQL and of the connection to it mean: which of them end by being tried
 * again, and which tell that the database is away.
 */
import { DatabaseError } from "pg";
import { StoreUnavailable } from "../../contract/store.ts";
import type { Marker } from "./commit-markers.ts";

/** Codes after which the same transaction may succeed at once: another one was in its way. */
const CONTENDED: ReadonlySet<string> = new Set([
	"40001", // serialization_failure
	"40P01", // deadlock_detected
]);

/**
 * Codes after which the connection is of no more use, though the database may be back in a moment.
 */
const AWAY: ReadonlySet<string> = new Set([
	"57P01", // admin_shutdown
	"57P02", // crash_shutdown
	"57P03", // cannot_connect_now: it starts, stops or recovers
	"57P05", // idle_session_timeout
	"25P04", // transaction_timeout
	"25P03", // idle_in_transaction_session_timeout
	"25006", // read_only_sql_transaction: a standby, until the failover is through
	"53300", // too_many_connections
]);

/** Codes of statements that have waited for others long enough. */
const WAITED: ReadonlySet<string> = new Set([
	"55P03", // lock_not_available: lock_timeout
	"57014", // query_canceled: statement_timeout, or an operator's hand
]);

/** Codes that tell that nothing can be written now. */
const FULL: ReadonlySet<string> = new Set([
	"53100", // disk_full
	"53200", // out_of_memory
	"58030", // io_error
]);

/** The connection broke, or could not be made: what was under way on it may have been done. */
export class ConnectionLost extends Error {}

/**
 * The end of a transaction got no answer, and the database could not be asked either: it may have
 * been committed.
 */
export class OutcomeUnknown extends Error {
	/** By which it can be asked for later. */
	readonly marker: Marker;
	constructor(marker: Marker, options: ErrorOptions) {
		super(
			`Transaction ${marker.serial} of session ${marker.session} may have been committed or not.`,
			options,
		);
		this.marker = marker;
	}
}

/**
 * An error of the driver as it is thrown on: what did not come from the database itself is the
 * connection's.
 */
export function fromDriver(error: unknown): Error {
	return error instanceof DatabaseError
		? error
		: new ConnectionLost((error as Error).message, { cause: error });
}

/** Whether the same transaction may succeed when it is run again at once. */
export function isContended(error: unknown): boolean {
	return error instanceof DatabaseError && CONTENDED.has(error.code ?? "");
}

/**
 * Whether the connection is lost with this error: those of class 08 too. Mistakes of ours are not.
 */
export function losesConnection(error: unknown): boolean {
	if (error instanceof StoreUnavailable) return error.why === "unreachable";
	if (error instanceof ConnectionLost) return true;
	if (!(error instanceof DatabaseError)) return false;
	return AWAY.has(error.code ?? "") || (error.code ?? "").startsWith("08");
}

/**
 * The error as callers of the store get it: {@link StoreUnavailable} where the same call may
 * succeed later. `name` is the database, without secrets.
 */
export function faultOf(error: unknown, name: string): Error {
	if (error instanceof OutcomeUnknown)
		return new StoreUnavailable(
			"unreachable",
			`PostgreSQL at ${name} was lost before it could tell what became of this: ${reasonOf(error.cause)}.`,
			{ cause: error, unsure: true },
		);
	if (error instanceof ConnectionLost)
		return new StoreUnavailable(
			"unreachable",
			`PostgreSQL at ${name} cannot be reached: ${reasonOf(error)}.`,
			{ cause: error },
		);
	if (!(error instanceof DatabaseError)) return error as Error;
	const code = error.code ?? "";
	if (FULL.has(code))
		return new StoreUnavailable("full", `PostgreSQL at ${name} cannot write: ${error.message}.`, {
			cause: error,
		});
	if (losesConnection(error))
		return new StoreUnavailable(
			"unreachable",
			`PostgreSQL at ${name} does not serve now: ${error.message}.`,
			{ cause: error },
		);
	if (CONTENDED.has(code) || WAITED.has(code))
		return new StoreUnavailable("busy", `PostgreSQL at ${name} is busy: ${error.message}.`, {
			cause: error,
		});
	return new Error(`PostgreSQL at ${name} refused a statement (${code}): ${error.message}.`, {
		cause: error,
	});
}

function reasonOf(error: unknown): string {
	return (error as Error).message;
}
