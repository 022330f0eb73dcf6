/** Resolves the setting `http` of an endpoint: a preset, with what the user wrote merged over it. */
import { PRESETS } from "../presets/index.ts";
import { isObject, type MappingFault, shown } from "./mapping-reader.ts";
import type { Mapping } from "./mapping.ts";
import { readMapping } from "./read-mapping.ts";

export type ResolvedMapping =
	| { ok: true; value: Record<string, unknown>; mapping: Mapping }
	| { ok: false; faults: MappingFault[] };

/** Half of what the system takes as one variable, in which the adapter gets the mapping. */
const MAX_BYTES = 65_536;
const MAX_DEPTH = 32;
const PLACES = ["port", "socket", "url"];

/**
 * `given`: parsed JSON, or the name of a preset; without one it is `raw`. Members of objects are merged, `null` removes
 * a member, lists and all else replace. One of `port`, `socket` and `url` replaces any of the preset. `value` has no
 * preset any more, so that it may be resolved again.
 */
export function resolveMapping(given: unknown): ResolvedMapping {
	const setting = typeof given === "string" ? { preset: given } : given;
	const refused = (path: string, message: string): ResolvedMapping => ({ ok: false, faults: [{ path, message }] });
	if (!isObject(setting)) return refused("http", `must be the name of a preset or an object; it is ${shown(given)}.`);
	if (isDeeper(setting, MAX_DEPTH)) return refused("http", `must have at most ${MAX_DEPTH} levels.`);
	const bytes = new TextEncoder().encode(JSON.stringify(setting)).length;
	if (bytes > MAX_BYTES) return refused("http", `must have at most ${MAX_BYTES} bytes as JSON; it has ${bytes}.`);
	const { preset: name = "raw", ...own } = setting;
	const preset = typeof name === "string" && Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
	if (!preset)
		return refused("http.preset", `must be one of ${Object.keys(PRESETS).join(", ")}; it is ${shown(name)}.`);
	const base = { ...preset.settings };
	if (PLACES.some((each) => own[each] !== undefined)) for (const each of PLACES) delete base[each];
	const value = merged(base, own) as Record<string, unknown>;
	const read = readMapping(value);
	return read.ok ? { ok: true, value, mapping: read.mapping } : read;
}

function merged(base: unknown, own: unknown): unknown {
	if (!isObject(own)) return own;
	const members = new Map(Object.entries(isObject(base) ? base : {}));
	for (const [name, value] of Object.entries(own))
		if (value === null) members.delete(name);
		else members.set(name, merged(members.get(name), value));
	return Object.fromEntries(members);
}

function isDeeper(value: unknown, levels: number): boolean {
	if (typeof value !== "object" || value === null) return false;
	return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}
