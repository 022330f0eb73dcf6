/**
 * Kinds of settings: how a value is shown as text, and how text is read back. The kind follows from
 * the service's own schema, so that a new setting has its field without a change here.
 */
import { UNIT_MS, durationIn, durationText } from "../text/duration-text.ts";
import { T } from "../text/text.ts";
import { wordsOf } from "../text/words.ts";

/** The part of a setting's schema that a form needs. */
export interface Setting {
	type?: string;
	enum?: readonly unknown[];
	minimum?: number;
	maximum?: number;
	maxLength?: number;
	default?: unknown;
	description?: string;
	title?: string;
	const?: unknown;
	examples?: readonly unknown[];
	items?: Setting;
	oneOf?: readonly Setting[];
	properties?: Readonly<Record<string, Setting>>;
	additionalProperties?: boolean | Setting;
	required?: readonly string[];
	writeOnly?: boolean;
	"x-managed"?: boolean;
	"x-unit"?: string;
	"x-message"?: string;
}

/**
 * `words`: a command; `lines`: a list of texts, one a line; `map`: names and values, one a line;
 * `either`: one of some words, a number or a list, as `oneOf` says; `waits`: a word or durations.
 */
export type Kind =
	| "number"
	| "duration"
	| "choice"
	| "boolean"
	| "text"
	| "words"
	| "lines"
	| "map"
	| "either"
	| "waits"
	| "json";

export type Read = { value: unknown } | { fault: string };

export function kindOf(name: string, setting: Setting): Kind {
	const { type, items, oneOf, additionalProperties: rest } = setting;
	if (setting["x-unit"] !== undefined) return "duration";
	if (type === "integer" || type === "number") return "number";
	if (setting.enum) return "choice";
	if (type === "boolean") return "boolean";
	if (type === "string") return "text";
	if (type === "array" && items?.type === "string") return ["command", "entrypoint"].includes(name) ? "words" : "lines";
	if (type === "object" && !setting.properties && typeof rest === "object") return "map";
	const lists = oneOf?.find((branch) => branch.type === "array");
	if (lists?.items?.type === "integer" && (lists.items.minimum ?? 0) >= 1000) return "waits";
	return oneOf?.every(isShort) ? "either" : "json";
}

function isShort({ type, enum: words, const: only, items }: Setting): boolean {
	if (words !== undefined || only !== undefined) return true;
	return type === "array" ? items?.type !== "object" : type !== "object" && type !== undefined;
}

const EXACT = new Intl.NumberFormat("en", { maximumFractionDigits: 20 });

/** Whether it is a number with separators: they would separate the numbers of a list. */
function isNumber(kind: Kind, { oneOf = [] }: Setting): boolean {
	return kind === "number" || (kind === "either" && oneOf.every(({ type }) => type !== "array"));
}

/** `1,000` as `1000`, in a field of a number. */
export function withoutSeparators(kind: Kind, setting: Setting, text: string): string {
	const hasSome = isNumber(kind, setting) && /^\s*\d{1,3}(?:,\d{3})+(?:\.\d+)?\s*$/.test(text);
	return hasSome ? text.replaceAll(",", "") : text;
}

/** The value as the field shows it; empty if there is none. */
export function shown(kind: Kind, setting: Setting, value: unknown): string {
	if (value === undefined || value === null) return "";
	if (kind === "json") return JSON.stringify(value, null, 2);
	if (kind === "words") return (value as readonly string[]).map(asWord).join(" ");
	if (kind === "lines") return (value as readonly string[]).join("\n");
	if (kind === "map")
		return Object.entries(value as object)
			.map(([name, each]) => `${name}: ${String(each)}`)
			.join("\n");
	if (kind === "duration" && typeof value === "number") return durationText(value * unitOf(setting));
	if (kind === "waits" && Array.isArray(value)) return value.map(durationText).join(", ");
	if (Array.isArray(value)) return value.join(", ");
	if (typeof value === "number" && isNumber(kind, setting)) return EXACT.format(value);
	return typeof value === "string" ? value : JSON.stringify(value);
}

function asWord(word: string): string {
	if (word !== "" && !/[\s"']/.test(word)) return word;
	return word.includes('"') ? `'${word}'` : `"${word}"`;
}

const unitOf = (setting: Setting): number => UNIT_MS[setting["x-unit"] ?? "ms"] ?? 1;

/** What a text that is not empty means; the service checks it too. */
export function read(kind: Kind, setting: Setting, typed: string): Read {
	const text = withoutSeparators(kind, setting, typed);
	switch (kind) {
		case "number":
			return bounded(setting, Number(text), T.settings.faults.whole, EXACT.format);
		case "duration": {
			const word = wordIn(setting, text);
			if (word !== undefined) return { value: word };
			const unit = unitOf(setting);
			const value = (durationIn(text, unit) ?? Number.NaN) / unit;
			const whole = setting.oneOf?.find(({ type }) => type === "integer") ?? setting;
			return bounded(whole, value, T.settings.faults.duration, (each) => durationText(each * unit));
		}
		case "boolean":
			return { value: text === "true" };
		case "words":
			return { value: wordsOf(text) };
		case "lines":
			return { value: linesOf(text) };
		case "map":
			return { value: Object.fromEntries(linesOf(text).map(pairOf)) };
		case "either":
			return { value: eitherOf(setting, text) };
		case "waits":
			return waitsOf(setting, text);
		case "json":
			try {
				return { value: JSON.parse(text) };
			} catch {
				return { fault: T.settings.faults.json };
			}
		default:
			return Array.from(text).length > (setting.maxLength ?? Infinity)
				? { fault: T.settings.faults.long(setting.maxLength!) }
				: { value: text };
	}
}

function bounded(
	{ type, minimum, maximum }: Setting,
	value: number,
	otherwise: string,
	show: (value: number) => string,
): Read {
	if (type === "number" ? !Number.isFinite(value) : !Number.isSafeInteger(value)) return { fault: otherwise };
	const high = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
	return value < (minimum ?? -Infinity) || value > (maximum ?? Infinity)
		? {
				fault: T.settings.faults.bounds(show(minimum ?? 0), high === undefined ? "" : show(high)),
			}
		: { value };
}

/** One of the setting's words, such as `off`. */
function wordIn({ oneOf = [] }: Setting, text: string): string | undefined {
	return oneOf
		.flatMap(({ enum: words = [], const: only }) => [...words, only])
		.find((word): word is string => typeof word === "string" && word === text.trim());
}

function eitherOf(setting: Setting, text: string): unknown {
	const word = wordIn(setting, text);
	if (word !== undefined) return word;
	const has = (...types: readonly string[]): boolean =>
		setting.oneOf?.some(({ type = "" }) => types.includes(type)) ?? false;
	if (/^\s*\d+\s*$/.test(text) && has("integer", "number")) return Number(text);
	if (!has("array")) return text.trim();
	return text.split(/[\s,]+/).filter(Boolean);
}

function waitsOf(setting: Setting, text: string): Read {
	const word = wordIn(setting, text);
	if (word !== undefined) return { value: word };
	const waits = text.split(",").map((each) => durationIn(each, 1));
	return waits.every((each) => each !== undefined) ? { value: waits } : { fault: T.settings.faults.waits };
}

function linesOf(text: string): string[] {
	return text
		.split("\n")
		.map((line) => line.trim())
		.filter(Boolean);
}

function pairOf(line: string): [string, string] {
	const colon = line.search(/[:=]/);
	return colon < 0 ? [line, ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}
