/** JSON Schemas in words, for `/docs` and the reference. */
import type { JsonSchema } from "../../src/kernel/api/definition/schema.ts";

export interface Member {
	name: string;
	required: boolean;
	schema: JsonSchema;
}

/** The keywords in use. */
interface Facts {
	$ref?: string;
	oneOf?: readonly JsonSchema[];
	enum?: readonly unknown[];
	const?: unknown;
	type?: string | readonly string[];
	items?: JsonSchema;
	properties?: Readonly<Record<string, JsonSchema>>;
	required?: readonly string[];
	format?: string;
	description?: string;
	pattern?: string;
	default?: unknown;
	minimum?: number;
	maximum?: number;
	exclusiveMinimum?: number;
	minLength?: number;
	maxLength?: number;
	minItems?: number;
	"x-unit"?: string;
}

const TYPES: Readonly<Record<string, string>> = {
	integer: "whole number",
	number: "number",
	string: "text",
	boolean: "true or false",
	object: "object",
	array: "list",
	null: "null",
};

/**
 * Such as `list of text`, `one of a, b`, `whole number of ms`; for a reference the schema's name.
 */
export function typeText(schema: JsonSchema): string {
	const { $ref, oneOf, enum: words, const: only, type, items, format, "x-unit": unit } = schema as Facts;
	if ($ref !== undefined) return nameOf($ref);
	if (only !== undefined) return JSON.stringify(only);
	if (words) return `one of ${words.map(String).join(", ")}`;
	if (oneOf) return [...new Set(oneOf.map(typeText))].join(" or ");
	if (type === undefined) return "any JSON";
	if (type === "array" && items) return `list of ${typeText(items)}`;
	if (typeof type !== "string") return type.map((each) => TYPES[each]).join(" or ");
	return `${FORMATS[format ?? ""] ?? TYPES[type]}${unit === undefined ? "" : ` of ${unit}`}`;
}

/** The schema's name in a reference. */
export function nameOf($ref: string): string {
	return $ref.slice($ref.lastIndexOf("/") + 1);
}

const FORMATS: Readonly<Record<string, string>> = {
	uri: "URL",
	"date-time": "date and time",
	origin: "origin",
};

/** Such as `10000 to 604800000`, `default 5`. */
export function boundTexts(schema: JsonSchema): string[] {
	const {
		minimum,
		maximum,
		exclusiveMinimum,
		minLength,
		maxLength,
		minItems,
		pattern,
		default: otherwise,
	} = schema as Facts;
	const parts: string[] = [];
	if (exclusiveMinimum !== undefined) parts.push(`above ${exclusiveMinimum}`);
	const high = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
	if (minimum !== undefined && high !== undefined) parts.push(`${minimum} to ${high}`);
	else if (minimum !== undefined) parts.push(`${minimum} or more`);
	else if (high !== undefined) parts.push(`at most ${high}`);
	if (maxLength !== undefined)
		parts.push(minLength === undefined ? `at most ${maxLength} characters` : `${minLength} to ${maxLength} characters`);
	else if (minLength !== undefined) parts.push(`${minLength} or more characters`);
	if (minItems !== undefined) parts.push(`${minItems} or more`);
	// Long patterns do not help; the error messages do.
	if (pattern !== undefined && pattern.length < 60) parts.push(`matches ${pattern}`);
	if (otherwise !== undefined)
		parts.push(`default ${typeof otherwise === "string" ? otherwise : JSON.stringify(otherwise)}`);
	return parts;
}

/** "" if there is none. */
export function descriptionOf(schema: JsonSchema): string {
	return (schema as Facts).description ?? "";
}

/** Members of all branches, each once; required if every branch requires it. */
function merged(branches: readonly (readonly Member[])[]): Member[] {
	const byName = Map.groupBy(branches.flat(), ({ name }) => name);
	return [...byName].map(([name, same]) => {
		const description = same.map(({ schema }) => descriptionOf(schema)).join(" ");
		return {
			name,
			required: same.length === branches.length && same.every(({ required }) => required),
			schema: same.length === 1 ? same[0]!.schema : { oneOf: same.map(({ schema }) => schema), description },
		};
	});
}

/** Members of an object, a list's items, or all `oneOf` branches. */
export function membersOf(schema: JsonSchema): Member[] {
	const { properties = {}, required = [], items, oneOf } = schema as Facts;
	if (items) return membersOf(items);
	if (oneOf) return merged(oneOf.map(membersOf).filter((members) => members.length > 0));
	return Object.entries(properties).map(([name, member]) => ({
		name,
		required: required.includes(name),
		schema: member,
	}));
}
