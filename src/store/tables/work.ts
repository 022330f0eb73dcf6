/**
 * The work of an operation on a small table, written once for both dialects: statements that both
 * understand, and what follows from their rows.
 */
import type { Signal } from "../contract/store.ts";

/** A column's value or a parameter. SQLite keeps booleans as numbers. */
export type Value = string | number | boolean | null;

/**
 * SQL with parameters `$1`, `$2`, …, prepared once by each dialect. `sqlite` is its text for SQLite
 * where that differs: no row locks, hints for the choice of an index.
 */
export interface Sql {
	readonly text: string;
	readonly sqlite: string;
}

export function sql(text: string, sqlite = text): Sql {
	return { text, sqlite };
}

/**
 * What a dialect carries out: a read, which returns rows as lists of values; a change, which returns
 * the number of rows written; a lock of a table until the end of the transaction; after the commit, a
 * notification of other servers, or a signal to all servers. With SQLite there are no other servers:
 * locks and notifications do nothing.
 */
export type Step =
	| { read: Sql; values: readonly Value[] }
	| { change: Sql; values: readonly Value[] }
	| { lock: string }
	| { notify: Signal["kind"] & ("endpoints" | "access") }
	| { signal: Signal["kind"] & "delivery" };

/** The steps of one operation, which end with its answer. A dialect may run them again from the start. */
export type Work<A> = Generator<Step, A, unknown>;

/** Returns the rows of a SELECT. */
export function* rows(read: Sql, ...values: readonly Value[]): Work<Value[][]> {
	return (yield { read, values }) as Value[][];
}

/** Runs an INSERT, UPDATE or DELETE and returns the number of rows it wrote. */
export function* change(statement: Sql, ...values: readonly Value[]): Work<number> {
	return (yield { change: statement, values }) as number;
}

/** Lets one transaction at a time change a table whose rows depend on each other. */
export function* lock(table: string): Work<void> {
	yield { lock: table };
}

/** Reports to other servers, after the commit, what they may no longer take from memory. */
export function* notify(kind: "endpoints" | "access"): Work<void> {
	yield { notify: kind };
}

/** Signals to all servers, this one included, after the commit. */
export function* signal(kind: "delivery"): Work<void> {
	yield { signal: kind };
}
