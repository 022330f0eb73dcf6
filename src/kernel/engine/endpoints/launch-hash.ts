import { hash } from "node:crypto";
import { moduleMembers } from "../../core/endpoints/endpoint-member.ts";
import { canonical } from "../../lib/same.ts";
import type { LaunchedSettings } from "../../core/releases/launched-settings.ts";
import { replacementSettings } from "../../launchers/index.ts";

/** Member of a worker's stored handle: the hash of the settings with which it was launched. */
export const LAUNCHED_AS = "sluiceLaunchedAs";

/** Workers with another hash are replaced. The order of members does not matter. */
export function launchHash(settings: LaunchedSettings): string {
	const known = hashes.get(settings) ?? hashOf(settings);
	hashes.set(settings, known);
	return known;
}

/** Settings are not changed in place. */
const hashes = new WeakMap<LaunchedSettings, string>();

function hashOf(settings: LaunchedSettings): string {
	const { launcher, env, gpusPerWorker, gpuMemoryGb } = settings;
	const gpus = gpusPerWorker > 0 ? [{ gpusPerWorker, gpuMemoryGb }] : [];
	const members = [replacementSettings(launcher), env, ...gpus].map(sorted);
	const ofModules = moduleMembers(settings);
	// Without settings of modules the hash is that of earlier versions, whose workers stay.
	const hashed = Object.keys(ofModules).length > 0 ? [...members, canonical(ofModules)] : members;
	return hash("sha256", JSON.stringify(hashed), "hex");
}

function sorted(members: object): unknown {
	return Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
