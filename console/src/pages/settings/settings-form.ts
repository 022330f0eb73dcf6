/**
 * The forms of an endpoint's settings as data: fields from the service's own schema, and what was
 * typed as a merge patch or as the launcher of a new endpoint (D27, D39).
 */
import { type Kind, kindOf, read, type Setting, shown, withoutSeparators } from "../../values/setting-kinds.ts";
import { T } from "../../text/text.ts";

/** One field: `path` leads to the setting. */
export interface FormField {
	path: readonly string[];
	setting: Setting;
	kind: Kind;
	/** The current value as text; empty: the default. */
	value: string;
	required: boolean;
}

/** Texts by the names of fields. */
export type Typed = Readonly<Record<string, string>>;

/** A launcher as the forms offer it. */
export interface LauncherChoice {
	type: string;
	title: string;
	description: string;
	/** Sluice starts and stops the workers. */
	managed: boolean;
	schema: Setting;
}

interface OpenApi {
	paths: Record<string, { patch?: { requestBody?: { content?: Record<string, { schema?: Setting }> } } }>;
}

/** The settings that may be changed, from `/openapi.json`. */
export function settingsIn(document: unknown): Readonly<Record<string, Setting>> {
	return (
		(document as OpenApi).paths["/v1/endpoints/{endpoint}"]?.patch?.requestBody?.content?.["application/json"]?.schema
			?.properties ?? {}
	);
}

/** Settings with forms of their own. */
const OTHERS = ["env", "launcher", "limits"];

/** Fields for all settings but those that have a form of their own, and secrets. */
export function fieldsOf(
	settings: Readonly<Record<string, Setting>>,
	present: Readonly<Record<string, unknown>>,
): FormField[] {
	const names = Object.keys(settings).filter((name) => !OTHERS.includes(name));
	return membersOf({ properties: pick(settings, names) }, present, []);
}

/** The launchers of the schema of `launcher`. */
export function launchersIn(settings: Readonly<Record<string, Setting>>): LauncherChoice[] {
	return (settings["launcher"]?.oneOf ?? []).map((schema) => {
		const type = schema.properties?.["type"];
		return {
			type: String(type?.const),
			title: schema.title ?? String(type?.const),
			description: type?.description ?? "",
			managed: schema["x-managed"] ?? true,
			schema,
		};
	});
}

/** Fields of a launcher's settings; `present`: the launcher now, if it is of this type. */
export function launcherFields({ schema }: LauncherChoice, present: Readonly<Record<string, unknown>>): FormField[] {
	const { type: _, ...properties } = schema.properties ?? {};
	return membersOf({ ...schema, properties }, present, ["launcher"]);
}

/** Fields of the limits: the table of operations, and single numbers. */
export function limitFields(setting: Setting | undefined, present: unknown): FormField[] {
	const table = setting?.oneOf?.find(({ type }) => type === "object") ?? {};
	return membersOf(table, isObject(present) ? present : {}, ["limits"]);
}

/** One field for each setting, also of the members of objects whose members are known. */
function membersOf(
	{ properties = {}, required = [] }: Setting,
	present: Readonly<Record<string, unknown>>,
	before: readonly string[],
): FormField[] {
	return Object.entries(properties).flatMap(([name, setting]) => {
		if (setting.writeOnly) return [];
		const path = [...before, name];
		const value = present[name];
		// One that needs some of its members is set or absent as a whole.
		if (setting.type === "object" && setting.properties && !setting.required)
			return membersOf(setting, isObject(value) ? value : {}, path);
		const kind = kindOf(name, setting);
		return [
			{
				path,
				setting,
				kind,
				value: shown(kind, setting, value),
				required: required.includes(name),
			},
		];
	});
}

function pick(settings: Readonly<Record<string, Setting>>, names: readonly string[]): Record<string, Setting> {
	return Object.fromEntries(names.map((name) => [name, settings[name]!]));
}

export const nameOf = ({ path }: FormField): string => path.join(".");

/** The default as the field would show it; undefined if there is none to show. */
export function defaultOf({ kind, setting }: FormField): string | undefined {
	return setting.default === undefined || kind === "json" ? undefined : shown(kind, setting, setting.default);
}

/** What is wrong with a text before it is sent; the service checks it too. */
export function faultIn(field: FormField, text: string): string | undefined {
	if (text.trim() === "") return field.required ? missing(field) : undefined;
	const found = read(field.kind, field.setting, text);
	return "fault" in found ? found.fault : undefined;
}

function missing({ kind, setting }: FormField): string {
	const [example] = setting.examples ?? [];
	return T.settings.faults.required(example === undefined ? "" : shown(kind, setting, example));
}

/** Whether a text changes the setting. */
export function isChanged(field: FormField, typed: Typed): boolean {
	const text = typed[nameOf(field)];
	const plain = (each: string): string => withoutSeparators(field.kind, field.setting, each).trim();
	return text !== undefined && plain(text) !== plain(field.value);
}

/** Whether the form has these values, however they are written; an empty text is the default. */
export function holds(fields: readonly FormField[], typed: Typed, values: Typed): boolean {
	const meant = (field: FormField, text: string): unknown =>
		text.trim() === "" ? field.setting.default : valueOf(field, text);
	return fields.every((field) => {
		const [name, { value }] = [nameOf(field), field];
		const wanted = values[name];
		return wanted === undefined || meant(field, wanted) === meant(field, typed[name] ?? value);
	});
}

/** The merge patch of the changed fields; an empty field restores the default. */
export function patchOf(fields: readonly FormField[], typed: Typed): Record<string, unknown> {
	const patch = {};
	for (const field of fields)
		if (isChanged(field, typed)) {
			const text = typed[nameOf(field)]!;
			const value = text.trim() === "" ? null : valueOf(field, text);
			const isTree = field.kind === "json" || field.kind === "map";
			const before = isTree && field.value !== "" ? valueOf(field, field.value) : undefined;
			put(patch, field.path, replacing(before, value));
		}
	return patch;
}

/** What was typed for a launcher, as the `launcher` of an endpoint; the service checks it. */
export function launcherFrom(
	launcher: LauncherChoice,
	fields: readonly FormField[],
	typed: Typed,
): Record<string, unknown> {
	const made: { launcher: Record<string, unknown> } = { launcher: { type: launcher.type } };
	for (const field of fields) {
		const text = typed[nameOf(field)] ?? field.value;
		if (text.trim() !== "") put(made, field.path, valueOf(field, text));
	}
	return made.launcher;
}

function valueOf({ kind, setting }: FormField, text: string): unknown {
	const found = read(kind, setting, text);
	return "value" in found ? found.value : text;
}

function put(tree: object, [name, ...rest]: readonly string[], value: unknown): void {
	const members = tree as Record<string, unknown>;
	if (rest.length === 0) members[name!] = value;
	else put((members[name!] ??= {}) as object, rest, value);
}

/** An object that replaces another in a merge patch: removed members must be sent as null. */
export function replacing(before: unknown, after: unknown): unknown {
	if (!isObject(before) || !isObject(after)) return after;
	const removed = Object.keys(before).filter((name) => !(name in after));
	return {
		...Object.fromEntries(removed.map((name) => [name, null])),
		...Object.fromEntries(Object.entries(after).map(([name, value]) => [name, replacing(before[name], value)])),
	};
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
