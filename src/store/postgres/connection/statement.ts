/** Prepared statements and their values. */

/** A column's value: integers and `float8` as numbers, `bool` as boolean, else text. */
export type Value = string | number | boolean | null;

/** A parameter; a `Buffer` is in binary format (`arrays.ts`). */
export type Parameter = string | number | boolean | null | Buffer;

/** SQL that each connection prepares once. */
export interface Statement {
	readonly name: string;
	readonly text: string;
}

/** Rows as value lists, the number of rows read or written, and the command tag. */
export interface Answer {
	rows: Value[][];
	count: number;
	command: string;
}

/** Runs statements in call order. Throws as `errors.ts` says. */
export interface Runner {
	run(statement: Statement, values?: readonly Parameter[]): Promise<Answer>;
}

let statements = 0;

/** A statement with its own name, under which connections prepare it. */
export function statement(text: string): Statement {
	statements += 1;
	return { name: `sluice_${statements}`, text };
}
