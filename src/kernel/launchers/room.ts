/** Room on a platform that places workers itself (D28). */
import type { LauncherSettings } from "../core/endpoints/endpoint.ts";
import { firstThatSuffice } from "../core/workers/fewest.ts";
import type { PlacedWorker, RoomQuery } from "./launcher.ts";

/** Time in which its scheduler takes notice of a worker and of free GPUs, ms. */
const SCHEDULER_MS = 5000;

/** `poolOf` is the same for settings whose workers can have the same GPUs. */
export function roomInPool(
	{ waiting, quietMs, stoppable, leaving }: RoomQuery,
	poolOf: (settings: LauncherSettings) => unknown,
): string[] {
	if (quietMs < SCHEDULER_MS) return [];
	const pool = JSON.stringify(poolOf(waiting.settings));
	const inPool = ({ settings }: PlacedWorker): boolean => JSON.stringify(poolOf(settings)) === pool;
	const sum = (workers: readonly PlacedWorker[]): number => workers.reduce((all, { gpus }) => all + gpus, 0);
	if (waiting.gpus === 0) return [];
	const coming = sum(leaving.filter(inPool));
	const suffice = (some: readonly PlacedWorker[]): boolean => coming + sum(some) >= waiting.gpus;
	return firstThatSuffice(stoppable.filter(inPool), suffice).map(({ id }) => id);
}
