/**
 * What is known against versions of RunPod's Python SDK, by the `runpod_version` of a worker's
 * pings (protocol B.7). Pure.
 */

/** Versions that mix up the job lists of workers which share a network volume, both included. */
const MIXED_UP = { from: [1, 7, 11], to: [1, 10, 0] } as const;

/** A sentence about what to expect of this version; undefined where nothing is known against it. */
export function sdkWarning(version: string): string | undefined {
	const parts = version.split(".").map(Number);
	if (parts.length !== 3 || parts.some(Number.isNaN)) return undefined;
	if (compare(parts, MIXED_UP.from) < 0 || compare(parts, MIXED_UP.to) > 0) return undefined;
	return `SDK ${version} mixes up the job lists of workers that share a network volume: running jobs may be taken for lost. Use 1.10.1 or newer.`;
}

function compare(a: readonly number[], b: readonly number[]): number {
	for (const [at, part] of a.entries()) if (part !== b[at]) return part - (b[at] ?? 0);
	return 0;
}
