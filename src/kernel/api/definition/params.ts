/** Query parameters: one definition for parsing and documentation. */
import { DATE_TIME, hasControls, NO_CONTROLS } from "../../lib/text.ts";

export interface ParamDescription {
	readonly name: string;
	readonly description: string;
	readonly required?: true;
	readonly schema: Readonly<Record<string, unknown>>;
}

export interface Param<T> extends ParamDescription {
	/** Completes "it must be ...". */
	readonly bound: string;
	/** Undefined if the text is not valid. */
	readonly read: (text: string) => T | undefined;
	readonly default?: T;
}

export type ParamWithDefault<T> = Param<T> & { readonly default: T };

interface Range {
	minimum: number;
	maximum: number;
	description: string;
}

/** `description` states the unit. */
export function whole(name: string, range: Range & { default: number }): ParamWithDefault<number>;
export function whole(name: string, range: Range): Param<number>;
export function whole(name: string, range: Range & { default?: number }): Param<number> {
	const { minimum, maximum, description } = range;
	const fallback = range.default === undefined ? {} : { default: range.default };
	return {
		name,
		description,
		bound: `a whole number from ${minimum} to ${maximum}`,
		schema: {
			type: "integer",
			minimum,
			...(maximum === Number.MAX_SAFE_INTEGER ? {} : { maximum }),
			...fallback,
		},
		...fallback,
		read(text) {
			const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
			return Number.isSafeInteger(value) && value >= minimum && value <= maximum ? value : undefined;
		},
	};
}

export function word<W extends string>(name: string, words: readonly W[], description: string): Param<W> {
	return {
		name,
		description,
		bound: `one of ${words.join(", ")}`,
		schema: { type: "string", enum: words },
		read: (text) => words.find((each) => each === text),
	};
}

export function words<W extends string>(name: string, all: readonly W[], description: string): Param<W[]> {
	return {
		name,
		description,
		bound: `one or more of ${all.join(", ")}, separated by commas`,
		schema: { type: "array", items: { type: "string", enum: all } },
		read(text) {
			const found = text.split(",").map((part) => all.find((each) => each === part));
			return found.includes(undefined) ? undefined : (found as W[]);
		},
	};
}

/** Absent: false. */
export function flag(name: string, description: string): ParamWithDefault<boolean> {
	return {
		name,
		description,
		bound: "true or false",
		schema: { type: "boolean", default: false },
		default: false,
		read: (text) => (text === "true" ? true : text === "false" ? false : undefined),
	};
}

export function text(name: string, longest: number, description: string): Param<string> {
	return {
		name,
		description,
		bound: `text of 1 to ${longest} characters without control characters`,
		schema: { type: "string", minLength: 1, maxLength: longest, pattern: NO_CONTROLS },
		read: (value) => (value.length >= 1 && value.length <= longest && !hasControls(value) ? value : undefined),
	};
}

/** Takes ms since the epoch, or a date and time with zone; read as ms since the epoch. */
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
			const time = new RegExp(DATE_TIME).test(value) ? Date.parse(value) : NaN;
			return Number.isNaN(time) ? undefined : time;
		},
	};
}

/** Bounds of `?wait=` (D7, D8). */
const [SHORTEST_WAIT, LONGEST_WAIT] = [1000, 300_000] as const;

/** Maximum time that a call is held; `otherwise` is the default, ms. */
export function wait(otherwise: number): ParamWithDefault<number> {
	return {
		name: "wait",
		description: `How long the call may be held, ms. Values outside ${SHORTEST_WAIT} to ${LONGEST_WAIT} are clamped.`,
		bound: `a number of ms from ${SHORTEST_WAIT} to ${LONGEST_WAIT}`,
		schema: { type: "number", default: otherwise },
		default: otherwise,
		read: (value) =>
			/^-?\d+(\.\d+)?$/.test(value)
				? Math.min(LONGEST_WAIT, Math.max(SHORTEST_WAIT, Math.round(Number(value))))
				: undefined,
	};
}

/** Pages of a list (D12). */
export const CURSOR = text("cursor", 200, "`next` of the previous page.");
export const LIMIT = whole("limit", {
	minimum: 1,
	maximum: 100,
	default: 20,
	description: "Maximum number of items on this page.",
});

export const ENDPOINT_FILTER = text("endpoint", 64, "Only this endpoint.");
