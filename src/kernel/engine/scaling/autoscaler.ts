/** How many workers managed endpoints have: starts and wakes them, and has them stopped (D27, D28). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { EpochMs } from "../../lib/time.ts";
import { desiredWorkers, leastWorkers } from "../../core/workers/autoscaling.ts";
import { CRASH_MS } from "../../core/workers/ended-worker.ts";
import { countsRoom, isManaged, mostAwake } from "../../launchers/index.ts";
import { PlatformUnavailable } from "../../launchers/launcher.ts";
import { loop, type Loop } from "../../system/loop.ts";
import { paced } from "../../system/paced.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Workers } from "../workers/workers.ts";
import { isSleeping, type Worker } from "../workers/worker-registry.ts";
import { launchHash } from "../endpoints/launch-hash.ts";
import type { Judged } from "../releases/policy.ts";
import { isHealthy } from "../releases/worker-release.ts";
import { rollouts } from "../releases/rollouts.ts";
import { crashBackoff } from "./crash-backoff.ts";
import { ANYWHERE, getsGpus, type Place, type PlacementPolicy } from "./placement.ts";
import { queueLengths } from "./queue-lengths.ts";
import { workerStops, type Stops } from "./stops.ts";
import { workerFaults } from "./worker-faults.ts";
import { sampleWorkers, type WorkerSample } from "./worker-sample.ts";

const CHECK_MS = 1000;

/** Each event of a worker asks for a check of all endpoints: `burst` run at once, further ones every `everyMs`. */
const CHECKS = { burst: 10, everyMs: 50 };

export interface ScalingContext extends EngineContext {
	endpoints: Endpoints;
	workers: Workers;
	cluster: Cluster;
}

/** Shown for an endpoint that needs GPUs of this machine. */
const NO_PLACEMENT =
	"This service was built without the module gpus, so it starts no workers that need GPUs of this machine.";

export class Autoscaler {
	readonly loop: Loop;
	readonly crashes: ReturnType<typeof crashBackoff>;
	readonly faults: ReturnType<typeof workerFaults>;
	readonly rollouts: ReturnType<typeof rollouts>;
	/** What modules use. `check` asks for a check at once, for one whose hook has another answer now. */
	readonly lent: {
		queues: Pick<ReturnType<typeof queueLengths>, "of" | "isEmpty">;
		stop: Stops["stop"];
		check: () => void;
	};
	readonly #judged: Judged;
	readonly #d: ScalingContext;
	readonly #stops: Stops;
	readonly #queues: ReturnType<typeof queueLengths>;
	readonly #lastStartAt = new Map<string, EpochMs>();
	readonly #starts = new Set<Promise<void>>();

	constructor(d: ScalingContext) {
		this.#d = d;
		this.crashes = crashBackoff({ ...d, problems: d.workers.startProblems });
		this.#queues = queueLengths(d);
		this.#stops = workerStops(d);
		const { stop } = this.#stops;
		this.faults = workerFaults({
			...{ ...d, crashes: this.crashes, stop },
			isUnproven: (worker) => d.hooks.releases?.isUnproven(worker) ?? false,
		});
		this.lent = { queues: this.#queues, stop, check: () => this.loop.nudge() };
		const noneWaits = (id: string): boolean => d.endpoints.paused(id) || this.#queues.isEmpty(id);
		this.rollouts = rollouts({ ...d, noneWaits });
		this.#judged = {
			isHealthy: (endpoint, worker) => isHealthy({ workers: d.workers, noneWaits }, endpoint, worker),
			startNow: (id) => this.startNow(id),
		};
		const checks = loop({
			clock: d.clock,
			retryMs: CHECK_MS,
			onError: (error) => d.events.emit("fault", { where: "scaling", error }),
			step: () => this.#check(),
		});
		this.loop = {
			...checks,
			nudge: paced(checks.nudge, { clock: d.clock, ...CHECKS }),
			stop: async () => {
				await checks.stop();
				await Promise.all(this.#starts);
			},
		};
	}

	/** A job waits: checks now, unless a worker is about to take it. */
	queued(id: string): void {
		const { endpoints, workers } = this.#d;
		if (!endpoints.has(id)) return;
		const endpoint = endpoints.get(id);
		if (!this.#scales(endpoint)) return;
		this.#queues.changed(id);
		if (this.crashes.holds(id) || workers.startProblems.of(id).withoutGpu !== undefined) return;
		const staying = this.#managed(id).filter((worker) => !workers.launcher.isLeaving(worker) && !isSleeping(worker));
		const noneFree =
			endpoint.scalerType === "REQUEST_COUNT" ? staying.every((worker) => worker.held.size > 0) : staying.length === 0;
		if (noneFree && staying.length < endpoint.workersMax) this.loop.nudge();
	}

	startNow(endpoint: string): void {
		this.crashes.reset(endpoint);
		this.loop.nudge();
	}

	/** Counts all queues again, because signals may have been lost. */
	recount(): void {
		for (const { id } of this.#scaled()) this.#queues.changed(id);
		this.loop.nudge();
	}

	/** Returns the time until the next check, ms. */
	async #check(): Promise<number> {
		this.#stops.stopRetired();
		this.#placement?.review();
		const scaled = this.#scaled();
		const { releases } = this.#d.hooks;
		if (releases) for (const endpoint of scaled) releases.judge(endpoint, this.#judged);
		const active = scaled.filter((endpoint) => !this.#isIdle(endpoint));
		for (const endpoint of active) this.faults.stopOverdue(endpoint);
		// Workers before queues: a job that is taken in between must not be counted twice.
		const samples = active.map((endpoint) => {
			const present = this.#present(endpoint.id);
			const plan = this.rollouts.step(endpoint, present);
			const sample = sampleWorkers(
				present.filter((worker) => !plan.extra.has(worker)),
				{
					endpoint,
					isLeaving: (worker) => this.#d.workers.launcher.isLeaving(worker) || isSleeping(worker),
					lastStartAt: this.#lastStartAt.get(endpoint.id) ?? -Infinity,
					now: this.#d.now(),
				},
			);
			return { endpoint, plan, sample };
		});
		await Promise.all(active.map(({ id }) => this.#queues.count(id)));
		// A place that a job could use is not for a worker that no job needs.
		const inOrder = (this.#placement?.order(samples) ?? samples).toSorted(
			(a, b) => Number(this.#isOnlyWanted(a)) - Number(this.#isOnlyWanted(b)),
		);
		const later = new Set(inOrder.map(({ endpoint }) => endpoint.id));
		const beside: [Endpoint, count: number][] = [];
		for (const each of inOrder) {
			later.delete(each.endpoint.id);
			beside.push([each.endpoint, each.plan.start - this.#apply(each, later)]);
		}
		// Last: what is still free goes to rollouts.
		for (const [endpoint, count] of beside) this.#addBeside(endpoint, count);
		return Math.min(CHECK_MS, ...active.map((endpoint) => this.#lateIn(endpoint)));
	}

	#scales(endpoint: Endpoint): boolean {
		const { cluster, workers } = this.#d;
		return (
			isManaged(endpoint.launcher.type) && cluster.scales(endpoint.id) && workers.launcher.others.isComplete(endpoint)
		);
	}

	#scaled(): Endpoint[] {
		const all = this.#d.endpoints.all().map(({ endpoint }) => endpoint);
		return all.filter((endpoint) => this.#scales(endpoint));
	}

	#managed(endpoint: string): Worker[] {
		return [...this.#d.workers.registry.of(endpoint)].filter((worker) => worker.managed);
	}

	/** Managed workers that do not sleep. */
	#present(endpoint: string): Worker[] {
		return this.#managed(endpoint).filter((worker) => !this.#d.workers.sleep.isAsleep(worker));
	}

	get #placement(): PlacementPolicy | undefined {
		return this.#d.hooks.placement;
	}

	#start(endpoint: Endpoint, place: Place): void {
		const { now, workers, cluster } = this.#d;
		const { id } = endpoint;
		this.#lastStartAt.set(id, now());
		const begun = workers.launcher
			.start(endpoint, place, { roomSince: place.roomSince })
			.then(
				() => this.crashes.answered(id),
				(error: Error) => {
					if (!cluster.scales(id)) return;
					if (error instanceof PlatformUnavailable) this.crashes.unanswered(id, error.message);
					else this.crashes.crashed({ endpoint: id, launchedAs: launchHash(endpoint) }, "start_failed", error.message);
				},
			)
			.finally(() => this.#starts.delete(begun));
		this.#starts.add(begun);
	}

	/** Starts `wanted` workers. Only those among the first `evicting` of the endpoint may evict workers of others. */
	#add(endpoint: Endpoint, wanted: number, evicting: number): void {
		const { startProblems } = this.#d.workers;
		const withoutGpu = wanted > 0 ? this.#placement?.heldBack(endpoint.id) : undefined;
		startProblems.set(endpoint.id, { withoutGpu });
		if (withoutGpu !== undefined) return;
		for (let left = wanted; left > 0 && !this.crashes.holds(endpoint.id); left -= 1) {
			const present = this.#present(endpoint.id).filter((worker) => !this.#d.workers.launcher.isLeaving(worker));
			const { releases } = this.#d.hooks;
			const next = releases ? releases.settingsFor(endpoint, present) : endpoint;
			if (!next) return;
			const place = this.#place(next, present.length < evicting);
			if (place === "woken") continue;
			if ("waits" in place) {
				if (place.waits !== undefined) startProblems.set(endpoint.id, { withoutGpu: place.waits });
				return;
			}
			this.#start(next, place);
		}
	}

	#place(endpoint: Endpoint, mayEvict: boolean): ReturnType<PlacementPolicy["place"]> {
		if (this.#placement) return this.#placement.place(endpoint, { mayEvict });
		return getsGpus(endpoint) ? { waits: NO_PLACEMENT } : ANYWHERE;
	}

	/** Starts workers of the current release besides those of earlier ones, on what is free. */
	#addBeside(endpoint: Endpoint, count: number): void {
		const { id } = endpoint;
		if (this.#placement?.heldBack(id) !== undefined) return;
		for (let left = count; left > 0 && !this.crashes.holds(id); left -= 1) {
			const present = this.#present(id);
			if (present.length >= mostAwake(endpoint))
				// The end of one that leaves already makes the place.
				return countsRoom(endpoint) || present.some((worker) => this.#d.workers.launcher.isLeaving(worker))
					? undefined
					: this.rollouts.withoutRoom(id, () => 1);
			const place = getsGpus(endpoint) ? this.#placement?.placeBeside(endpoint) : ANYWHERE;
			if (!place) return;
			if ("waits" in place) {
				if (left < count) return;
				this.rollouts.withoutRoom(id, place.makers);
				return this.#d.workers.startProblems.set(id, { withoutGpu: place.waits });
			}
			this.#start(endpoint, place);
		}
	}

	/** Its minimum, with the workers that a module wants: none of a paused endpoint. */
	#least(endpoint: Endpoint): number {
		const { endpoints, hooks } = this.#d;
		const wanted = endpoints.paused(endpoint.id) ? 0 : hooks.wantedWorkers?.(endpoint.id);
		return leastWorkers(endpoint, wanted ?? 0);
	}

	/** Whether only a module wants further workers of it. */
	#isOnlyWanted({ endpoint, sample }: { endpoint: Endpoint; sample: WorkerSample }): boolean {
		const { id, workersMin } = endpoint;
		const jobs = this.#queues.of(id)?.jobs ?? 0;
		return jobs === 0 && sample.staying.length >= workersMin && this.#least(endpoint) > workersMin;
	}

	/** Whether nothing waits, and the workers are the idle ones of the minimum. */
	#isIdle(endpoint: Endpoint): boolean {
		const { id } = endpoint;
		if (this.rollouts.isRolling(endpoint)) return false;
		const { registry, launcher } = this.#d.workers;
		if (!this.#queues.isEmpty(id) || this.crashes.counts(id)) return false;
		let present = 0;
		for (const worker of registry.of(id)) {
			if (this.#d.workers.sleep.isAsleep(worker)) continue;
			if (!worker.ready || worker.sleep || worker.held.size > 0 || launcher.isLeaving(worker)) return false;
			present += Number(worker.managed);
		}
		return present === this.#least(endpoint);
	}

	/** Returns how many more workers the jobs need. `later`: endpoints after it in this round. */
	#apply({ endpoint, sample }: { endpoint: Endpoint; sample: WorkerSample }, later: ReadonlySet<string>): number {
		const { id } = endpoint;
		const { staying, stoppable, counts } = sample;
		const now = this.#d.now();
		const lasts = (worker: Worker): boolean => worker.ready && now - worker.createdAt >= CRASH_MS;
		if (staying.some((worker) => lasts(worker) && !this.rollouts.isOld(worker))) this.crashes.worked(id);
		const { jobs: waiting, oldestQueuedAt = now } = this.#queues.of(id) ?? { jobs: 0 };
		const seen = { ...counts, waiting, oldestWaitMs: now - oldestQueuedAt };
		const needed = desiredWorkers(seen, endpoint);
		const kept = desiredWorkers(seen, { ...endpoint, workersMin: this.#least(endpoint) });
		// During a comparison of two versions each needs a worker.
		const { releases } = this.#d.hooks;
		const isCompared = needed > 0 && releases?.beside(endpoint) !== undefined;
		const wanted = isCompared ? Math.max(kept, Math.min(2, endpoint.workersMax - counts.stopping)) : kept;
		const mayEvict = waiting > 0 && !this.crashes.hasFailedLately(id);
		// Workers of a rollout take no part in what the jobs need, but they occupy room.
		const room = mostAwake(endpoint) - this.#present(id).length;
		const missing = Math.max(0, Math.min(wanted - staying.length, room));
		// No job needs the second worker of a comparison, or one that only a module wants: these evict none.
		this.#add(endpoint, missing, mayEvict ? needed + (isCompared || kept > needed ? 0 : Infinity) : 0);
		if (waiting > 0) this.#placement?.makeRoom(endpoint, staying.slice(0, wanted), { mayEvict, later });
		const surplus = releases ? releases.stoppable(endpoint, staying, { surplus: stoppable, wanted }) : stoppable;
		this.#stops.stopSurplus(endpoint, surplus, staying.length - wanted);
		return missing;
	}

	/** Ms from now until the wait of the oldest job calls for another worker. */
	#lateIn({ id, scalerType, scalerValue }: Endpoint): number {
		const { oldestQueuedAt } = this.#queues.of(id) ?? {};
		if (scalerType !== "QUEUE_DELAY" || oldestQueuedAt === undefined) return CHECK_MS;
		const ms = oldestQueuedAt + scalerValue * 1000 + 1 - this.#d.now();
		return ms > 0 ? Math.min(ms, CHECK_MS) : CHECK_MS;
	}
}
