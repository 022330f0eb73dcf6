/** Schemas as in the document: references to named ones; free objects say so. */
import { SCHEMAS } from "./schemas.ts";
import type { JsonSchema } from "../../src/kernel/api/definition/schema.ts";

const NAMES = new Map<unknown, string>(Object.entries(SCHEMAS).map(([name, schema]) => [schema, name]));

/** Replaces named schemas by `$ref`, except `itself`. */
export function withReferences(schema: JsonSchema, itself?: string): JsonSchema {
	return replaced(schema, itself) as JsonSchema;
}

function replaced(value: unknown, itself?: string): unknown {
	const name = NAMES.get(value);
	if (name !== undefined && name !== itself) return { $ref: `#/components/schemas/${name}` };
	if (Array.isArray(value)) return value.map((each) => replaced(each));
	if (typeof value !== "object" || value === null) return value;
	if (isFree(value)) return { ...value, additionalProperties: true };
	return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaced(each)]));
}

/** An object of any members. Without the keyword generators of types take it for an empty one. */
function isFree(schema: object): boolean {
	return (
		"type" in schema &&
		schema.type === "object" &&
		!["properties", "additionalProperties", "maxProperties"].some((each) => each in schema)
	);
}
