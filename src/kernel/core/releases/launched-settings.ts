/** The settings with which workers are launched; a release is a version of them (D50). */
import { changesBetween } from "../endpoints/endpoint-changes.ts";
import type { Endpoint } from "../endpoints/endpoint.ts";
import { moduleMembers } from "../endpoints/endpoint-member.ts";

/** `management` says how clients of RunPod's management API gave the others. */
const NAMES = ["launcher", "env", "gpusPerWorker", "gpuMemoryGb", "management"] as const;
/** At run time also the settings that modules define. */
export type LaunchedSettings = Pick<Endpoint, (typeof NAMES)[number]>;

export function launchedSettings(endpoint: LaunchedSettings): LaunchedSettings {
	const own = NAMES.flatMap((name) => (endpoint[name] === undefined ? [] : [[name, endpoint[name]]]));
	return { ...Object.fromEntries(own), ...moduleMembers(endpoint) } as unknown as LaunchedSettings;
}

/** The settings of `current`, with those of `launched` for its workers. */
export function withLaunched<S extends Partial<LaunchedSettings>>(current: S, launched: LaunchedSettings): S {
	const names: readonly string[] = [...NAMES, ...Object.keys(moduleMembers(current))];
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

/** Texts that replace values of variables, which are secret. */
const SET = "(set)";
const CHANGED = "(changed)";

/** Ordered by field. */
export function diffOf(before: LaunchedSettings, after: LaunchedSettings): ReleaseChange[] {
	return changesBetween(shown(before), shown(after))
		.map(({ field, action, before: old = SET, after: next = action === "add" ? SET : CHANGED }) => ({
			field,
			old: action === "add" ? null : old,
			new: action === "remove" ? null : next,
		}))
		.toSorted((a, b) => (a.field < b.field ? -1 : 1));
}

function shown(settings: LaunchedSettings): object {
	const { launcher, env, gpusPerWorker, gpuMemoryGb } = settings;
	const gpus = gpusPerWorker > 0 ? gpusPerWorker : undefined;
	return { launcher, env, gpusPerWorker: gpus, gpuMemoryGb, ...moduleMembers(settings) };
}
