/**
 * Validates values against a subset of JSON Schema 2020-12 (decision 0026), shared with OpenAPI and the reference. An
 * optional `null` member counts as absent (D4).
 */
import { didYouMean, nearest } from "./nearest.ts";
import { hasControls, NO_CONTROLS } from "./text.ts";

/** An invalid field of a request (D2). */
export interface Fault {
	/** Path, such as `policy.ttl`. */
	field: string;
	message: string;
}

export type Read<T> = ({ ok: true } & T) | { ok: false; faults: Fault[] };

export interface Schema {
	readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
	readonly properties?: Readonly<Record<string, Schema>>;
	readonly required?: readonly string[];
	/** Members not in `properties`; `false` forbids them. */
	readonly additionalProperties?: boolean | Schema;
	readonly propertyNames?: Schema;
	readonly enum?: readonly (string | number | boolean)[];
	readonly const?: string | number | boolean;
	readonly minimum?: number;
	readonly maximum?: number;
	readonly exclusiveMinimum?: number;
	/** In characters, not UTF-16 units. */
	readonly minLength?: number;
	readonly maxLength?: number;
	readonly pattern?: string;
	readonly format?: keyof typeof FORMATS;
	readonly items?: Schema;
	readonly minItems?: number;
	readonly maxItems?: number;
	/** Object branches must differ in one `const` member. */
	readonly oneOf?: readonly Schema[];
	readonly default?: unknown;
	/** Launcher settings with a title are fields of the console form. */
	readonly title?: string;
	readonly description?: string;
	readonly examples?: readonly unknown[];
	/** Accepted, but never returned. */
	readonly writeOnly?: boolean;
	readonly "x-managed"?: boolean;
	readonly "x-unit"?: string;
	/** A duration that is accepted instead of a number (`core/durations.ts`). */
	readonly "x-duration"?: string;
	/** Replaces the generated sentence; starts with "must" and names every bound. */
	readonly "x-message"?: string;
}

export function plainText(minLength: number, maxLength: number) {
	return {
		type: "string",
		minLength,
		maxLength,
		pattern: NO_CONTROLS,
		"x-message": `must be text of ${minLength} to ${maxLength} characters without control characters.`,
	} as const satisfies Schema;
}

export function webAddress(example: string) {
	return {
		type: "string",
		format: "uri",
		pattern: "^[^\\s?#]+$",
		"x-message": `must be an http or https address without query, such as ${example}.`,
	} as const satisfies Schema;
}

/** `uri` accepts http and https only. */
const FORMATS = {
	uri: { noun: "an absolute http or https URL", fits: isWebUrl },
	origin: { noun: "an origin such as https://app.example.com, without a path", fits: isOrigin },
} as const;

/** Bounds time and answer: a megabyte can have a hundred thousand faults. */
const MOST_FAULTS = 100;

/** At most 100 faults. */
export function check(schema: Schema, value: unknown, field = ""): Fault[] {
	const faults: Fault[] = [];
	visit(schema, value, field, faults);
	return faults;
}

/** Fills in defaults and drops `null` members of a valid value. Ignores `oneOf`. */
export function withDefaults(schema: Schema, value: unknown): unknown {
	if (!schema.properties || !isObject(value)) return value;
	const filled = new Map(Object.entries(value).filter(([, member]) => !isAbsent(member)));
	for (const [name, member] of Object.entries(schema.properties)) {
		const given = filled.get(name) ?? member.default;
		if (given !== undefined) filled.set(name, withDefaults(member, given));
	}
	return Object.fromEntries(filled);
}

/** The requirement as text: `must be a whole number from 0 to 1000.` */
export function sentence(schema: Schema): string {
	return schema["x-message"] ?? `must be ${expected(schema)}.`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `null` counts as absent (D4). */
export function isAbsent(value: unknown): value is undefined | null {
	return value === undefined || value === null;
}

function visit(schema: Schema, value: unknown, field: string, faults: Fault[]): void {
	if (faults.length >= MOST_FAULTS) return;
	if (schema.oneOf) return visitOneOf(schema, schema.oneOf, value, field, faults);
	if (!fits(schema, value)) return void faults.push({ field, message: sentence(schema) + meantWord(schema, value) });
	if (schema.items && Array.isArray(value))
		for (const [at, item] of value.entries()) visit(schema.items, item, inside(field, at), faults);
	if (schema.type === "object" && isObject(value)) visitMembers(schema, value, field, faults);
}

/** Checks against the branch of the value's type: the fault then names a member. */
function visitOneOf(schema: Schema, branches: readonly Schema[], value: unknown, field: string, faults: Fault[]): void {
	const kind = Array.isArray(value) ? "array" : isObject(value) ? "object" : undefined;
	const [only, ...others] = branches.filter(({ type }) => kind !== undefined && type === kind);
	if (!only) {
		if (!branches.some((branch) => check(branch, value).length === 0))
			faults.push({ field, message: sentence(schema) });
		return;
	}
	if (others.length === 0 || !isObject(value)) return visit(only, value, field, faults);
	const [name, first] = Object.entries(only.properties ?? {}).find(([, member]) => member.const !== undefined)!;
	const options = [only, ...others];
	const branch = options.find(({ properties }) => properties?.[name]?.const === value[name]);
	if (branch) return visit(branch, value, field, faults);
	const words = options.map(({ properties }) => String(properties?.[name]?.const));
	const must = first["x-message"] ?? `must be ${listText(words)}.`;
	faults.push({ field: inside(field, name), message: isAbsent(value[name]) ? missing(must) : must });
}

function visitMembers(schema: Schema, value: Record<string, unknown>, field: string, faults: Fault[]): void {
	const { properties = {}, required = [], propertyNames, additionalProperties = true } = schema;
	for (const [name, member] of Object.entries(properties)) {
		const given = Object.hasOwn(value, name) ? value[name] : undefined;
		if (!isAbsent(given)) visit(member, given, inside(field, name), faults);
		else if (required.includes(name)) faults.push({ field: inside(field, name), message: missing(sentence(member)) });
	}
	for (const [name, member] of Object.entries(value)) {
		if (Object.hasOwn(properties, name)) continue;
		if (faults.length >= MOST_FAULTS) return;
		const at = inside(field, name);
		if (additionalProperties === false) faults.push({ field: at, message: unknownName(name, Object.keys(properties)) });
		else if (propertyNames && !fits(propertyNames, name))
			faults.push({ field: at, message: `has an invalid name: it ${sentence(propertyNames)}` });
		else if (additionalProperties !== true) visit(additionalProperties, member, at, faults);
	}
}

function unknownName(name: string, known: readonly string[]): string {
	const meant = nearest(name, known);
	return `is unknown; ${meant === undefined ? `expected one of ${known.join(", ")}.` : `did you mean ${meant}?`}`;
}

function meantWord({ enum: words = [] }: Schema, value: unknown): string {
	return typeof value === "string" ? didYouMean(value, words.map(String)) : "";
}

function fits(schema: Schema, value: unknown): boolean {
	if (schema.const !== undefined && value !== schema.const) return false;
	if (schema.enum && !schema.enum.some((word) => word === value)) return false;
	switch (schema.type) {
		case "object":
			return isObject(value);
		case "array":
			return (
				Array.isArray(value) && value.length >= (schema.minItems ?? 0) && value.length <= (schema.maxItems ?? Infinity)
			);
		case "boolean":
			return typeof value === "boolean";
		case "string":
			return typeof value === "string" && fitsText(schema, value);
		case "integer":
			return Number.isSafeInteger(value) && fitsNumber(schema, value as number);
		case "number":
			return Number.isFinite(value) && fitsNumber(schema, value as number);
		default:
			return true;
	}
}

function fitsNumber(
	{ minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity }: Schema,
	value: number,
): boolean {
	return value >= minimum && value <= maximum && value > exclusiveMinimum;
}

/** Checks length first: no pattern runs on an oversized text. */
function fitsText({ minLength = 0, maxLength = Infinity, pattern, format }: Schema, text: string): boolean {
	if (text.length < minLength || text.length > 2 * maxLength) return false;
	if (text.length < 2 * minLength || text.length > maxLength) {
		const { length } = Array.from(text);
		if (length < minLength || length > maxLength) return false;
	}
	if (pattern !== undefined && !new RegExp(pattern, "u").test(text)) return false;
	return format === undefined || FORMATS[format].fits(text);
}

function expected(schema: Schema): string {
	if (schema.oneOf) return listText(schema.oneOf.map(expected));
	if (schema.const !== undefined) return String(schema.const);
	if (schema.enum) return listText(schema.enum.map(String));
	switch (schema.type) {
		case "object":
			return "an object";
		case "array":
			return `a list${count(schema.minItems, schema.maxItems, "entries")}`;
		case "boolean":
			return "true or false";
		case "string":
			return (
				(schema.format ? FORMATS[schema.format].noun : "text") + count(schema.minLength, schema.maxLength, "characters")
			);
		case "integer":
			return `a whole number${range(schema)}${orDuration(schema)}`;
		case "number":
			return `a number${range(schema)}`;
		default:
			return "any value";
	}
}

function count(low = 0, high: number | undefined, noun: string): string {
	if (high === undefined) return low === 0 ? "" : ` of ${low} or more ${noun}`;
	return low === 0 ? ` of at most ${high} ${noun}` : ` of ${low} to ${high} ${noun}`;
}

function range({ minimum, maximum, exclusiveMinimum, "x-unit": unit }: Schema): string {
	const unitText = unit === undefined ? "" : ` of ${unit}`;
	if (exclusiveMinimum !== undefined)
		return `${unitText} above ${exclusiveMinimum}${maximum === undefined ? "" : ` and at most ${maximum}`}`;
	if (minimum !== undefined) return `${unitText} from ${minimum}${maximum === undefined ? "" : ` to ${maximum}`}`;
	return unitText + (maximum === undefined ? "" : ` of at most ${maximum}`);
}

function orDuration({ "x-duration": example }: Schema): string {
	return example === undefined ? "" : `, or a duration such as ${example}`;
}

/** The words of a sentence. `Intl.ListFormat` would read locale data at each start. */
export function listText(words: readonly string[], last: "or" | "and" = "or"): string {
	return words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}

/** `must`: what {@link sentence} returns. */
export function missing(must: string): string {
	return `is missing; it ${must}`;
}

function inside(field: string, name: string | number): string {
	return field === "" ? String(name) : `${field}.${name}`;
}

function isWebUrl(text: string): boolean {
	if (hasControls(text)) return false;
	const url = URL.parse(text);
	return url !== null && (url.protocol === "http:" || url.protocol === "https:");
}

function isOrigin(text: string): boolean {
	return /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/i.test(text) && URL.canParse(text);
}
