/**
 * Templates of the mapping. `{name}` stands for a value: `{input.prompt}`, `{job.uuid}`. A text that is wholly one
 * name becomes the JSON value; within other text the value is written as text. There are no expressions.
 */
import { JobFailure } from "../job-failure.ts";
import { isLargeInteger } from "./exact-json.ts";
import { isObject } from "./mapping-reader.ts";

/** Values by their first name: `input`, `job`, `submit`, `poll`, `port`, `env`. */
export type Names = Readonly<Record<string, unknown>>;

const NAME = /\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}/g;
const WHOLE = /^\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}$/;
/** What leads to another path in servers that decode it before they route, or in file systems. */
const NOT_IN_SEGMENT = /[/\\\0]/;
/** What a header cannot carry (RFC 9110), and would end it. */
const NOT_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

/** Returns the names that a template uses, of all texts within it. */
export function namesIn(template: unknown): string[] {
	if (typeof template === "string") return [...template.matchAll(NAME)].map(([, name]) => name!);
	if (Array.isArray(template)) return template.flatMap(namesIn);
	return isObject(template) ? Object.values(template).flatMap(namesIn) : [];
}

/** The value of `input.images.0`. Undefined if it is missing; inherited members are. */
export function lookUp(name: string, names: Names): unknown {
	let value: unknown = names;
	for (const key of name.split(".")) {
		if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
		value = (value as Record<string, unknown>)[key];
	}
	return value;
}

/** Fills a JSON template. A member with a missing value is omitted; in a list it is null. */
export function fill(template: unknown, names: Names): unknown {
	if (typeof template === "string") return fillText(template, names);
	if (Array.isArray(template)) return template.map((each) => fill(each, names) ?? null);
	if (!isObject(template)) return template;
	return Object.fromEntries(
		Object.entries(template)
			.map(([key, each]) => [key, fill(each, names)] as const)
			.filter(([, value]) => value !== undefined),
	);
}

/** Undefined if a value is missing; within text also if one is null. */
function fillText(template: string, names: Names): unknown {
	const whole = WHOLE.exec(template)?.[1];
	if (whole !== undefined) return lookUp(whole, names);
	let missing = false;
	const text = template.replaceAll(NAME, (_, name: string) => {
		const value = lookUp(name, names);
		missing ||= value === undefined || value === null;
		return textOf(value);
	});
	return missing ? undefined : text;
}

/** A JSON value as text: texts unchanged, all others as JSON. */
export function textOf(value: unknown): string {
	return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/**
 * Fills the path of a request. Each value becomes one percent-encoded segment or a part of one. Throws a
 * {@link JobFailure} for a missing value, an object, and segments that would lead to another path.
 */
export function fillPath(template: string, names: Names): string {
	const refused = (): JobFailure =>
		new JobFailure('A value within the path must not contain "/", "\\" or NUL, nor make a segment "." or "..".');
	const path = template.replaceAll(NAME, (_, name: string) => {
		const value = lookUp(name, names);
		if (value === undefined || value === null || value === "")
			throw new JobFailure(`The path of the request needs ${name}, which the job does not have.`);
		if (typeof value === "object" && !isLargeInteger(value))
			throw new JobFailure(`${name} must be a text or a number: it is a part of the path.`);
		const text = textOf(value);
		if (NOT_IN_SEGMENT.test(text)) throw refused();
		try {
			return encodeURIComponent(text);
		} catch {
			throw new JobFailure(`${name} cannot be a part of the path: it is not valid Unicode.`);
		}
	});
	const [segments = ""] = path.split("?", 1);
	if (segments.split("/").some((each) => each === "." || each === "..")) throw refused();
	return path;
}

/** Fills texts by name, such as a query or a form. Those with a missing or null value are omitted. */
export function fillTexts(templates: Readonly<Record<string, unknown>>, names: Names): [string, string][] {
	return Object.entries(templates).flatMap(([name, template]): [string, string][] => {
		const value = fill(template, names);
		return value === undefined || value === null ? [] : [[name, textOf(value)]];
	});
}

/** Fills headers, with names in lower case. Throws a {@link JobFailure} for a line break. */
export function fillHeaders(templates: Readonly<Record<string, string>>, names: Names): Record<string, string> {
	const filled = fillTexts(templates, names);
	for (const [name, value] of filled)
		if (NOT_IN_HEADER.test(value))
			throw new JobFailure(`The header ${name} cannot carry its value: it has a line break or another such character.`);
	return Object.fromEntries(filled.map(([name, value]) => [name.toLowerCase(), value]));
}

/** The value at a JSON pointer (RFC 6901). Undefined if it is missing. */
export function atPointer(value: unknown, pointer: string): unknown {
	if (pointer === "") return value;
	let found = value;
	for (const part of pointer.slice(1).split("/")) {
		const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
		if (Array.isArray(found) && !/^(?:0|[1-9]\d*)$/.test(key)) return undefined;
		if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
		found = (found as Record<string, unknown>)[key];
	}
	return found;
}

/** Fills the names of a JSON pointer. Each value becomes one key. */
export function fillPointer(pointer: string, names: Names): string {
	return pointer.replaceAll(NAME, (_, name: string) =>
		textOf(lookUp(name, names)).replaceAll("~", "~0").replaceAll("/", "~1"),
	);
}

/** Why a text is no JSON pointer, or undefined. */
export function pointerFault(pointer: string): string | undefined {
	if (pointer !== "" && !pointer.startsWith("/")) return `must be a JSON pointer: write "/${pointer}".`;
	return /~(?![01])/.test(pointer) ? "must be a JSON pointer: write ~0 for ~ and ~1 for / within a name." : undefined;
}
