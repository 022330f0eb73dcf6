/** The releases of an endpoint in their order (D50). */
import type { ReleaseSettings } from "../endpoints/endpoint.ts";

/** Number of releases that are kept, in addition to those that workers run. */
export const KEPT_RELEASES = 100;

export interface Release {
	version: number;
	launchHash: string;
	state: "unproven" | "healthy" | "failed";
	failures: number;
	/** Set if the service rolled back to it. */
	reason?: string;
}

/**
 * Returns the last healthy release whose settings have not failed since: a release that failed after a rollback to it
 * is not chosen again. `releases`: earlier versions first; the last one is current.
 */
export function rollbackTarget<R extends Release>(releases: readonly R[]): R | undefined {
	const current = releases.at(-1);
	const isFailed = ({ launchHash, version }: R): boolean =>
		launchHash === current?.launchHash ||
		releases.some((later) => later.version > version && later.launchHash === launchHash && later.state === "failed");
	return releases.findLast((each) => each.state === "healthy" && !isFailed(each));
}

/**
 * Whether the current release is to be rolled back, because its workers crashed before one was healthy. Not one that
 * the service has rolled back to: what makes workers fail that were healthy once is not in its settings.
 */
export function hasFailed(
	{ state, failures, reason }: Release,
	{ failAfter }: Pick<ReleaseSettings, "failAfter">,
): boolean {
	return state === "unproven" && reason === undefined && failAfter > 0 && failures >= failAfter;
}

/** Returns the versions that are not kept once `added` more are stored. `running`: launch hashes of workers. */
export function outdatedVersions(
	releases: readonly Release[],
	{ added, running }: { added: number; running: ReadonlySet<string> },
): number[] {
	const target = rollbackTarget(releases)?.version;
	return releases
		.slice(0, Math.max(0, releases.length + added - KEPT_RELEASES))
		.filter(({ version, launchHash }) => version !== target && !running.has(launchHash))
		.map(({ version }) => version);
}
