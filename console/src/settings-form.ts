/**
 * The settings form as data: what the service's own schema says of each setting, and what was
 * typed, as a merge patch (D27, D39).
 */

/** The part of a setting's schema that a form needs. */
export interface Setting {
	type?: string;
	enum?: readonly string[];
	minimum?: number;
	maximum?: number;
	maxLength?: number;
	default?: unknown;
	description?: string;
	properties?: Readonly<Record<string, Setting>>;
	writeOnly?: boolean;
	"x-unit"?: string;
}

/** One field: `path` leads to the setting. */
export interface FormField {
	path: readonly string[];
	setting: Setting;
	kind: "number" | "choice" | "text" | "json";
	/** The present value as text. */
	value: string;
}

interface OpenApi {
	paths: Record<
		string,
		{ patch?: { requestBody?: { content?: Record<string, { schema?: Setting }> } } }
	>;
}

/** The settings that may be changed, out of `/openapi.json`. */
export function settingsIn(document: unknown): Readonly<Record<string, Setting>> {
	return (
		(document as OpenApi).paths["/v1/endpoints/{endpoint}"]?.patch?.requestBody?.content?.[
			"application/json"
		]?.schema?.properties ?? {}
	);
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

/** A number, a word or nothing as text. */
export function plain(value: unknown): string {
	return typeof value === "string"
		? value
		: value === undefined || value === null
			? ""
			: JSON.stringify(value);
}

export const nameOf = ({ path }: FormField): string => path.join(".");

/** What is wrong with a text before it is sent; the service looks again. */
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

/** The merge patch for the fields that were changed; an empty one brings the default back. */
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

/** An object that replaces another in a merge patch: what it no longer has must be told as null. */
function replacing(before: unknown, after: unknown): unknown {
	if (!isObject(before) || !isObject(after)) return after;
	const gone = Object.keys(before).filter((name) => !(name in after));
	return {
		...Object.fromEntries(gone.map((name) => [name, null])),
		...Object.fromEntries(
			Object.entries(after).map(([name, value]) => [name, replacing(before[name], value)]),
		),
	};
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
