/** History of releases (D50). */
import type { ReleaseChange } from "../../core/releases/launched-settings.ts";
import type { ReleaseEntry, ReleaseHead } from "../../store/contract/endpoints.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { VersionPage } from "../endpoints/versions.ts";
import type { Workers } from "../workers/workers.ts";
import { releasesOf } from "./worker-release.ts";

export interface Release extends Omit<ReleaseHead, "endpoint" | "launchHash"> {
	createdBy?: string;
	diff: ReleaseChange[];
	/** Workers that were launched with these settings. */
	workers: number;
}

export interface History {
	/** The current one. */
	version: number;
	/** Launched workers. */
	workers: { current: number; all: number };
	/** Those of the page, the newest first. */
	releases: Release[];
}

export type Releases = ReturnType<typeof createReleases>;

interface Deps {
	endpoints: Endpoints;
	workers: Workers;
}

export function createReleases({ endpoints, workers }: Deps) {
	const { versions } = endpoints;

	const current = (id: string): ReleaseHead => releasesOf(endpoints, id).at(-1)!;

	return {
		current,
		/** Throws `endpoint_not_found`. */
		async history(id: string, page: VersionPage): Promise<History> {
			const rows = await versions.list(endpoints.entry(id), page);
			const launched = (await workers.views(id)).flatMap((view) => (view.launchedAs === undefined ? [] : [view]));
			const byVersion = Map.groupBy(launched, (view) => endpoints.releaseOf(id, view.launchedAs));
			const { version } = current(id);
			return {
				version,
				workers: { current: byVersion.get(version)?.length ?? 0, all: launched.length },
				releases: rows.map((row) => releaseOf(row, byVersion.get(row.version)?.length ?? 0)),
			};
		},
	};
}

function releaseOf(row: ReleaseEntry, workers: number): Release {
	const { endpoint: _, launchHash: _hash, diff, ...shown } = row;
	return { ...shown, diff: JSON.parse(diff) as ReleaseChange[], workers };
}
