/**
 * The registered launchers (D25). Those that are modules come from `src/modules/launchers.ts`: the one place where the
 * kernel imports what modules give, since the schema of endpoints needs it.
 */
import { LAUNCHERS as MODULE_LAUNCHERS } from "#launchers";
import type { Endpoint, LauncherSettings } from "../core/endpoints/endpoint.ts";
import type { Fault } from "../lib/schema.ts";
import type { LauncherDefinition } from "./definition.ts";
import { EXTERNAL } from "./external/index.ts";
import { PROCESS } from "./process/index.ts";

export const LAUNCHERS: readonly LauncherDefinition[] = [PROCESS, ...MODULE_LAUNCHERS, EXTERNAL];

function definitionOf(type: string): LauncherDefinition | undefined {
	return LAUNCHERS.find((launcher) => launcher.type === type);
}

export function isManaged(type: string): boolean {
	return definitionOf(type)?.managed ?? true;
}

export function isShared(type: string): boolean {
	return definitionOf(type)?.shared ?? false;
}

export function sharesGpus(type: string): boolean {
	return definitionOf(type)?.sharesGpus ?? false;
}

/** Whether workers of this type can be adapters of HTTP servers: an external worker is what its operator starts. */
export function adapts(type: string): boolean {
	return !isManaged(type) || definitionOf(type)?.adapts !== undefined;
}

/** Whether the server of an HTTP worker is in a container of its own, apart from its adapter. */
export function isServerContained(type: string): boolean {
	return definitionOf(type)?.adapts === "container";
}

/** Whether the servers of two HTTP workers may be in one network, where they cannot have the same port. */
export function sharesPorts(settings: LauncherSettings): boolean {
	const definition = definitionOf(settings.type);
	return definition?.adapts === "child" || (definition?.isOnHostNetwork?.(settings) ?? false);
}

export function canSleep(settings: LauncherSettings): boolean {
	return definitionOf(settings.type)?.canSleep?.(settings) ?? false;
}

export function usesOwnGpus(settings: LauncherSettings): boolean {
	return !(definitionOf(settings.type)?.placesGpus?.(settings) ?? false);
}

/** Whether GPUs or a platform say what is free for more workers than workersMax. */
export function countsRoom({ gpusPerWorker, launcher }: Endpoint): boolean {
	return gpusPerWorker > 0 || !usesOwnGpus(launcher);
}

/** Returns how many workers may be awake. Where nothing counts what is free, workersMax is what the machine can run. */
export function mostAwake(endpoint: Endpoint): number {
	const { workersMax, release } = endpoint;
	return workersMax + (countsRoom(endpoint) ? release.maxSurge : 0);
}

export function launcherFaults(settings: LauncherSettings): Fault[] {
	return inLauncher(definitionOf(settings.type)?.faults?.(settings) ?? []);
}

/** Settings whose change requires replacing the running workers. */
export function replacementSettings(settings: LauncherSettings): Record<string, unknown> {
	const kept = definitionOf(settings.type)?.keepsWorkers ?? [];
	return Object.fromEntries(Object.entries(settings).filter(([name]) => !kept.includes(name)));
}

export async function missingHere(settings: LauncherSettings): Promise<Fault[]> {
	return inLauncher((await definitionOf(settings.type)?.missing?.(settings)) ?? []);
}

function inLauncher(faults: readonly Fault[]): Fault[] {
	return faults.map(({ field, message }) => ({ field: `launcher.${field}`, message }));
}

export function resolvePaths(settings: LauncherSettings, folder: string): LauncherSettings {
	return definitionOf(settings.type)?.resolvePaths?.(settings, folder) ?? settings;
}

/** Whether workers of this type are containers of an image. */
export function runsImages(type: string): boolean {
	return definitionOf(type)?.settings.properties?.["image"] !== undefined;
}
