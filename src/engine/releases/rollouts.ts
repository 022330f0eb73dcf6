/**
 * Replaces the workers of earlier releases, and undoes a release whose workers crash (D50).
 *
 * The store has what outlives a server: the releases, whether one is proved, and its crashes. In memory is only how
 * many workers left before others took their place; a server that begins with it again replaces one more at most.
 */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { ApiError } from "../../core/errors.ts";
import { hasFailed, rollbackTarget } from "../../core/releases/history.ts";
import { type LaunchedSettings, withLaunched } from "../../core/releases/launched-settings.ts";
import { rolloutStep } from "../../core/releases/rollout.ts";
import { asSentence } from "../../lib/text.ts";
import { isManaged } from "../../launchers/index.ts";
import type { PlacedWorker } from "../../launchers/launcher.ts";
import type { ReleaseHead } from "../../store/contract/releases.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import { type Endpoints, withoutId } from "../endpoints/endpoints.ts";
import { launchHash } from "../endpoints/launch-hash.ts";
import type { Workers } from "../workers/workers.ts";
import type { Worker } from "../workers/worker-registry.ts";

const REPLACED = "its endpoint has another launcher or environment now";

interface Deps extends EngineContext {
	endpoints: Endpoints;
	workers: Workers;
	cluster: Cluster;
	/** Whether no job of the endpoint waits. */
	noneWaits: (endpoint: string) => boolean;
	/** Forgets crashes, so that workers are started at once. */
	resume: (endpoint: string) => void;
}

interface Progress {
	launchHash: string;
	ahead: number;
	/** See `Rollout`; until one has become healthy. */
	makers: number;
	pending: number;
	/** Healthy ones that have taken the place of another. */
	arrived: WeakSet<Worker>;
}

export interface RolloutPlan {
	/** Workers to be started besides those that jobs need. */
	start: number;
	/** Workers that do not count for jobs yet. */
	extra: ReadonlySet<Worker>;
}

const NOTHING: RolloutPlan = { start: 0, extra: new Set() };

export function rollouts(d: Deps) {
	const { endpoints, workers, events, background, cluster } = d;
	const { registry, launcher } = workers;
	const progressOf = new Map<string, Progress>();
	const lastCrash = new Map<string, string>();
	/** Releases whose rollback is in progress, or impossible. */
	const undone = new WeakSet<ReleaseHead>();

	const head = (id: string): ReleaseHead => endpoints.versions.of(endpoints.entry(id)).at(-1)!;
	const isOld = (worker: Worker, hash: string): boolean =>
		worker.launchedAs !== undefined && worker.launchedAs !== hash;

	function isHealthy({ id, release }: Endpoint, worker: Worker): boolean {
		if (!worker.ready || worker.unhealthy || worker.sleep || launcher.isLeaving(worker)) return false;
		const hasCalled = worker.takes > 0 || worker.seenAt > (worker.readyAt ?? 0);
		// One that was taken over counts as ready before that.
		if (worker.hasSettled && worker.settled === undefined && !hasCalled) return false;
		return (worker.settled ?? 0) >= release.minJobs || (worker.held.size === 0 && d.noneWaits(id));
	}

	/** Returns how many of the `old` ones are to leave so that the waiting one gets a place. */
	function makersFor(
		waiting: Worker,
		endpoint: Endpoint,
		{ old, leaving }: { old: readonly Worker[]; leaving: readonly Worker[] },
	): number {
		const { code, message } = waiting.notice!;
		if (code === "queued") return Number(leaving.length === 0);
		if (code !== "unschedulable") return 0;
		const placed = ({ id }: Worker): PlacedWorker => ({
			id,
			settings: endpoint.launcher,
			gpus: endpoint.gpusPerWorker,
		});
		const makers = launcher.roomFor(waiting, {
			waiting: { ...placed(waiting), code, message },
			quietMs: d.now() - waiting.createdAt,
			stoppable: old.map(placed),
			leaving: leaving.map(placed),
		});
		// Whether another end helps is not known of cores and memory. No end helps where no node fits.
		const isFull = endpoint.gpusPerWorker === 0 && message.includes("Insufficient");
		return makers.length || Number(isFull && leaving.length === 0);
	}

	async function rollBack(failed: ReleaseHead, target: ReleaseHead): Promise<void> {
		const id = failed.endpoint;
		const { versions } = endpoints;
		const last = lastCrash.get(id);
		const because = last === undefined ? "." : `, the last one because: ${asSentence(last)}`;
		const reason =
			`Version ${failed.version} was rolled back to version ${target.version}: its workers crashed ` +
			`${failed.failures} times before one was healthy${because}`;
		let isDone = false;
		const settingsOfTarget = async (before: Endpoint): Promise<object> => {
			const settings = withoutId(before);
			// Meanwhile another server may scale it, or someone may have changed it.
			if (!cluster.scales(id) || head(id).version !== failed.version) return settings;
			const row = (await versions.rows(endpoints.entry(id))).find(({ version }) => version === target.version);
			const opened = row && versions.open(row);
			if (!opened || opened.unreadable.length > 0) return settings;
			isDone = true;
			return withLaunched(settings, opened.settings as unknown as LaunchedSettings);
		};
		await endpoints.change(id, settingsOfTarget, { source: "rollback", reason, fail: failed.version });
		if (!isDone) return;
		lastCrash.delete(id);
		events.emit("release.rolled_back", { endpoint: id, reason });
		d.resume(id);
	}

	events.on("worker.failed", ({ endpoint, launchedAs, reason }) => {
		if (launchedAs === undefined || !endpoints.has(endpoint)) return;
		const current = head(endpoint);
		if (current.launchHash !== launchedAs || current.state !== "unproven") return;
		if (hasFailed(current, endpoints.get(endpoint).release)) return;
		lastCrash.set(endpoint, reason);
		background.run(`crashes of ${endpoint}`, endpoints.versions.crashed(current));
	});

	return {
		/** Whether it is of an earlier release, whose jobs say nothing about the current one. */
		isOld: (worker: Worker): boolean =>
			endpoints.has(worker.endpoint) && isOld(worker, launchHash(endpoints.get(worker.endpoint))),
		/** Whether no worker of its release was healthy so far. */
		isUnproven({ endpoint, launchedAs }: Pick<Worker, "endpoint" | "launchedAs">): boolean {
			if (!endpoints.has(endpoint)) return false;
			const { launchHash: hash, state } = head(endpoint);
			return hash === launchedAs && state === "unproven";
		},
		/** Those that could take no jobs leave at once, also where no workers are launched any more. */
		replaceUnready(): void {
			for (const { endpoint } of endpoints.all()) {
				const current = launchHash(endpoint);
				const rolls = isManaged(endpoint.launcher.type);
				for (const worker of registry.of(endpoint.id)) {
					if (worker.launchedAs === current && worker.retiring === REPLACED) launcher.keep(worker);
					if (isOld(worker, current) && (!rolls || !worker.ready || worker.sleep)) launcher.retire(worker, REPLACED);
				}
			}
		},
		/** Whether workers of earlier releases are left. */
		isRolling({ id }: Endpoint): boolean {
			const current = head(id).launchHash;
			for (const worker of registry.of(id)) if (isOld(worker, current)) return true;
			return false;
		},
		/** A worker of the current release may prove it, or enough crashes undo it. */
		judge(endpoint: Endpoint): void {
			const { id } = endpoint;
			const current = head(id);
			if (current.state !== "unproven") return;
			const isProof = (worker: Worker): boolean =>
				worker.managed && worker.launchedAs === current.launchHash && isHealthy(endpoint, worker);
			if ([...registry.of(id)].some(isProof)) {
				events.emit("release.healthy", { endpoint: id, version: current.version });
				return background.run(`release of ${id}`, endpoints.versions.prove(current));
			}
			if (!hasFailed(current, endpoint.release) || undone.has(current)) return;
			const target = rollbackTarget(endpoints.versions.of(endpoints.entry(id)));
			if (!target) return;
			undone.add(current);
			const done = rollBack(current, target).catch((error: unknown) => {
				// What is refused now, such as a folder that is not there any more, is refused again.
				if (!(error instanceof ApiError)) undone.delete(current);
				throw error;
			});
			background.run(`rollback of ${id}`, done);
		},
		/** Lets workers of earlier releases go, and says what is to be started for them. */
		step(endpoint: Endpoint, present: readonly Worker[]): RolloutPlan {
			const { id, release } = endpoint;
			const { launchHash: hash, state } = head(id);
			const staying = present.filter((worker) => !launcher.isLeaving(worker) && !worker.sleep);
			for (const worker of staying) if (isOld(worker, hash) && !worker.ready) launcher.retire(worker, REPLACED);
			const old = staying.filter((worker) => isOld(worker, hash) && worker.ready);
			if (old.length === 0) {
				progressOf.delete(id);
				return NOTHING;
			}
			const current = staying.filter((worker) => !isOld(worker, hash));
			const healthy = current.filter((worker) => isHealthy(endpoint, worker));
			const known = progressOf.get(id);
			const progress = known?.launchHash === hash ? known : begun(hash, current, old.length - endpoint.workersMax);
			progressOf.set(id, progress);
			const pending = current.filter((worker) => !healthy.includes(worker) && !progress.arrived.has(worker));
			const arrived = healthy.filter((worker) => !progress.arrived.has(worker));
			for (const worker of arrived) progress.arrived.add(worker);
			if (arrived.length > 0) progress.makers = 0;
			progress.pending = pending.length;
			const waiting = pending.find(({ notice }) => notice?.state === "waiting");
			const leaving = present.filter(launcher.isLeaving, launcher);
			if (waiting && progress.makers === 0) makePlace(progress, makersFor(waiting, endpoint, { old, leaving }));
			const { ahead, makers } = progress;
			const next = rolloutStep(
				{
					old: old.length,
					pending: pending.length,
					arrived: arrived.length,
					ahead,
					makers,
					proven: state === "healthy",
				},
				release,
			);
			progress.ahead = next.ahead;
			const byLoad = old.toSorted((a, b) => a.held.size - b.held.size || a.idleSince - b.idleSince);
			for (const worker of byLoad.slice(0, next.retire)) launcher.retire(worker, REPLACED);
			return { start: next.start, extra: new Set(pending.slice(0, next.extra)) };
		},
		/** Nothing is free for one of the current release until so many `old` ones leave; 0: that does not help. */
		withoutRoom(id: string, makersOf: (old: (worker: Worker) => boolean) => number): void {
			const progress = progressOf.get(id);
			if (!progress || progress.pending > 0 || progress.makers > 0) return;
			makePlace(
				progress,
				makersOf((worker) => isOld(worker, progress.launchHash)),
			);
		},
	};
}

function makePlace(progress: Progress, count: number): void {
	if (count > 0) progress.makers = progress.ahead + count;
}

/**
 * After a start of the service, or a change back: workers of the release that take jobs already have taken the place of
 * others, except those over workersMax. `over`: workers of earlier releases over workersMax.
 */
function begun(hash: string, current: readonly Worker[], over: number): Progress {
	const ready = current.filter((worker) => worker.ready);
	const beside = Math.max(0, over + current.length);
	return { launchHash: hash, ahead: 0, makers: 0, pending: 0, arrived: new WeakSet(ready.slice(beside)) };
}
