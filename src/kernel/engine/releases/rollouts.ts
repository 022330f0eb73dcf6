/**
 * Replaces the workers of earlier releases (D50). In memory is only how many left before others took their place; a
 * server that begins with it again replaces one more at most.
 */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { rolloutStep } from "../../core/releases/rollout.ts";
import { isManaged } from "../../launchers/index.ts";
import { launchHash } from "../endpoints/launch-hash.ts";
import type { Worker } from "../workers/worker-registry.ts";
import { isHealthy, isOld, type ReleaseDeps, releasesOf } from "./worker-release.ts";

const REPLACED = "its endpoint has another launcher or environment now";

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

export function rollouts(d: ReleaseDeps) {
	const { endpoints, hooks } = d;
	const { registry, launcher } = d.workers;
	const progressOf = new Map<string, Progress>();

	/** Returns how many of the `old` ones are to leave, besides those `ahead`, so that the waiting one gets a place. */
	function makersFor(
		waiting: Worker,
		endpoint: Endpoint,
		{ old, leaving, ahead }: { old: readonly Worker[]; leaving: readonly Worker[]; ahead: number },
	): number {
		const { code, message } = waiting.notice!;
		// A queue does not say whether another end helps: the place of one is enough.
		const isFirst = leaving.length === 0 && ahead === 0;
		if (code === "queued") return Number(isFirst);
		if (code !== "unschedulable") return 0;
		const { launcher: settings, gpusPerWorker: gpus } = endpoint;
		const placed = ({ id }: Worker) => ({ id, settings, gpus });
		const makers = launcher.roomFor(waiting, {
			waiting: { ...placed(waiting), code, message },
			quietMs: d.now() - waiting.createdAt,
			stoppable: old.map(placed),
			leaving: leaving.map(placed),
		});
		// Whether another end helps is not known of cores and memory. No end helps where no node fits.
		const isFull = gpus === 0 && message.includes("Insufficient");
		return makers.length || Number(isFull && isFirst);
	}

	return {
		/** Whether it is of an earlier release, whose jobs say nothing about the current one. */
		isOld: (worker: Worker): boolean =>
			endpoints.has(worker.endpoint) && isOld(worker, launchHash(endpoints.get(worker.endpoint))),
		/** Those that could take no jobs leave at once, also where no workers are launched any more. */
		replaceUnready(): void {
			hooks.releases?.refresh();
			for (const { endpoint } of endpoints.all()) {
				const current = launchHash(endpoint);
				const rolls = isManaged(endpoint.launcher.type);
				const stable = hooks.releases?.beside(endpoint);
				for (const worker of registry.of(endpoint.id)) {
					const isStable = worker.launchedAs === stable;
					const stays = worker.launchedAs === current || isStable;
					// One of the stable version that makes place for the current one does not come back.
					const makesPlace = isStable && progressOf.get(endpoint.id)?.launchHash === current;
					if (stays && !makesPlace && worker.retiring === REPLACED) launcher.keep(worker);
					if (!stays && isOld(worker, current) && (!rolls || !worker.ready || worker.sleep))
						launcher.retire(worker, REPLACED);
				}
			}
		},
		/** Whether workers of earlier releases are left, or compared. */
		isRolling(endpoint: Endpoint): boolean {
			if (hooks.releases?.beside(endpoint) !== undefined) return true;
			const { id } = endpoint;
			const current = releasesOf(endpoints, id).at(-1)!.launchHash;
			for (const worker of registry.of(id)) if (isOld(worker, current)) return true;
			return false;
		},
		/** Lets workers of earlier releases go, and says what is to be started for them. */
		step(endpoint: Endpoint, present: readonly Worker[]): RolloutPlan {
			const { id, release } = endpoint;
			const { launchHash: hash } = releasesOf(endpoints, id).at(-1)!;
			const beside = hooks.releases?.beside(endpoint);
			const isCompared = beside !== undefined;
			const isStable = (worker: Worker): boolean => worker.launchedAs === beside;
			const staying = present.filter((worker) => !launcher.isLeaving(worker) && !worker.sleep);
			const others = staying.filter((worker) => isOld(worker, hash) && !isStable(worker));
			for (const worker of others) if (!worker.ready) launcher.retire(worker, REPLACED);
			const ready = staying
				.filter((worker) => isOld(worker, hash) && worker.ready)
				.toSorted((a, b) => a.held.size - b.held.size || a.idleSince - b.idleSince);
			// Workers take the place of those of a third version one by one, as many as the jobs need.
			const isSettled = staying.every((worker) => worker.ready) && !present.some(launcher.isLeaving, launcher);
			if (isCompared && others[0] && isSettled) launcher.retire(others[0], REPLACED);
			if (!isCompared && ready.length === 0) {
				// One whose stop the platform refuses may take jobs again.
				if (!present.some((worker) => isOld(worker, hash))) progressOf.delete(id);
				return NOTHING;
			}
			const current = staying.filter((worker) => !isOld(worker, hash));
			const healthy = current.filter((worker) => isHealthy(d, endpoint, worker));
			const known = progressOf.get(id);
			const progress = known?.launchHash === hash ? known : begun(hash, current, ready.length - endpoint.workersMax);
			progressOf.set(id, progress);
			const settled = current.filter((worker) => progress.arrived.has(worker)).length;
			const stable = ready.filter(isStable);
			// One worker of the version beside makes place for the first of the current one, unless it is the only one.
			const old = !isCompared ? ready : settled === 0 && stable.length > 1 ? stable.slice(0, 1) : [];
			const pending = current.filter((worker) => !healthy.includes(worker) && !progress.arrived.has(worker));
			const arrived = healthy.filter((worker) => !progress.arrived.has(worker));
			for (const worker of arrived) progress.arrived.add(worker);
			if (arrived.length > 0) progress.makers = 0;
			progress.pending = pending.length;
			const waiting = pending.find(({ notice }) => notice?.state === "waiting");
			const leaving = present.filter(launcher.isLeaving, launcher);
			const { ahead } = progress;
			if (waiting && progress.makers === 0) makePlace(progress, makersFor(waiting, endpoint, { old, leaving, ahead }));
			const { makers } = progress;
			const next = rolloutStep(
				{ old: old.length, pending: pending.length, arrived: arrived.length, ahead, makers },
				release,
			);
			progress.ahead = next.ahead;
			for (const worker of old.slice(0, next.retire)) launcher.retire(worker, REPLACED);
			// The one that is compared counts for the jobs, unless it takes the place of another.
			const extra = isCompared ? Math.min(next.extra, old.length) : next.extra;
			return { start: next.start, extra: new Set(pending.slice(0, extra)) };
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
