/**
 * JSON read so that numbers stay as they were written: 64-bit integers and `1.0` do not survive
 * JavaScript's numbers (D5).
 */

interface RawJson {
	rawJSON?: (text: string) => unknown;
	isRawJSON?: (value: unknown) => value is { rawJSON: string };
}

const { rawJSON, isRawJSON } = JSON as RawJson;

/**
 * Reads JSON; a number that would come out otherwise becomes its own text, which `JSON.stringify`
 * prints as it was.
 */
export function readExact(text: string): unknown {
	const keep = (_key: string, value: unknown, context?: { source?: string }): unknown =>
		typeof value === "number" && rawJSON && context?.source !== undefined && context.source !== String(value)
			? rawJSON(context.source)
			: value;
	return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
}

/** The text of such a number; undefined for all else. */
export function exactNumber(value: unknown): string | undefined {
	return isRawJSON?.(value) ? value.rawJSON : undefined;
}

/** What the value is. */
export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";

export function kindOf(value: unknown): Kind {
	if (value === null || value === undefined) return "null";
	if (Array.isArray(value)) return "array";
	if (typeof value === "object") return exactNumber(value) === undefined ? "object" : "number";
	return typeof value as Kind;
}

/** Indented JSON. */
export function pretty(value: unknown): string {
	return JSON.stringify(value, null, 2) ?? "";
}
