/**
 * The forms of an endpoint's settings as data: fields from the service's own schema, and what was
 * typed as a merge patch or as the launcher of a new endpoint (D27, D39).
 */
import { wordsOf } from "./words.ts";

/** The part of a setting's schema that a form needs. */
export interface Setting {
	type?: string;
	enum?: readonly string[];
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
	required?: readonly string[];
	writeOnly?: boolean;
	"x-managed"?: boolean;
	"x-unit"?: string;
}

/** A launcher, as the form of a new endpoint offers it. */
export interface LauncherChoice {
	type: string;
	title: string;
	description: string;
	/** Sluice starts and stops the workers. */
	managed: boolean;
	/** The settings that the form asks for. */
	fields: readonly LauncherField[];
}

export interface LauncherField {
	name: string;
	label: string;
	hint: string | undefined;
	placeholder: string | undefined;
	required: boolean;
	kind: "number" | "text" | "words" | "json";
}

/** One field: `path` leads to the setting. */
export interface FormField {
	path: readonly string[];
	setting: Setting;
	kind: "number" | "choice" | "text" | "json";
	/** The current value as text. */
	value: string;
}

interface OpenApi {
	paths: Record<
		string,
		{ patch?: { requestBody?: { content?: Record<string, { schema?: Setting }> } } }
	>;
}

/** The settings that may be changed, from `/openapi.json`. */
export function settingsIn(document: unknown): Readonly<Record<string, Setting>> {
	return (
		(document as OpenApi).paths["/v1/endpoints/{endpoint}"]?.patch?.requestBody?.content?.[
			"application/json"
		]?.schema?.properties ?? {}
	);
}

/** The launchers of the schema of `launcher`; settings with a `title` are fields. */
export function launchersIn(settings: Readonly<Record<string, Setting>>): LauncherChoice[] {
	return (settings["launcher"]?.oneOf ?? []).map((branch) => {
		const { type, ...others } = branch.properties ?? {};
		return {
			type: String(type?.const),
			title: branch.title ?? String(type?.const),
			description: type?.description ?? "",
			managed: branch["x-managed"] ?? true,
			fields: Object.entries(others).flatMap(([name, setting]) =>
				setting.title === undefined
					? []
					: [
							{
								name,
								label: setting.title,
								hint: setting.description,
								placeholder: exampleOf(setting),
								required: branch.required?.includes(name) ?? false,
								kind: kindOf(setting),
							},
						],
			),
		};
	});
}

function kindOf({ type, items }: Setting): LauncherField["kind"] {
	if (type === "integer" || type === "number") return "number";
	if (type === "string") return "text";
	return type === "array" && items?.type === "string" ? "words" : "json";
}

function exampleOf({ examples: [first] = [] }: Setting): string | undefined {
	return Array.isArray(first) ? first.join(" ") : first === undefined ? undefined : plain(first);
}

/** What was typed, as the `launcher` of an endpoint; the service checks it. */
export function launcherFrom(
	{ type, fields }: LauncherChoice,
	typed: Readonly<Record<string, string>>,
): Record<string, unknown> {
	const given = fields.flatMap(({ name, required, kind }) => {
		const text = typed[name] ?? "";
		if (text === "" && !required) return [];
		const value =
			kind === "words" ? wordsOf(text) : kind === "text" ? text : (parsed(text)?.value ?? text);
		return [[name, value] as const];
	});
	return { type, ...Object.fromEntries(given) };
}

/** Fields for all settings but those that have a form of their own: `env`, and secrets. */
export function fieldsOf(
	settings: Readonly<Record<string, Setting>>,
	present: Readonly<Record<string, unknown>>,
	before: readonly string[] = [],
): FormField[] {
	return Object.entries(settings).flatMap(([name, setting]) => {
		const path = [...before, name];
		if (setting.writeOnly || path.join(".") === "env") return [];
		const value = present[name];
		const members = setting.properties;
		if (members && Object.values(members).every(({ type }) => type === "integer"))
			return fieldsOf(members, (value ?? {}) as Record<string, unknown>, path);
		const kind =
			setting.type === "integer" || setting.type === "number"
				? "number"
				: setting.enum
					? "choice"
					: setting.type === "string"
						? "text"
						: "json";
		return [
			{
				path,
				setting,
				kind,
				value: kind === "json" ? JSON.stringify(value ?? null, null, 2) : plain(value),
			},
		];
	});
}

/** A value as text; empty if there is none. */
export function plain(value: unknown): string {
	return typeof value === "string"
		? value
		: value === undefined || value === null
			? ""
			: JSON.stringify(value);
}

export const nameOf = ({ path }: FormField): string => path.join(".");

/** What is wrong with a text before it is sent; the service checks it too. */
export function faultIn(
	{ kind, setting: { minimum, maximum, maxLength } }: FormField,
	text: string,
	words: {
		whole: string;
		json: string;
		bounds: (low?: number, high?: number) => string;
		long: (most: number) => string;
	},
): string | undefined {
	if (kind === "text")
		return maxLength !== undefined && Array.from(text).length > maxLength
			? words.long(maxLength)
			: undefined;
	if (kind === "json")
		return parsed(text) === undefined && text.trim() !== "" ? words.json : undefined;
	if (kind === "choice" || text.trim() === "") return undefined;
	const value = Number(text);
	if (!Number.isSafeInteger(value)) return words.whole;
	return value < (minimum ?? -Infinity) || value > (maximum ?? Infinity)
		? words.bounds(minimum, maximum)
		: undefined;
}

function parsed(text: string): { value: unknown } | undefined {
	try {
		return { value: JSON.parse(text) };
	} catch {
		return undefined;
	}
}

/** The merge patch of the changed fields; an empty field restores the default. */
export function patchOf(
	fields: readonly FormField[],
	typed: Readonly<Record<string, string>>,
): Record<string, unknown> {
	const patch: Record<string, unknown> = {};
	for (const field of fields) {
		const text = typed[nameOf(field)];
		if (text === undefined || text === field.value) continue;
		const value =
			text.trim() === ""
				? null
				: field.kind === "number"
					? Number(text)
					: field.kind === "json"
						? replacing(JSON.parse(field.value), parsed(text)?.value)
						: text;
		const [first, second] = field.path;
		if (second === undefined) patch[first!] = value;
		else patch[first!] = { ...(patch[first!] as object | undefined), [second]: value };
	}
	return patch;
}

/** An object that replaces another in a merge patch: removed members must be sent as null. */
function replacing(before: unknown, after: unknown): unknown {
	if (!isObject(before) || !isObject(after)) return after;
	const removed = Object.keys(before).filter((name) => !(name in after));
	return {
		...Object.fromEntries(removed.map((name) => [name, null])),
		...Object.fromEntries(
			Object.entries(after).map(([name, value]) => [name, replacing(before[name], value)]),
		),
	};
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
