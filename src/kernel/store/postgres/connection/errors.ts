import { DatabaseError } from "pg";
import { StoreUnavailable } from "../../contract/store.ts";
import type { Marker } from "./commit-markers.ts";

/** Codes of errors after which a retry may succeed immediately. */
const CONTENDED: ReadonlySet<string> = new Set([
	"40001", // serialization_failure
	"40P01", // deadlock_detected
]);

/** too_many_connections */
const TOO_MANY_CONNECTIONS = "53300";

/** Codes of errors after which the connection is unusable, and a new one may succeed soon. */
const UNREACHABLE: ReadonlySet<string> = new Set([
	"57P01", // admin_shutdown
	"57P02", // crash_shutdown
	"57P03", // cannot_connect_now: starting, stopping or recovering
	"57P05", // idle_session_timeout
	"25P04", // transaction_timeout
	"25P03", // idle_in_transaction_session_timeout
	"25006", // read_only_sql_transaction: a standby, until the failover is done
	TOO_MANY_CONNECTIONS,
]);

/** lock_not_available: lock_timeout */
const LOCK_TIMEOUT = "55P03";

const TIMED_OUT: ReadonlySet<string> = new Set([
	LOCK_TIMEOUT,
	"57014", // query_canceled: statement_timeout, or by an operator
]);

const FULL: ReadonlySet<string> = new Set([
	"53100", // disk_full
	"53200", // out_of_memory
	"58030", // io_error
]);

/** The connection was lost; statements in flight may have been executed. */
export class ConnectionLost extends Error {}

/** The COMMIT got no answer and its marker could not be read. */
export class OutcomeUnknown extends Error {
	readonly marker: Marker;
	constructor(marker: Marker, options: ErrorOptions) {
		super(`Transaction ${marker.serial} of session ${marker.session} may have been committed or not.`, options);
		this.marker = marker;
	}
}

export function fromDriver(error: unknown): Error {
	return error instanceof DatabaseError ? error : new ConnectionLost((error as Error).message, { cause: error });
}

export function isContended(error: unknown): boolean {
	return error instanceof DatabaseError && CONTENDED.has(error.code ?? "");
}

export function isLockTimeout(error: unknown): boolean {
	return error instanceof DatabaseError && error.code === LOCK_TIMEOUT;
}

/** Whether an error means that the connection is lost; includes class 08. */
export function losesConnection(error: unknown): boolean {
	if (error instanceof StoreUnavailable) return error.why === "unreachable";
	if (error instanceof ConnectionLost) return true;
	if (!(error instanceof DatabaseError)) return false;
	return UNREACHABLE.has(error.code ?? "") || (error.code ?? "").startsWith("08");
}

/** The error for callers of the store. `name`: the database, without secrets. */
export function faultOf(error: unknown, name: string): Error {
	if (error instanceof OutcomeUnknown)
		return new StoreUnavailable(
			"unreachable",
			`PostgreSQL at ${name} was lost during the commit, and its outcome is unknown: ${reasonOf(error.cause)}.`,
			{ cause: error, unsure: true },
		);
	if (error instanceof ConnectionLost)
		return new StoreUnavailable("unreachable", `PostgreSQL at ${name} cannot be reached: ${reasonOf(error)}.`, {
			cause: error,
		});
	if (!(error instanceof DatabaseError)) return error as Error;
	const code = error.code ?? "";
	if (FULL.has(code))
		return new StoreUnavailable("full", `PostgreSQL at ${name} cannot write: ${error.message}.`, {
			cause: error,
		});
	if (losesConnection(error))
		return new StoreUnavailable("unreachable", `PostgreSQL at ${name} is not available: ${reasonOf(error)}.`, {
			cause: error,
		});
	if (CONTENDED.has(code) || TIMED_OUT.has(code))
		return new StoreUnavailable("busy", `PostgreSQL at ${name} is busy: ${error.message}.`, {
			cause: error,
		});
	return new Error(`PostgreSQL at ${name} refused a statement (${code}): ${error.message}.`, {
		cause: error,
	});
}

/** Returns the end of a sentence: the reason, and what an operator can do. */
export function reasonOf(error: unknown): string {
	// The message is empty for a host with several addresses.
	const { message, code } = error as Error & { code?: string };
	return code === TOO_MANY_CONNECTIONS
		? `${message}; each server needs ten (max_connections, or a limit of the database or role)`
		: message || (code ?? "no answer");
}
