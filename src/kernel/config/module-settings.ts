/** Members of `sluice.yaml` that belong to modules. */
import { withDurations } from "../core/durations.ts";
import { areaOf, EVENTS } from "../event-table.ts";
import type { Env } from "../lib/env.ts";
import { check, isAbsent, isObject, type Schema } from "../lib/schema.ts";
import { type Variables, withVariables } from "./variables.ts";

export interface ModuleSettings<Settings> {
	/** Its description says what the member is for. */
	readonly schema: Schema;
	/** `given` fits the schema. */
	from(given: unknown, source: SettingsSource): Settings;
}

/** Where a member was read, for values that it only names. */
export interface SettingsSource {
	/** Path of the file. */
	readonly path: string;
	readonly env: Env;
	/** Undefined if the file cannot be read. */
	readFile(path: string): string | undefined;
	/** Sentences that refuse the start are added here. */
	readonly problems: string[];
	/** Marks a variable as one that workers do not get. */
	keepSecret(variable: string): void;
}

/** What the configuration needs of a module. */
export interface ConfiguredModule {
	readonly name: string;
	readonly settings?: ModuleSettings<unknown>;
	readonly events?: Readonly<Record<string, unknown>>;
}

/** What the schema of `sluice.yaml` has of these members, which `readModules` checks. */
export function moduleMembers(modules: readonly ConfiguredModule[]): Record<string, Schema> {
	const members = modules.flatMap(({ name, settings }) => {
		if (!settings) return [];
		const { description = "", "x-message": message = "must be an object." } = settings.schema;
		return [[name, { type: "object", description, "x-message": message }] as const];
	});
	return Object.fromEntries(members);
}

/** Settings by name of the module. `file` may have any form; faults are added to `problems`. */
export function readModules(
	modules: readonly ConfiguredModule[],
	file: Readonly<Record<string, unknown>>,
	{ path, variables, env, readFile }: Omit<SettingsSource, "problems" | "keepSecret"> & { variables: Variables },
	problems: string[],
): Record<string, unknown> {
	const keepSecret = (variable: string): void => void variables.used.push(variable);
	const source: SettingsSource = { path, env, readFile, problems, keepSecret };
	const read = modules.flatMap(({ name, settings }) => {
		const raw = file[name];
		// The schema of the file refuses all else.
		if (!settings || !isObject(raw)) return [];
		const before = problems.length;
		const { schema } = settings;
		const given = withDurations(schema, withVariables(withoutAbsent(raw, schema), `${path}: ${name}`, variables));
		if (problems.length === before)
			for (const { field, message } of check(schema, given, name)) problems.push(`${path}: ${field} ${message}`);
		return problems.length === before ? [[name, settings.from(given, source)] as const] : [];
	});
	return Object.fromEntries(read);
}

/** Leaves out empty members that have a default (D4), so none whose name the user chose. */
function withoutAbsent(value: unknown, schema?: Schema): unknown {
	if (Array.isArray(value)) return value.map((item) => withoutAbsent(item));
	if (!isObject(value)) return value;
	const isFree = typeof schema?.additionalProperties === "object";
	const given = Object.entries(value).filter(([, member]) => isFree || !isAbsent(member));
	return Object.fromEntries(given.map(([name, member]) => [name, withoutAbsent(member, schema?.properties?.[name])]));
}

/** Why a level of the log names an area that has no events. Undefined if all have some. */
export function unknownArea(level: string, modules: readonly ConfiguredModule[]): string | undefined {
	const events = [EVENTS, ...modules.map((module) => module.events ?? {})].flatMap((table) => Object.keys(table));
	const areas = [...new Set(events.map(areaOf))].toSorted();
	const given = level.split(",").slice(1);
	const unknown = given.map((each) => each.split("=")[0]!).find((area) => !areas.includes(area));
	return unknown === undefined ? undefined : `has no area '${unknown}'; areas are ${areas.join(", ")}.`;
}
