/** Statements as they are written in this folder, and whatever runs them. */

/**
 * A value of a column as it is read: `int8` and `int4` are numbers, everything else but `bool` is
 * text.
 */
export type Value = string | number | boolean | null;

/** A parameter; a `Buffer` is a binary form, such as those of `arrays.ts`. */
export type Parameter = string | number | boolean | null | Buffer;

/** SQL that is prepared once on each connection. */
export interface Statement {
	readonly name: string;
	readonly text: string;
}

/**
 * What a statement gave: rows as lists in the order of the columns, how many rows it wrote or read,
 * and what the server says it did.
 */
export interface Answer {
	rows: Value[][];
	count: number;
	command: string;
}

/** Runs statements, those of one caller in their order. Throws as `faults.ts` says. */
export interface Runner {
	run(statement: Statement, values?: readonly Parameter[]): Promise<Answer>;
}

let statements = 0;

/** A statement; each has a name of its own under which connections prepare it. */
export function statement(text: string): Statement {
	statements += 1;
	return { name: `sluice_${statements}`, text };
}
