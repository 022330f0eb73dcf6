/** History of releases, and what operators do with it (D50). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { ApiError } from "../../core/errors.ts";
import { type LaunchedSettings, type ReleaseChange, withLaunched } from "../../core/releases/launched-settings.ts";
import type { ReleaseEntry, ReleaseHead } from "../../store/contract/releases.ts";
import { type Endpoints, withoutId } from "../endpoints/endpoints.ts";
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
		/** A new version with the settings of an earlier one. Throws `release_not_found` and `release_refused`. */
		async rollBack(id: string, { version, by }: { version: number; by: string }): Promise<void> {
			const settingsOf = async (before: Endpoint): Promise<object> => {
				const opened = await versions.settingsOf(endpoints.entry(id), version);
				if (!opened) throw new ApiError("release_not_found", { endpoint: id, version: String(version) });
				const { settings: launched, unreadable } = opened;
				if (unreadable.length > 0)
					throw new ApiError("release_refused", {
						why:
							`The values of env ${unreadable.join(", ")} of version ${version} were stored under another ` +
							"SLUICE_SECRET and cannot be read: set them with a change of the endpoint instead.",
					});
				return withLaunched(withoutId(before), launched as unknown as LaunchedSettings);
			};
			await endpoints.change(id, settingsOf, { source: "rollback", by, keepsUsed: true });
		},
	};
}

function releaseOf(row: ReleaseEntry, workers: number): Release {
	const { endpoint: _, launchHash: _hash, diff, ...shown } = row;
	return { ...shown, diff: JSON.parse(diff) as ReleaseChange[], workers };
}
