/** JSON Schema constants, and the TypeScript types that TypeBox derives from schemas (types only). */
import type { XStatic } from "typebox/schema";
import type { Schema } from "../../lib/schema.ts";

/** Any JSON Schema 2020-12, not only those that `lib/schema.ts` can check. */
export type JsonSchema = Schema | Readonly<Record<string, unknown>>;

export type Static<S> = XStatic<S>;

/** Optional members of a handler's result may be undefined, which JSON omits. */
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

type Members = Readonly<Record<string, unknown>>;

type Named<M> = { readonly [N in keyof M as N extends `${infer Name}?` ? Name : N]: M[N] };

/** `R` are required: a tuple, since `Static` reads a list as empty. */
type ObjectSchema<P, R> = {
	readonly type: "object";
	readonly required: readonly [R, ...R[]];
	readonly properties: P;
	readonly description?: string;
};

type ObjectOf<M> = ObjectSchema<Named<M>, Exclude<keyof M & string, `${string}?`>>;

/** A `?` ends the names of optional members. */
export function object<const M extends Members>(members: M, more: { description?: string } = {}): ObjectOf<M> {
	const required = Object.keys(members).filter((name) => !name.endsWith("?"));
	const named = Object.entries(members).map(([name, schema]) => [name.replace("?", ""), schema]);
	return { type: "object", required, properties: Object.fromEntries(named), ...more } as unknown as ObjectOf<M>;
}

export function extend<const B extends ObjectSchema<object, string>, const M extends Members>(
	base: B,
	members: M,
	more: { description?: string } = {},
): ObjectSchema<B["properties"] & ObjectOf<M>["properties"], B["required"][number] | ObjectOf<M>["required"][number]> {
	const { required, properties } = object(members);
	return {
		...base,
		required: [...base.required, ...required],
		properties: { ...base.properties, ...properties },
		...more,
	};
}

interface List<S> {
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

const PERCENTILE = { type: ["integer", "null"], "x-unit": "ms" } as const;
export const TOTAL_PERCENTILES = object({ p50: PERCENTILE, p95: PERCENTILE, p99: PERCENTILE });
