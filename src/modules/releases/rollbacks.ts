/** Marks a release as healthy, or undoes one whose workers crash or whose jobs fail (D50). */
import type { Endpoint } from "../../kernel/core/endpoints/endpoint.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import { hasFailed, rollbackTarget } from "../../kernel/core/releases/history.ts";
import { type LaunchedSettings, withLaunched } from "../../kernel/core/releases/launched-settings.ts";
import { asSentence, withFullStop } from "../../kernel/lib/text.ts";
import type { ReleaseHead } from "../../kernel/store/contract/endpoints.ts";
import { withoutId } from "../../kernel/engine/endpoints/endpoints.ts";
import type { Worker } from "../../kernel/engine/workers/worker-registry.ts";
import type { Canaries } from "./canaries.ts";
import type { Judged } from "../../kernel/engine/releases/policy.ts";
import { releasesOf } from "../../kernel/engine/releases/worker-release.ts";
import { busOf } from "../../kernel/events.ts";
import type { Kernel } from "../../kernel/module.ts";
import { ERRORS } from "./errors.ts";
import type { EVENTS } from "./events.ts";

type Deps = Pick<Kernel, "background" | "cluster" | "endpoints" | "events" | "workers"> & { canaries: Canaries };

interface Undone {
	failed: ReleaseHead;
	target: ReleaseHead;
	why: string;
	startNow: Judged["startNow"];
}

export function rollbacks(d: Deps) {
	const { endpoints, workers, background, cluster, canaries } = d;
	const events = busOf<typeof EVENTS>(d.events);
	const lastCrash = new Map<string, string>();
	/** Releases whose rollback is in progress, or impossible. */
	const undone = new Set<string>();

	function crashesText({ endpoint, failures }: ReleaseHead): string {
		const last = lastCrash.get(endpoint);
		const because = last === undefined ? "" : `, the last one because: ${asSentence(last)}`;
		return `its workers crashed ${failures} times before one was healthy${because}`;
	}

	/**
	 * Rolls back. Returns false if another server or an operator was faster. Throws the error that refuses the earlier
	 * settings.
	 */
	async function rollBack({ failed, target, why, startNow }: Undone): Promise<boolean> {
		const id = failed.endpoint;
		const reason = withFullStop(`Version ${failed.version} was rolled back to version ${target.version}: ${why}`);
		let isDone = false;
		const settingsOfTarget = async (before: Endpoint): Promise<object> => {
			isDone = false;
			const settings = withoutId(before);
			// In the meantime another server may scale the endpoint, or its settings may have changed.
			if (!cluster.scales(id) || releasesOf(endpoints, id).at(-1)!.version !== failed.version) return settings;
			const opened = await endpoints.versions.settingsOf(endpoints.entry(id), target.version);
			if (!opened || opened.unreadable.length > 0)
				throw new ApiError(ERRORS.release_refused, {
					why: `The settings of version ${target.version} cannot be read.`,
				});
			isDone = true;
			return withLaunched(settings, opened.settings as unknown as LaunchedSettings);
		};
		await endpoints.change(id, settingsOfTarget, { source: "rollback", reason, fail: failed.version, keepsUsed: true });
		if (!isDone) return false;
		lastCrash.delete(id);
		events.emit("release.rolled_back", { endpoint: id, reason });
		startNow(id);
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
		/** Whether no worker of this worker's release has been healthy so far. */
		isUnproven({ endpoint, launchedAs }: Pick<Worker, "endpoint" | "launchedAs">): boolean {
			if (!endpoints.has(endpoint)) return false;
			const { launchHash: hash, state } = releasesOf(endpoints, endpoint).at(-1)!;
			return hash === launchedAs && state === "unproven";
		},
		/**
		 * Evaluates an endpoint's release: a healthy worker proves it once its canary has ended; crashes or failed jobs
		 * undo it.
		 */
		judge(endpoint: Endpoint, { isHealthy, startNow }: Judged): void {
			const { id } = endpoint;
			const current = releasesOf(endpoints, id).at(-1)!;
			if (current.state !== "unproven") return;
			const isProof = (worker: Worker): boolean =>
				worker.managed && worker.launchedAs === current.launchHash && isHealthy(endpoint, worker);
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
			const done = rollBack({ failed: current, target, why, startNow }).then(
				(isDone) => void (isDone || undone.delete(key)),
				(error: unknown) => {
					// Settings that are refused now, such as a folder that no longer exists, would be refused again.
					if (!(error instanceof ApiError) || error.code === "endpoint_changed") undone.delete(key);
					throw error;
				},
			);
			background.run(`rollback of ${id}`, done);
		},
	};
}
