/** Prepared statements and their values. */

/** A column's value as read: integers and `float8` are numbers, `bool` is boolean, else text. */
export type Value = string | number | boolean | null;

/** A parameter; a `Buffer` is in binary form, as `arrays.ts` makes them. */
export type Parameter = string | number | boolean | null | Buffer;

/** SQL that is prepared once on each connection. */
export interface Statement {
	readonly name: string;
	readonly text: string;
}

/** Rows in the order of the columns, the number of rows read or written, and the command tag. */
export interface Answer {
	rows: Value[][];
	count: number;
	command: string;
}

/** Runs statements in the order of the calls. Throws as `errors.ts` says. */
export interface Runner {
	run(statement: Statement, values?: readonly Parameter[]): Promise<Answer>;
}

let statements = 0;

/** A statement, with a name of its own under which connections prepare it. */
export function statement(text: string): Statement {
	statements += 1;
	return { name: `sluice_${statements}`, text };
}
