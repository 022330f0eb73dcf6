/** Which endpoint gets places for its workers first (D28). */

/** Lowest first. */
export const PRIORITIES = ["low", "normal", "high"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** An endpoint whose jobs wait for workers. Times in ms since the epoch. */
export interface Waiting {
	priority: Priority;
	oldestQueuedAt: number;
	/** When it last had a worker with a GPU. */
	hadGpuAt: number;
}

/** GPUs go to the highest priority first, then to the endpoint whose jobs have waited longest without any GPU. */
export function compareWaiting(a: Waiting, b: Waiting): number {
	const key = ({ priority, oldestQueuedAt, hadGpuAt }: Waiting): number[] => [
		-PRIORITIES.indexOf(priority),
		Math.max(oldestQueuedAt, hadGpuAt),
		hadGpuAt,
		oldestQueuedAt,
	];
	return compareKeys(key(a), key(b));
}

/** Compares the first numbers that differ. */
export function compareKeys(a: readonly number[], b: readonly number[]): number {
	const at = a.findIndex((each, index) => each !== b[index]);
	return at < 0 ? 0 : a[at]! - b[at]!;
}
