/** What a release is a version of: the settings with which workers are launched (D50). */
import type { Endpoint } from "../endpoints/endpoint.ts";

/** `management` says how clients of RunPod's management API gave the others. */
const NAMES = ["launcher", "env", "gpusPerWorker", "gpuMemoryGb", "management"] as const;
export type LaunchedSettings = Pick<Endpoint, (typeof NAMES)[number]>;

export function launchedSettings(endpoint: LaunchedSettings): LaunchedSettings {
	return Object.fromEntries(
		NAMES.flatMap((name) => (endpoint[name] === undefined ? [] : [[name, endpoint[name]]])),
	) as unknown as LaunchedSettings;
}

/** The settings of `current`, with those of `launched` for its workers. */
export function withLaunched<S extends Partial<LaunchedSettings>>(current: S, launched: LaunchedSettings): S {
	const names: readonly string[] = NAMES;
	const rest = Object.entries(current).filter(([name]) => !names.includes(name));
	return { ...Object.fromEntries(rest), ...launched } as unknown as S;
}

/** `old` is null for a setting that was added, `new` for one that was removed. */
export interface ReleaseChange {
	/** Such as `launcher.image` or `env.MODEL`. */
	field: string;
	old: unknown;
	new: unknown;
}

/** Stand for values of variables, which are secret. */
const SET = "(set)";
const CHANGED = "(changed)";

/** Ordered by field. */
export function diffOf(before: LaunchedSettings, after: LaunchedSettings): ReleaseChange[] {
	const [old, next] = [shownMembers(before), shownMembers(after)];
	const fields = [...new Set([...old.keys(), ...next.keys()])].toSorted();
	const changes = fields
		.map((field): ReleaseChange => ({ field, old: old.get(field) ?? null, new: next.get(field) ?? null }))
		.filter((change) => JSON.stringify(change.old) !== JSON.stringify(change.new));
	const variables = Object.keys(after.env)
		.filter((name) => Object.hasOwn(before.env, name) && before.env[name] !== after.env[name])
		.map((name): ReleaseChange => ({ field: `env.${name}`, old: SET, new: CHANGED }));
	return [...changes, ...variables].toSorted((a, b) => (a.field < b.field ? -1 : 1));
}

function shownMembers({ launcher, env, gpusPerWorker, gpuMemoryGb }: LaunchedSettings): Map<string, unknown> {
	return new Map<string, unknown>([
		...Object.entries(launcher).map(([name, value]) => [`launcher.${name}`, value] as const),
		...Object.keys(env).map((name) => [`env.${name}`, SET] as const),
		...(gpusPerWorker > 0 ? [["gpusPerWorker", gpusPerWorker] as const] : []),
		...(gpuMemoryGb === undefined ? [] : [["gpuMemoryGb", gpuMemoryGb] as const]),
	]);
}
