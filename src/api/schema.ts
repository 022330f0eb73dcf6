/**
 * Shared JSON Schema constants, and the TypeScript types derived from schemas by TypeBox (types
 * only, nothing at run time).
 */
import type { XStatic } from "typebox/schema";
import type { Schema } from "../core/schema.ts";

/** Any JSON Schema 2020-12, not only those that `core/schema.ts` can check. */
export type JsonSchema = Schema | Readonly<Record<string, unknown>>;

/** The type that a schema describes. */
export type Static<S> = XStatic<S>;

/** `T` as returned by handlers: optional members may be undefined, which JSON omits. */
export type Sendable<T> = T extends readonly (infer Item)[]
	? readonly Sendable<Item>[]
	: T extends object
		? {
				readonly [Name in keyof T]: Sendable<T[Name]> | (T extends Record<Name, T[Name]> ? never : undefined);
			}
		: T;

export const TEXT = { type: "string" } as const;
export const FLAG = { type: "boolean" } as const;
export const COUNT = { type: "integer", minimum: 0 } as const;
export const MS = { type: "integer", minimum: 0, "x-unit": "ms" } as const;
export const MOMENT = { type: "string", format: "date-time" } as const;
export const TEXTS = { type: "array", items: TEXT } as const;
export const EMPTY = { type: "object", maxProperties: 0 } as const;
const CURSOR_OR_NULL = {
	type: ["string", "null"],
	description: "Cursor of the next page; null on the last page.",
} as const;

/** An object with the members `P`, of which `R` are required: a tuple, since `Static` reads a list as empty. */
type ObjectSchema<P, R> = {
	readonly type: "object";
	readonly required: readonly [R, ...R[]];
	readonly properties: P;
	readonly description?: string;
};

interface ObjectOptions<O> {
	readonly optional?: readonly O[];
	readonly description?: string;
}

/** Returns the schema of an object whose members are required, except for the optional ones. */
export function object<const P extends Readonly<Record<string, unknown>>, const O extends keyof P & string = never>(
	properties: P,
	{ optional = [], ...rest }: ObjectOptions<O> = {},
): ObjectSchema<P, Exclude<keyof P & string, O>> {
	type Required = Exclude<keyof P & string, O>;
	const required = Object.keys(properties).filter((name) => !(optional as readonly string[]).includes(name));
	return { type: "object", required: required as [Required, ...Required[]], properties, ...rest };
}

/** Returns `base` with more members. */
export function extend<
	const B extends ObjectSchema<object, string>,
	const P extends Readonly<Record<string, unknown>>,
	const O extends keyof P & string = never,
>(
	base: B,
	properties: P,
	options: ObjectOptions<O> = {},
): ObjectSchema<B["properties"] & P, B["required"][number] | Exclude<keyof P & string, O>> {
	const more = object(properties, options);
	return {
		...base,
		...more,
		required: [...base.required, ...more.required],
		properties: { ...base.properties, ...properties },
	};
}

export interface List<S> {
	readonly type: "array";
	readonly items: S;
}

export function list<const S>(items: S): List<S> {
	return { type: "array", items };
}

/** `{name: [item, ...]}`. */
export function listIn<const Name extends string, const S>(name: Name, item: S) {
	return object({ [name]: list(item) } as Readonly<Record<Name, List<S>>>);
}

/** `{name: [item, ...], next}`. */
export function pageOf<const Name extends string, const S>(name: Name, item: S) {
	const items = { [name]: list(item) } as Readonly<Record<Name, List<S>>>;
	return object({ ...items, next: CURSOR_OR_NULL });
}

/** Values for examples. */
export const EXAMPLE = {
	job: "019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77",
	at: "2026-01-31T12:00:00.000Z",
	worker: "hello-1a2b3c",
} as const;
