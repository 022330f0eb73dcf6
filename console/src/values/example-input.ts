/** An input as it stands in code of several languages; long texts in it are cut. */
import { exactNumber, kindOf } from "../text/exact.ts";
import { mediaOf } from "./media.ts";

/** Used where an endpoint has had no job yet. */
export const PROMPT = { prompt: "hello" };

const [LONGEST_TEXT, LONGEST] = [120, 600];

/** The input for an example: pictures and long texts have a mark in their place; too long, it is the usual one. */
export function exampleOf(input: unknown): unknown {
	if (kindOf(input) !== "object" || "openai_route" in (input as object)) return PROMPT;
	const short = shortened(input);
	return JSON.stringify(short).length > LONGEST ? PROMPT : short;
}

function shortened(value: unknown): unknown {
	if (typeof value === "string")
		return mediaOf(value) ? "BASE64" : value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}...` : value;
	if (Array.isArray(value)) return value.map(shortened);
	if (kindOf(value) !== "object") return value;
	return Object.fromEntries(Object.entries(value as object).map(([name, each]) => [name, shortened(each)]));
}

/** JSON on one line. */
export const asJson = (value: unknown): string => spaced(value, { true: "true", false: "false", null: "null" });

export const asPython = (value: unknown): string => spaced(value, { true: "True", false: "False", null: "None" });

/** JSON for a word in single quotes of a shell. */
export const inShell = (value: unknown): string => asJson(value).replaceAll("'", String.raw`'\''`);

/** A literal of Go that holds the JSON. */
export function inGo(value: unknown): string {
	const json = asJson(value);
	return json.includes("`") ? JSON.stringify(json) : `\`${json}\``;
}

function spaced(value: unknown, words: Readonly<Record<"true" | "false" | "null", string>>): string {
	if (Array.isArray(value)) return `[${value.map((each) => spaced(each, words)).join(", ")}]`;
	const kind = kindOf(value);
	if (kind === "object")
		return `{${Object.entries(value as object)
			.map(([name, each]) => `${JSON.stringify(name)}: ${spaced(each, words)}`)
			.join(", ")}}`;
	if (kind === "null") return words.null;
	if (kind === "boolean") return value ? words.true : words.false;
	return exactNumber(value) ?? JSON.stringify(value);
}
