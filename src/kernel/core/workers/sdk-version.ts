/** Known problems of RunPod's Python SDK, by `runpod_version` in pings (protocol B.7). */

/** First and last version that mixes up job lists on a shared network volume. */
const SHARED_JOB_LIST = { from: [1, 7, 11], to: [1, 10, 0] } as const;

export function sdkWarning(version: string): string | undefined {
	const parts = version.split(".").map(Number);
	if (parts.length !== 3 || parts.some(Number.isNaN)) return undefined;
	if (compare(parts, SHARED_JOB_LIST.from) < 0 || compare(parts, SHARED_JOB_LIST.to) > 0) return undefined;
	return (
		`SDK ${version} mixes up the job lists of workers that share a network volume: running jobs ` +
		"may be considered lost. Use 1.10.1 or newer."
	);
}

function compare(a: readonly number[], b: readonly number[]): number {
	for (const [at, part] of a.entries()) if (part !== b[at]) return part - (b[at] ?? 0);
	return 0;
}
