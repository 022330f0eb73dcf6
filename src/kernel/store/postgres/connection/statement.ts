/** Integers and `float8` are numbers, `bool` boolean, all else text. */
export type Value = string | number | boolean | null;

/** A `Buffer` is in binary format (`arrays.ts`). */
export type Parameter = string | number | boolean | null | Buffer;

/** A statement. With a name each connection prepares it once; without one it is sent as text and has no values. */
export interface Statement {
	readonly name?: string;
	readonly text: string;
}

/** `count`: rows read or written. `command`: the command tag. */
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

export function statement(text: string): Statement {
	statements += 1;
	return { name: `sluice_${statements}`, text };
}
