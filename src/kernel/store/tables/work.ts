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

/** Locks a table whose rows depend on each other: one transaction at a time changes it. */
export function* lock(table: string): Work<void> {
	yield { lock: table };
}

/** Notifies other servers after the commit that their copies of these in memory are outdated. */
export function* notify(kind: "endpoints" | "access"): Work<void> {
	yield { notify: kind };
}

/** Sends a signal to all servers, including this one, after the commit. */
export function* signal(kind: "delivery"): Work<void> {
	yield { signal: kind };
}

type Readers<Row> = { [M in keyof Row]?: (value: never) => Row[M] };

/**
 * The column `created_at` is the member `createdAt` of its rows, null an absent member. SQLite keeps booleans as
 * numbers: their reader is `Boolean`.
 */
export function columns<Row>(names: string, readers: Readers<Row> = {}) {
	const each = names.split(", ").map((name) => {
		const member = name.replaceAll(/_[a-z]/g, (part) => part.charAt(1).toUpperCase());
		return { name, member, read: (readers as Record<string, ((value: unknown) => unknown) | undefined>)[member] };
	});
	return {
		names,
		parameters: each.map((_, at) => `$${at + 1}`).join(", "),
		/** Assignments of an upsert: all columns after the first `keys`. */
		replaced: (keys: number): string =>
			each
				.slice(keys)
				.map(({ name }) => `${name} = excluded.${name}`)
				.join(", "),
		from: (values: readonly unknown[]): Row =>
			Object.fromEntries(
				each.map(({ member, read }, at) => {
					const value = values[at] ?? undefined;
					return [member, value !== undefined && read ? read(value) : value];
				}),
			) as Row,
		/** Returns the values of a row; its members must be stored unchanged. */
		values: (row: Row): Value[] => each.map(({ member }) => (row as Record<string, Value>)[member] ?? null),
	};
}
