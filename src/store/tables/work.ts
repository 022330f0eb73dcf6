/**
 * The work of an operation on a small table, written once for both dialects: statements that both
 * understand, and what follows from their rows.
 */
import type { Signal } from "../contract/store.ts";

/** A column's value or a parameter. SQLite keeps booleans as numbers. */
export type Value = string | number | boolean | null;

/** SQL with parameters `$1`, `$2`, …, prepared once by each dialect. */
export interface Sql {
	readonly text: string;
}

export function sql(text: string): Sql {
	return { text };
}

/**
 * What a dialect carries out: a read, which returns rows as lists of values; a change, which returns
 * the number of rows written; a lock of a table until the end of the transaction; a signal to other
 * servers after the commit. With SQLite there are no other servers, so the last two do nothing.
 */
export type Step =
	| { read: Sql; values: readonly Value[] }
	| { change: Sql; values: readonly Value[] }
	| { lock: string }
	| { notify: Signal["kind"] & ("endpoints" | "access") };

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
