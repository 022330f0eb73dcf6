/**
 * Starts and stops workers of managed endpoints (D27, D28). The rules are in
 * `core/workers/autoscaling.ts` and `core/workers/gpu-allocation.ts`.
 */
import type { Endpoint } from "../../core/endpoint.ts";
import type { EpochMs } from "../../core/time.ts";
import { desiredWorkers } from "../../core/workers/autoscaling.ts";
import { CRASH_MS, exitText, type WorkerExit } from "../../core/workers/ended-worker.ts";
import type { WorkerReasonCode } from "../../core/workers/worker-reason.ts";
import { isManaged, isShared, usesOwnGpus } from "../../launchers/index.ts";
import { PlatformUnavailable } from "../../launchers/launcher.ts";
import { loop, type Loop } from "../../service.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { WorkerDomain } from "../workers/workers.ts";
import type { Worker } from "../workers/worker-registry.ts";
import { crashBackoff } from "./crash-backoff.ts";
import { gpuAllocator } from "./gpu-allocator.ts";
import { queueLengths } from "./queue-lengths.ts";
import { sampleWorkers, type WorkerSample } from "./worker-sample.ts";

/** Time between two checks of everything, ms. */
const CHECK_MS = 1000;
/** Until a stop that the platform did not answer is tried again, ms. */
const STOP_AGAIN_MS = 5000;

export interface Autoscaler {
	loop: Loop;
	/** A job waits there: checks now, unless a worker is about to take it. */
	queued(endpoint: string): void;
	/** A worker of the endpoint has called for the first time. */
	ready(endpoint: string): void;
	/** A worker of the endpoint has finished a job. */
	worked(endpoint: string): void;
	/** A managed worker exited. */
	exited(worker: Worker, exit: WorkerExit): void;
	/** Ends the pause of starts after crashes. */
	startNow(endpoint: string): void;
	/** A managed worker is unhealthy: it is replaced, after the jobs that it holds. */
	replaceUnhealthy(worker: Worker, reason: string): void;
	/** Hints may have been lost: counts every queue again. */
	recount(): void;
}

export interface AutoscalerDeps extends Pick<EngineContext, "clock" | "now" | "events" | "store" | "background"> {
	endpoints: Pick<Endpoints, "all" | "get" | "has" | "paused" | "stopGraceMs">;
	workers: Pick<WorkerDomain, "registry" | "launcher" | "startProblems">;
	cluster: Pick<Cluster, "shared" | "scales" | "scalesElsewhere">;
	/** GPUs of this machine. */
	gpus: number;
}

export function autoscaler(d: AutoscalerDeps): Autoscaler {
	const { endpoints, cluster } = d;
	const { registry, launcher, startProblems: problems } = d.workers;
	const { isLeaving } = launcher;
	const crashes = crashBackoff({ ...d, problems });
	const gpus = gpuAllocator({ ...d, registry, total: d.gpus });
	const queues = queueLengths({ ...d, shared: cluster.shared });
	const lastStartAt = new Map<string, EpochMs>();
	const starts = new Set<Promise<void>>();

	const scales = (endpoint: Endpoint): boolean =>
		isManaged(endpoint.launcher.type) && cluster.scales(endpoint.id) && launcher.isComplete(endpoint);
	const scaled = (): Endpoint[] => [...endpoints.all()].map(({ endpoint }) => endpoint).filter(scales);
	const managed = (endpoint: string): Worker[] => [...registry.of(endpoint)].filter((worker) => worker.managed);

	function stop(worker: Worker, why: string, q: { code?: WorkerReasonCode; isSurplus?: boolean } = {}): void {
		const graceMs = endpoints.stopGraceMs(worker.endpoint);
		d.background.run(`stopping ${worker.id}`, launcher.stop(worker, { why, graceMs, ...q }));
	}

	function start(endpoint: Endpoint, assigned: readonly number[]): void {
		lastStartAt.set(endpoint.id, d.now());
		const begun = launcher
			.start(endpoint, assigned)
			.then(
				() => crashes.answered(endpoint.id),
				(error: Error) => {
					if (!cluster.scales(endpoint.id)) return;
					if (error instanceof PlatformUnavailable) crashes.unanswered(endpoint.id, error.message);
					else crashes.crashed(endpoint.id, "start_failed", error.message);
				},
			)
			.finally(() => starts.delete(begun));
		starts.add(begun);
	}

	function add(endpoint: Endpoint, wanted: number): void {
		problems.set(endpoint.id, { withoutGpu: undefined });
		for (let left = wanted; left > 0 && !crashes.holds(endpoint.id); left -= 1) {
			const needsGpus = endpoint.gpusPerWorker > 0 && usesOwnGpus(endpoint.launcher);
			const allocation = needsGpus ? gpus.allocate(endpoint) : { gpus: [] };
			if ("gpus" in allocation) {
				start(endpoint, allocation.gpus);
				continue;
			}
			problems.set(endpoint.id, { withoutGpu: gpus.shortage(endpoint) });
			for (const worker of [...registry.all()].filter(({ id }) => allocation.evict.includes(id)))
				stop(worker, `it is idle and makes room for endpoint ${endpoint.id}`);
			return;
		}
	}

	/** Stops workers that take too long until their first call. */
	function stopOverdue({ id, initTimeoutMs }: Endpoint): void {
		for (const worker of managed(id)) {
			if (worker.ready || isLeaving(worker) || worker.notice?.state === "waiting") continue;
			if (d.now() - worker.startingSince < initTimeoutMs) continue;
			const why = `it did not ask for a job within ${initTimeoutMs} ms of its start (initTimeoutMs)`;
			crashes.crashed(id, "init_timeout", why);
			stop(worker, why, { code: "init_timeout" });
		}
	}

	/** Nothing waits, and the workers are the idle ones of the minimum: needs no further checks. */
	function isIdle({ id, workersMin }: Endpoint): boolean {
		if (!queues.isEmpty(id) || crashes.counts(id)) return false;
		let present = 0;
		for (const worker of registry.of(id)) {
			if (!worker.ready || worker.held.size > 0 || isLeaving(worker)) return false;
			present += Number(worker.managed);
		}
		return present === workersMin;
	}

	function apply(endpoint: Endpoint, { staying, stoppable, counts }: WorkerSample): void {
		const now = d.now();
		const { id, idleTimeout, workersMax } = endpoint;
		if (staying.some((worker) => worker.ready && now - worker.createdAt >= CRASH_MS)) crashes.worked(id);
		const { jobs: waiting, oldestQueuedAt = now } = queues.of(id) ?? { jobs: 0 };
		const wanted = desiredWorkers({ ...counts, waiting, oldestWaitMs: now - oldestQueuedAt }, endpoint);
		add(endpoint, wanted - staying.length);
		const surplus = stoppable
			.slice(0, Math.max(0, staying.length - wanted))
			.filter((worker) => worker.held.size === 0 && !isLeaving(worker))
			.filter(({ unstopped }) => !unstopped || now - unstopped.at >= STOP_AGAIN_MS);
		for (const worker of surplus) {
			const since = worker.ready ? worker.idleSince : worker.createdAt;
			const tooLong = now - since >= idleTimeout * 1000;
			const overMax = `there are more than workersMax, which is ${workersMax}`;
			const isPending = !worker.ready && worker.notice?.state === "waiting";
			const isIdleTooLong = tooLong && worker.ready;
			if (tooLong && isPending) stop(worker, "it does not run yet, and no job waits for it");
			else stop(worker, isIdleTooLong ? `idle for over ${idleTimeout} s` : overMax, { isSurplus: isIdleTooLong });
		}
	}

	/** Stops workers that were to finish their jobs first. */
	function stopRetired(): void {
		for (const worker of registry.all()) {
			const stays = isShared(worker.launcher) && endpoints.has(worker.endpoint);
			if (cluster.scalesElsewhere(worker.endpoint) && !stays)
				launcher.retire(worker, "another server starts the workers of its endpoint");
			if (worker.retiring !== undefined && worker.held.size === 0 && !launcher.isStopping(worker))
				stop(worker, worker.retiring);
		}
	}

	const oldest = ({ id }: Endpoint): number => queues.of(id)?.oldestQueuedAt ?? Number.MAX_SAFE_INTEGER;

	/** When the wait of the longest waiting job calls for another worker, ms from now. */
	function lateIn({ id, scalerType, scalerValue }: Endpoint): number {
		const { oldestQueuedAt } = queues.of(id) ?? {};
		if (scalerType !== "QUEUE_DELAY" || oldestQueuedAt === undefined) return CHECK_MS;
		const ms = oldestQueuedAt + scalerValue * 1000 + 1 - d.now();
		return ms > 0 ? Math.min(ms, CHECK_MS) : CHECK_MS;
	}

	const scaleLoop = loop({
		clock: d.clock,
		retryMs: CHECK_MS,
		onError: (error) => d.events.emit("fault", { where: "scaling", error }),
		step: async () => {
			stopRetired();
			const active = scaled().filter((endpoint) => !isIdle(endpoint));
			for (const endpoint of active) stopOverdue(endpoint);
			// Workers before queues: a job that is taken in between must not be counted twice.
			const samples = active.map((endpoint) => ({
				endpoint,
				sample: sampleWorkers(managed(endpoint.id), {
					endpoint,
					isLeaving,
					lastStartAt: lastStartAt.get(endpoint.id) ?? -Infinity,
					now: d.now(),
				}),
			}));
			await Promise.all(active.map(({ id }) => queues.count(id)));
			// GPUs go to the endpoint whose job has waited longest.
			for (const { endpoint, sample } of samples.toSorted((a, b) => oldest(a.endpoint) - oldest(b.endpoint)))
				apply(endpoint, sample);
			return Math.min(CHECK_MS, ...active.map(lateIn));
		},
	});

	return {
		loop: {
			...scaleLoop,
			async stop() {
				await scaleLoop.stop();
				await Promise.all(starts);
			},
		},
		queued(id) {
			if (!endpoints.has(id)) return;
			const endpoint = endpoints.get(id);
			if (!scales(endpoint)) return;
			queues.changed(id);
			if (crashes.holds(id) || problems.of(id).withoutGpu !== undefined) return;
			const staying = managed(id).filter((worker) => !isLeaving(worker));
			const noneFree =
				endpoint.scalerType === "REQUEST_COUNT"
					? staying.every((worker) => worker.held.size > 0)
					: staying.length === 0;
			if (noneFree && staying.length < endpoint.workersMax) scaleLoop.nudge();
		},
		ready: crashes.ready,
		worked: crashes.worked,
		exited(worker, end) {
			const { endpoint } = worker;
			// One that exits with 0 after a call may have been stopped by its own code (protocol B.5).
			const works = worker.ready && (end.code === 0 || d.now() - worker.createdAt >= CRASH_MS);
			const crashed = !works && (end.reason?.crash ?? true);
			if (!worker.draining) {
				const { code, message } = end.reason ?? {
					code: "crashed",
					message: exitText(end, { ...worker, endedAt: d.now() }),
				};
				if (crashed) crashes.crashed(endpoint, code, message);
				else if (end.reason || end.code !== 0) problems.set(endpoint, { ended: { code, message, at: d.now() } });
			}
			if (worker.ready && !worker.unhealthy && (works || worker.draining) && !crashes.holds(endpoint))
				crashes.worked(endpoint);
			scaleLoop.nudge();
		},
		startNow(endpoint) {
			crashes.reset(endpoint);
			scaleLoop.nudge();
		},
		replaceUnhealthy(worker, reason) {
			if (!worker.managed || isLeaving(worker)) return;
			crashes.crashed(worker.endpoint, "unhealthy", `it reports that it is unhealthy: ${reason}`);
			launcher.retire(worker, "it reports that it is unhealthy");
		},
		recount() {
			for (const { id } of scaled()) queues.changed(id);
			scaleLoop.nudge();
		},
	};
}
