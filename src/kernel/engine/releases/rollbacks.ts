/** Takes a release as healthy, or undoes one whose workers crash or whose jobs fail (D50). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { ApiError } from "../../core/errors.ts";
import { hasFailed, rollbackTarget } from "../../core/releases/history.ts";
import { type LaunchedSettings, withLaunched } from "../../core/releases/launched-settings.ts";
import { asSentence, withFullStop } from "../../lib/text.ts";
import type { ReleaseHead } from "../../store/contract/releases.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { withoutId } from "../endpoints/endpoints.ts";
import type { Worker } from "../workers/worker-registry.ts";
import type { Canaries } from "./canaries.ts";
import { isHealthy, type ReleaseDeps, releasesOf } from "./worker-release.ts";

interface Deps extends ReleaseDeps {
	cluster: Cluster;
	canaries: Canaries;
	/** Forgets crashes, so that workers are started at once. */
	resume: (endpoint: string) => void;
}

export function rollbacks(d: Deps) {
	const { endpoints, workers, events, background, cluster, canaries } = d;
	const lastCrash = new Map<string, string>();
	/** Releases whose rollback is in progress, or impossible. */
	const undone = new Set<string>();

	function crashesText({ endpoint, failures }: ReleaseHead): string {
		const last = lastCrash.get(endpoint);
		const because = last === undefined ? "" : `, the last one because: ${asSentence(last)}`;
		return `its workers crashed ${failures} times before one was healthy${because}`;
	}

	/** Returns false if another server or a person was faster. Throws what refuses the earlier settings. */
	async function rollBack(failed: ReleaseHead, target: ReleaseHead, why: string): Promise<boolean> {
		const id = failed.endpoint;
		const reason = withFullStop(`Version ${failed.version} was rolled back to version ${target.version}: ${why}`);
		let isDone = false;
		const settingsOfTarget = async (before: Endpoint): Promise<object> => {
			isDone = false;
			const settings = withoutId(before);
			// Meanwhile another server may scale it, or someone may have changed it.
			if (!cluster.scales(id) || releasesOf(endpoints, id).at(-1)!.version !== failed.version) return settings;
			const opened = await endpoints.versions.settingsOf(endpoints.entry(id), target.version);
			if (!opened || opened.unreadable.length > 0)
				throw new ApiError("release_refused", { why: `The settings of version ${target.version} cannot be read.` });
			isDone = true;
			return withLaunched(settings, opened.settings as unknown as LaunchedSettings);
		};
		await endpoints.change(id, settingsOfTarget, { source: "rollback", reason, fail: failed.version, keepsUsed: true });
		if (!isDone) return false;
		lastCrash.delete(id);
		events.emit("release.rolled_back", { endpoint: id, reason });
		d.resume(id);
		return true;
	}

	events.on("worker.failed", ({ endpoint, launchedAs, reason }) => {
		if (launchedAs === undefined || !endpoints.has(endpoint)) return;
		const current = releasesOf(endpoints, endpoint).at(-1)!;
		if (current.launchHash !== launchedAs || current.state !== "unproven") return;
		if (hasFailed(current, endpoints.get(endpoint).release)) return;
		lastCrash.set(endpoint, reason);
		background.run(`crashes of ${endpoint}`, endpoints.versions.crashed(current));
	});

	return {
		/** Whether no worker of its release was healthy so far. */
		isUnproven({ endpoint, launchedAs }: Pick<Worker, "endpoint" | "launchedAs">): boolean {
			if (!endpoints.has(endpoint)) return false;
			const { launchHash: hash, state } = releasesOf(endpoints, endpoint).at(-1)!;
			return hash === launchedAs && state === "unproven";
		},
		/** A worker of the current release may prove it once its canary is over; crashes or failed jobs undo it. */
		judge(endpoint: Endpoint): void {
			const { id } = endpoint;
			const current = releasesOf(endpoints, id).at(-1)!;
			if (current.state !== "unproven") return;
			const isProof = (worker: Worker): boolean =>
				worker.managed && worker.launchedAs === current.launchHash && isHealthy(d, endpoint, worker);
			const verdict = canaries.verdict(endpoint);
			if (!canaries.of(endpoint) && [...workers.registry.of(id)].some(isProof)) {
				events.emit("release.healthy", { endpoint: id, version: current.version, compared: verdict?.text });
				return background.run(`release of ${id}`, endpoints.versions.prove(current));
			}
			const why =
				verdict?.result === "undo"
					? `its jobs were worse: ${verdict.text}`
					: hasFailed(current, endpoint.release) && crashesText(current);
			const key = `${id} ${current.version}`;
			if (!why || undone.has(key)) return;
			const target = rollbackTarget(releasesOf(endpoints, id));
			if (!target) return;
			undone.add(key);
			const done = rollBack(current, target, why).then(
				(isDone) => void (isDone || undone.delete(key)),
				(error: unknown) => {
					// What is refused now, such as a folder that is not there any more, is refused again.
					if (!(error instanceof ApiError) || error.code === "endpoint_changed") undone.delete(key);
					throw error;
				},
			);
			background.run(`rollback of ${id}`, done);
		},
	};
}
