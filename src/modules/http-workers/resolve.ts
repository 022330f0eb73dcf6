/** The mapping of an endpoint: a preset, with what the endpoint sets over it. */
import {
	EXAMPLE_INPUTS,
	type Mapping,
	type MappingFault,
	namesIn,
	PRESETS,
	resolveMapping,
} from "../../../packages/worker/src/http/mapping-index.ts";
import { isObject } from "../../kernel/lib/schema.ts";

export type { Mapping };

/** The name of a preset, or members of the mapping. */
export type HttpSetting = string | Readonly<Record<string, unknown>>;

/** Where the server is. */
export type Place = Mapping["place"];

/** `value` is what an adapter reads. */
export type Resolved =
	| { ok: true; value: Readonly<Record<string, unknown>>; mapping: Mapping }
	| { ok: false; faults: MappingFault[] };

export const PRESET_NAMES: readonly string[] = Object.keys(PRESETS);

/** Presets as clients see them. */
export function presetsShown() {
	return Object.entries(PRESETS).map(([name, { title, settings }]) => {
		const input = EXAMPLE_INPUTS[name];
		const { port } = settings;
		return { name, title, ...(typeof port === "number" && { port }), ...(input && { input }) };
	});
}

/** Members of which the mapping has one: they say where the server is. */
const PLACES = ["port", "socket", "url"];

/**
 * `isLaunched`: whether the service starts the server. The place of another one is an argument of `sluice connect`, so
 * its mapping needs none.
 */
export function resolveHttp(given: HttpSetting, { isLaunched }: { isLaunched: boolean }): Resolved {
	if (isLaunched || hasPlace(given)) return resolveMapping(given);
	// Any place, so that all else is checked.
	const read = resolveMapping({ ...membersOf(given), url: "http://127.0.0.1" });
	if (!read.ok) return read;
	const { url: _, ...value } = read.value;
	return { ...read, value };
}

function hasPlace(given: HttpSetting): boolean {
	const members = membersOf(given);
	const preset = PRESETS[String(members["preset"])]?.settings ?? {};
	return PLACES.some((name) => {
		const own = members[name];
		return own === undefined ? preset[name] !== undefined : own !== null;
	});
}

/** Names of the variables that headers send as `{env.NAME}`. */
export function variablesOf(mapping: Mapping): string[] {
	const names = namesIn(mapping).filter((name) => name.startsWith("env."));
	return [...new Set(names.map((name) => name.slice("env.".length)))];
}

/** The name of a preset stands for an object with it. */
export function membersOf(given: HttpSetting): Readonly<Record<string, unknown>> {
	return isObject(given) ? given : { preset: given };
}
