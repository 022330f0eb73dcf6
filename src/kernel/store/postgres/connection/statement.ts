import type { TakeValue } from "./copy-out.ts";

/** Integers and `float8` are numbers, `bool` boolean, all else text. */
export type Value = string | number | boolean | null;

/** A `Buffer` is in binary format (`arrays.ts`). */
export type Parameter = string | number | boolean | null | Buffer;

/** A statement. With a name each connection prepares it once; without one it is sent as text and has no values. */
export interface Statement {
	readonly name?: string;
	readonly text: string;
	/** Gets the values of a `COPY … TO STDOUT (FORMAT binary)`, which has neither name nor values. */
	readonly take?: TakeValue;
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

/** Whether PostgreSQL can store the text: it rejects U+0000. */
export function isStorable(text: string): boolean {
	return !text.includes("\0");
}

/** Returns the path of a text in a query that PostgreSQL cannot store. `error` is stored as JSON. */
export function unstorable(q: unknown): string | undefined {
	if (typeof q !== "object" || q === null || q instanceof Uint8Array) return undefined;
	for (const name in q) {
		const value = (q as Record<string, unknown>)[name];
		if (typeof value === "string") {
			if (name !== "error" && !isStorable(value)) return name;
			continue;
		}
		const found = unstorable(value);
		if (found !== undefined) return `${name}.${found}`;
	}
	return undefined;
}
