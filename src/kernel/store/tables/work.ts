import type { Signal } from "../contract/store.ts";

/** SQLite keeps booleans as numbers. */
export type Value = string | number | boolean | null;

/** Parameters are `$1`, `$2`, …. `sqlite`: without row locks, with hints for the choice of an index. */
export interface Sql {
	readonly text: string;
	readonly sqlite: string;
}

export function sql(text: string, sqlite = text): Sql {
	return { text, sqlite };
}

/**
 * A read returns rows as lists of values, a change the number of rows written. A lock of a table ends with the
 * transaction; notifications of other servers and signals to all follow its commit. With SQLite, locks and
 * notifications do nothing.
 */
export type Step =
	| { read: Sql; values: readonly Value[] }
	| { change: Sql; values: readonly Value[] }
	| { lock: string }
	| { notify: Signal["kind"] & ("endpoints" | "access") }
	| { signal: Signal["kind"] & "delivery" };

/** A dialect may run the steps again from the start. */
export type Work<A> = Generator<Step, A, unknown>;

export function* rows(read: Sql, ...values: readonly Value[]): Work<Value[][]> {
	return (yield { read, values }) as Value[][];
}

export function* change(statement: Sql, ...values: readonly Value[]): Work<number> {
	return (yield { change: statement, values }) as number;
}

/** Lets one transaction at a time change a table whose rows depend on each other. */
export function* lock(table: string): Work<void> {
	yield { lock: table };
}

/** After the commit, other servers may no longer take these from memory. */
export function* notify(kind: "endpoints" | "access"): Work<void> {
	yield { notify: kind };
}

/** Signals to all servers, this one included, after the commit. */
export function* signal(kind: "delivery"): Work<void> {
	yield { signal: kind };
}
