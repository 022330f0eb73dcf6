/** The releases of endpoints in memory, and which a change of settings adds (D50). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { outdatedVersions } from "../../core/releases/history.ts";
import { diffOf, launchedSettings } from "../../core/releases/launched-settings.ts";
import type { EpochMs } from "../../lib/time.ts";
import { isManaged } from "../../launchers/index.ts";
import type { Encryption } from "../../secrets/encryption.ts";
import type {
	ReleaseChanges,
	ReleaseEntry,
	ReleaseHead,
	ReleaseRow,
	ReleaseSource,
} from "../../store/contract/endpoints.ts";
import type { Store } from "../../store/contract/store.ts";
import { LAUNCHED_AS, launchHash } from "./launch-hash.ts";
import { openSettings, type OpenedSettings, sealSettings } from "./sealed-settings.ts";

/** Who or what changed an endpoint. */
export interface Origin {
	source: ReleaseSource;
	/** Id of a key. */
	by?: string | undefined;
	/** Why the service rolls back. */
	reason?: string | undefined;
	/** The version that this change marks as failed. */
	fail?: number | undefined;
	/** Whether the registry and the volumes that the endpoint begins to use must exist. */
	keepsUsed?: boolean | undefined;
}

interface StoredEndpoint {
	endpoint: Endpoint;
	createdAt: EpochMs;
}

export interface VersionPage {
	before: number;
	limit: number;
	hold: (size: number) => Promise<void> | undefined;
}

export type EndpointVersions = ReturnType<typeof endpointVersions>;

export function endpointVersions({ releases, workers }: Store, { encryption }: { encryption: Encryption }) {
	let heads = new Map<string, ReleaseHead[]>();

	/**
	 * The release of settings that an earlier version of Sluice stored without one: a rollback returns to what ran then.
	 */
	function unrecorded({ endpoint, createdAt }: StoredEndpoint): ReleaseHead {
		const version = (heads.get(endpoint.id)?.at(-1)?.version ?? 0) + 1;
		const head = headOf(endpoint, { version, source: "stored", createdAt });
		return isManaged(endpoint.launcher.type) ? { ...head, state: "healthy" } : head;
	}

	/** Returns the releases of an endpoint, earlier versions first, at least one. */
	function releasesOf(stored: StoredEndpoint): readonly ReleaseHead[] {
		const known = heads.get(stored.endpoint.id) ?? [];
		return known.at(-1)?.launchHash === launchHash(stored.endpoint) ? known : [...known, unrecorded(stored)];
	}

	function rowOf(head: ReleaseHead, q: { after: Endpoint; before: Endpoint | undefined }): ReleaseRow {
		const launched = launchedSettings(q.after);
		return {
			...head,
			diff: JSON.stringify(q.before ? diffOf(q.before, launched) : []),
			settings: sealSettings(launched, encryption),
		};
	}

	const unrecordedRow = (stored: StoredEndpoint): ReleaseRow =>
		rowOf(unrecorded(stored), { after: stored.endpoint, before: undefined });

	async function runningHashes(): Promise<ReadonlySet<string>> {
		const handles = (await workers.list()).map(({ handle = "{}" }) => JSON.parse(handle) as Record<string, unknown>);
		return new Set(handles.map((handle) => String(handle[LAUNCHED_AS])));
	}

	const isRecorded = (stored: StoredEndpoint): boolean =>
		releasesOf(stored).length === heads.get(stored.endpoint.id)?.length;

	return {
		of: releasesOf,
		/**
		 * Returns versions below `before`, newest first. `hold` is called with their number of characters before they are
		 * read.
		 */
		async list(stored: StoredEndpoint, { hold, before, limit }: VersionPage): Promise<ReleaseEntry[]> {
			const q = { endpoint: stored.endpoint.id, before, limit };
			await hold(await releases.size(q));
			const kept = await releases.list(q);
			const { settings: _, ...current } = unrecordedRow(stored);
			const isShown = !isRecorded(stored) && current.version < before;
			return isShown ? [current, ...kept].slice(0, limit) : kept;
		},
		async load(): Promise<void> {
			heads = Map.groupBy(await releases.heads(), ({ endpoint }) => endpoint);
		},
		/** Returns the settings of a version; undefined if it is not kept. */
		async settingsOf(stored: StoredEndpoint, version: number): Promise<OpenedSettings | undefined> {
			const isCurrent = !isRecorded(stored) && version === unrecorded(stored).version;
			const row = isCurrent ? unrecordedRow(stored) : await releases.find({ endpoint: stored.endpoint.id, version });
			return row && openSettings(row.settings, encryption);
		},
		/** Returns the release that a change makes; undefined if workers are launched as before. */
		async changes(
			after: Endpoint,
			{ before, origin, now }: { before: StoredEndpoint | undefined; origin: Origin; now: EpochMs },
		): Promise<ReleaseChanges | undefined> {
			const known = heads.get(after.id) ?? [];
			const current = before ? releasesOf(before).at(-1) : known.at(-1);
			if (current?.launchHash === launchHash(after)) return undefined;
			const { source, by, reason, fail } = origin;
			const head = headOf(after, { version: (current?.version ?? 0) + 1, source, createdAt: now });
			const row = {
				...rowOf(head, { after, before: before?.endpoint }),
				...(by !== undefined && { createdBy: by }),
				...(reason !== undefined && { reason }),
			};
			const add = before && current !== known.at(-1) ? [unrecordedRow(before), row] : [row];
			const q = { added: add.length, running: new Set<string>() };
			const isFull = outdatedVersions(known, q).length > 0;
			const remove = isFull ? outdatedVersions(known, { ...q, running: await runningHashes() }) : [];
			return { add, fail, remove };
		},
		/** Call when {@link changes} have been stored. */
		changed(id: string, { add, fail, remove }: ReleaseChanges): void {
			const kept = (heads.get(id) ?? []).filter(({ version }) => !remove.includes(version));
			const known = kept.map((each) => (each.version === fail ? { ...each, state: "failed" as const } : each));
			// Settings may be large, so they are not kept in memory.
			const added = add.map(({ createdBy: _by, diff: _diff, settings: _settings, ...head }) => head);
			heads.set(id, [...known, ...added]);
		},
		async prove(head: ReleaseHead): Promise<void> {
			head.state = "healthy";
			await releases.prove(head);
		},
		async crashed(head: ReleaseHead): Promise<void> {
			head.failures += 1;
			await releases.crashed(head);
		},
		/** Whether settings like these failed and were replaced by an automatic rollback that is in force. */
		isRolledBack(endpoint: Endpoint): boolean {
			const known = heads.get(endpoint.id) ?? [];
			if (known.at(-1)?.reason === undefined) return false;
			return known.findLast((each) => each.launchHash === launchHash(endpoint))?.state === "failed";
		},
		forget: (id: string): void => void heads.delete(id),
	};
}

function headOf(endpoint: Endpoint, q: Pick<ReleaseHead, "version" | "source" | "createdAt">): ReleaseHead {
	return { endpoint: endpoint.id, launchHash: launchHash(endpoint), state: "unproven", failures: 0, ...q };
}
