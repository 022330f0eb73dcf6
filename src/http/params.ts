/** Query parameters: each is described once, for reading it and for the pages about it. */
import { badQuery } from "../core/errors.ts";
import { query } from "./call.ts";
import type { Call } from "./call.ts";

/** What the pages about the API tell of a parameter. */
export interface ParamReader {
	name: string;
	description: string;
	/** Nothing can be done without it. */
	required?: true;
	/** JSON Schema of the value. */
	schema: Readonly<Record<string, unknown>>;
}

/** A parameter with values of type T. */
export interface Param<T> extends ParamReader {
	/** What its value must be, ending the sentence "it must be ...". */
	bound: string;
	/** The value that a text means; undefined for a text that is none. */
	read: (text: string) => T | undefined;
}

/**
 * The value of a parameter, undefined when it is not there. Throws `bad_query` when it cannot be
 * understood.
 */
export function valueOf<T>(call: Call, param: Param<T>): T | undefined {
	if (call.queryText === "") return undefined;
	const text = query(call).get(param.name);
	if (text === null) return undefined;
	const value = param.read(text);
	if (value === undefined) throw badQuery(param.name, text, param.bound);
	return value;
}

/** A whole number within bounds, in the unit that `description` names. */
export function whole(
	name: string,
	{
		low,
		high,
		otherwise,
		description,
	}: { low: number; high: number; otherwise?: number; description: string },
): Param<number> {
	return {
		name,
		description,
		bound: `a whole number from ${low} to ${high}`,
		schema: {
			type: "integer",
			minimum: low,
			...(high === Number.MAX_SAFE_INTEGER ? {} : { maximum: high }),
			...(otherwise === undefined ? {} : { default: otherwise }),
		},
		read(text) {
			const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
			return Number.isSafeInteger(value) && value >= low && value <= high ? value : undefined;
		},
	};
}

/** One of some words. */
export function word<W extends string>(
	name: string,
	words: readonly W[],
	description: string,
): Param<W> {
	return {
		name,
		description,
		bound: `one of ${words.join(", ")}`,
		schema: { type: "string", enum: words },
		read: (text) => words.find((each) => each === text),
	};
}

/** Some of some words, with commas between them. */
export function words<W extends string>(
	name: string,
	all: readonly W[],
	description: string,
): Param<W[]> {
	return {
		name,
		description,
		bound: `one or more of ${all.join(", ")}, with commas between them`,
		schema: { type: "array", items: { type: "string", enum: all } },
		read(text) {
			const found = text.split(",").map((part) => all.find((each) => each === part));
			return found.includes(undefined) ? undefined : (found as W[]);
		},
	};
}

/** `true` or `false`. */
export function yes(name: string, description: string): Param<boolean> {
	return {
		name,
		description,
		bound: "true or false",
		schema: { type: "boolean", default: false },
		read: (text) => (text === "true" ? true : text === "false" ? false : undefined),
	};
}

/** Text of 1 to `longest` characters. */
export function text(name: string, longest: number, description: string): Param<string> {
	return {
		name,
		description,
		bound: `text of 1 to ${longest} characters`,
		schema: { type: "string", minLength: 1, maxLength: longest },
		read: (value) => (value.length >= 1 && value.length <= longest ? value : undefined),
	};
}

/**
 * A moment: ms since the epoch, or a date and time with its zone. The value is ms since the epoch.
 */
export function moment(name: string, description: string): Param<number> {
	return {
		name,
		description,
		bound: "ms since the epoch or a date and time such as 2026-01-31T12:00:00Z",
		schema: {
			oneOf: [
				{ type: "integer", minimum: 0 },
				{ type: "string", format: "date-time" },
			],
		},
		read(value) {
			if (/^\d{1,15}$/.test(value)) return Number(value);
			const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(value)
				? Date.parse(value)
				: NaN;
			return Number.isNaN(time) ? undefined : time;
		},
	};
}
