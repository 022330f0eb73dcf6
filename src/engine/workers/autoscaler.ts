/**
 * The loop that looks at launched endpoints and starts or ends workers (D27, D28). Decides nothing
 * itself: see `core/scale.ts` and `core/slots.ts`.
 */
import type { Clock } from "../../clock.ts";
import type { Endpoint } from "../../core/endpoint.ts";
import { desiredWorkers } from "../../core/workers/autoscaling.ts";
import type { Sample } from "../../core/workers/autoscaling.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Loop } from "../../service.ts";
import type { JobStore } from "../../store/contract/jobs.ts";
import { crashBackoff } from "./crash-backoff.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { WorkerLauncher } from "./launch.ts";
import type { EndpointRegistry } from "../endpoints/endpoint-registry.ts";
import { gpuAllocator } from "./gpu-allocator.ts";
import type { Movable } from "../cluster/lease-balancer.ts";
import type { Worker, WorkerRegistry } from "./worker-registry.ts";

/** Time between two looks at everything, ms. */
const LOOK_MS = 1000;

/**
 * A queue without news is counted again after this long, ms: what a lost hint may cost; where other
 * servers give hints, too.
 */
const RECOUNT_MS = 30_000;
const RECOUNT_SHARED_MS = 5000;

/**
 * A worker that lives this long after its start and has called is sound, ms; one that ends sooner
 * by itself has crashed (D28).
 */
const SOUND_MS = 10_000;

/** The scaling loop. */
export interface Autoscaler {
	loop: Loop;
	/** A job waits there: looks at once unless help is on its way. */
	queued(endpoint: string): void;
	/** A worker's process ended. */
	ended(worker: Worker, exit: { code?: number; signal?: string }): void;
	/** A launched worker says that it is unfit: it is replaced, after what it holds. */
	unfit(worker: Worker, reason: string): void;
	/** Stops the worker once it holds no job. */
	retire(worker: Worker, why: string): void;
	/** Looks at everything at once. */
	look(): void;
	/** Hints may have been missed: counts every queue anew. */
	recount(): void;
	/** What it would cost to let another server start the workers of the endpoint. */
	movable(endpoint: string): Movable;
	/** Why no worker is started there for a while; undefined when nothing holds it back. */
	crashing(endpoint: string): string | undefined;
	/** Why a wanted worker gets no GPU; undefined when none is wanted, or there are enough. */
	withoutGpu(endpoint: string): string | undefined;
}

/** What waits on an endpoint, as last counted. */
interface Queue {
	countedAt: number;
	jobs: number;
	oldestQueuedAt?: number;
}

/** The workers of an endpoint at one moment. */
interface Seen {
	/** Those not on their way out. */
	present: Worker[];
	/** Those that may be stopped, in this order. */
	mayGo: Worker[];
	sample: Omit<Sample, "waiting" | "oldestWaitMs">;
}

interface Deps {
	clock: Clock;
	now: () => number;
	jobs: JobStore;
	events: EventBus;
	workers: WorkerRegistry;
	registry: EndpointRegistry;
	launching: WorkerLauncher;
	/** Which endpoints this server starts workers for (D28). */
	cluster: Pick<Cluster, "shared" | "scales" | "gaveUp">;
	/** GPUs of this machine. */
	gpus: number;
}

/** Scaling over what this server knows. */
export function autoscaler(d: Deps): Autoscaler {
	const crashes = crashBackoff(d);
	const gpus = gpuAllocator({ ...d, total: d.gpus });
	const queues = new Map<string, Queue>();
	/** Endpoints with news since their queue was counted. */
	const news = new Set<string>();
	const startedAt = new Map<string, number>();
	const gpuless = new Map<string, string>();
	const starts = new Set<Promise<void>>();
	const recountMs = d.cluster.shared ? RECOUNT_SHARED_MS : RECOUNT_MS;

	const launched = (): Endpoint[] =>
		[...d.registry.all()]
			.map(({ endpoint }) => endpoint)
			.filter(({ id, launcher }) => launcher.type !== "external" && d.cluster.scales(id));
	const ours = (endpoint: string): Worker[] =>
		[...d.workers.of(endpoint)].filter(({ launcher }) => launcher !== "external");
	const leaving = (worker: Worker): boolean => worker.draining || d.launching.ending(worker.id);

	async function count(endpoint: string): Promise<void> {
		if (d.registry.paused(endpoint))
			return void queues.set(endpoint, { countedAt: -Infinity, jobs: 0 });
		const now = d.now();
		const last = queues.get(endpoint);
		if (last && last.jobs === 0 && !news.has(endpoint) && now - last.countedAt < recountMs) return;
		news.delete(endpoint);
		try {
			queues.set(endpoint, { countedAt: now, ...(await d.jobs.waiting({ endpoint, now })) });
		} catch (error) {
			news.add(endpoint);
			throw error;
		}
	}

	function stop(worker: Worker, why: string): void {
		const graceMs = d.registry.has(worker.endpoint)
			? d.registry.get(worker.endpoint).stopGraceMs
			: 0;
		d.launching
			.stop(worker, { why, graceMs })
			.catch((error: unknown) => d.events.emit("fault", { where: `stopping ${worker.id}`, error }));
	}

	function start(endpoint: Endpoint, given: readonly number[]): void {
		startedAt.set(endpoint.id, d.now());
		const begun = d.launching
			.start(endpoint, given)
			.catch((error: unknown) => crashes.crashed(endpoint.id, (error as Error).message))
			.finally(() => starts.delete(begun));
		starts.add(begun);
	}

	function add(endpoint: Endpoint, wanted: number): void {
		gpuless.delete(endpoint.id);
		for (let left = wanted; left > 0 && !crashes.holds(endpoint.id); left -= 1) {
			const slots = endpoint.gpusPerWorker > 0 ? gpus.ask(endpoint) : { gpus: [] };
			if ("gpus" in slots) start(endpoint, slots.gpus);
			else {
				gpuless.set(endpoint.id, gpus.why(endpoint));
				for (const worker of [...d.workers.all()].filter(({ id }) => slots.evict.includes(id)))
					stop(worker, `it is idle and makes room for endpoint ${endpoint.id}`);
				return;
			}
		}
	}

	/** Ends those that take too long to their first call. */
	function endOverdue({ id, initTimeoutMs }: Endpoint): void {
		for (const worker of ours(id)) {
			if (worker.ready || leaving(worker) || d.now() - worker.createdAt < initTimeoutMs) continue;
			const why = `it did not ask for a job within ${initTimeoutMs} ms of its start (initTimeoutMs)`;
			crashes.crashed(id, why);
			stop(worker, why);
		}
	}

	/**
	 * Nothing waits there as far as known, and there are just the workers of the minimum, without
	 * work: a thousand such endpoints cost little.
	 */
	function atRest({ id, workersMin }: Endpoint): boolean {
		const queue = queues.get(id);
		if (
			!queue ||
			queue.jobs > 0 ||
			news.has(id) ||
			d.now() - queue.countedAt >= recountMs ||
			crashes.reason(id) !== undefined
		)
			return false;
		let present = 0;
		for (const worker of d.workers.of(id)) {
			if (!worker.ready || worker.held.size > 0 || leaving(worker)) return false;
			present += Number(worker.launcher !== "external");
		}
		return present === workersMin;
	}

	function observe(endpoint: Endpoint): Seen {
		const now = d.now();
		const all = ours(endpoint.id);
		const present = all.filter((worker) => !leaving(worker));
		const idle = present
			.filter((worker) => worker.ready && worker.held.size === 0)
			.toSorted((a, b) => a.idleSince - b.idleSince);
		const idleMs = idle.map(({ idleSince }) => now - idleSince);
		const busy = present.filter((worker) => worker.held.size > 0);
		const starting = present.filter((worker) => !worker.ready && worker.held.size === 0);
		const held = busy.map(
			(worker) => [...worker.held.values()].filter(({ lowPriority }) => !lowPriority).length,
		);
		return {
			present,
			// The longest idle go first, then the last started of those that do not work yet.
			mayGo: [...idle, ...starting.toReversed()],
			sample: {
				inProgress: held.reduce((sum, jobs) => sum + jobs, 0),
				busy: busy.length,
				busyLow: held.filter((jobs) => jobs === 0).length,
				idle: idle.length,
				idleFresh: idleMs.filter((ms) => ms <= endpoint.scalerValue * 1000).length,
				idleTooLong: idleMs.filter((ms) => ms >= endpoint.idleTimeout * 1000).length,
				starting: starting.length,
				stopping: all.length - present.length,
				sinceStartMs: now - (startedAt.get(endpoint.id) ?? -Infinity),
			},
		};
	}

	function act(endpoint: Endpoint, { present, mayGo, sample }: Seen): void {
		const now = d.now();
		const { id, idleTimeout, workersMax } = endpoint;
		if (present.some((worker) => worker.ready && now - worker.createdAt >= SOUND_MS))
			crashes.sound(id);
		const { jobs: waiting, oldestQueuedAt = now } = queues.get(id) ?? { jobs: 0 };
		const wanted = desiredWorkers(
			{ ...sample, waiting, oldestWaitMs: now - oldestQueuedAt },
			endpoint,
		);
		add(endpoint, wanted - present.length);
		const going = mayGo
			.slice(0, Math.max(0, present.length - wanted))
			.filter((worker) => worker.held.size === 0 && !leaving(worker));
		for (const worker of going) {
			const tooLong = worker.ready && now - worker.idleSince >= idleTimeout * 1000;
			stop(
				worker,
				tooLong
					? `idle for over ${idleTimeout} s`
					: `there are more than workersMax, which is ${workersMax}`,
			);
		}
	}

	const since = ({ id }: Endpoint): number =>
		queues.get(id)?.oldestQueuedAt ?? Number.MAX_SAFE_INTEGER;

	/** When the wait of the longest waiting job asks for another worker, ms from now. */
	function lateIn({ id, scalerType, scalerValue }: Endpoint): number {
		const { oldestQueuedAt } = queues.get(id) ?? {};
		if (scalerType !== "QUEUE_DELAY" || oldestQueuedAt === undefined) return LOOK_MS;
		const ms = oldestQueuedAt + scalerValue * 1000 + 1 - d.now();
		return ms > 0 ? Math.min(ms, LOOK_MS) : LOOK_MS;
	}

	function retire(worker: Worker, why: string): void {
		if (worker.launcher === "external" || leaving(worker)) return;
		d.launching.retire(worker, why);
		scaleLoop.nudge();
	}

	const scaleLoop = loop({
		clock: d.clock,
		retryMs: LOOK_MS,
		onError: (error) => d.events.emit("fault", { where: "scaling", error }),
		step: async () => {
			for (const worker of d.workers.all()) {
				if (d.cluster.gaveUp(worker.endpoint))
					retire(worker, "another server starts the workers of its endpoint");
				if (
					worker.retiring !== undefined &&
					worker.held.size === 0 &&
					!d.launching.ending(worker.id)
				)
					stop(worker, worker.retiring);
			}
			const awake = launched().filter((endpoint) => !atRest(endpoint));
			for (const endpoint of awake) endOverdue(endpoint);
			// Workers before queues: a job that is taken in between must not be seen twice.
			const seen = awake.map((endpoint) => ({ endpoint, seen: observe(endpoint) }));
			await Promise.all(seen.map(({ endpoint }) => count(endpoint.id)));
			// GPUs go to whoever has waited longest.
			for (const each of seen.toSorted((a, b) => since(a.endpoint) - since(b.endpoint)))
				act(each.endpoint, each.seen);
			return Math.min(LOOK_MS, ...seen.map(({ endpoint }) => lateIn(endpoint)));
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
			const endpoint = d.registry.get(id);
			if (endpoint.launcher.type === "external" || !d.cluster.scales(id)) return;
			news.add(id);
			if (crashes.holds(id) || gpuless.has(id)) return;
			const present = ours(id).filter((worker) => !leaving(worker));
			const all =
				endpoint.scalerType === "REQUEST_COUNT"
					? present.every((worker) => worker.held.size > 0)
					: present.length === 0;
			if (all && present.length < endpoint.workersMax) scaleLoop.nudge();
		},
		ended(worker, { code, signal }) {
			// One that ends well after a call may have been told to by its own code (protocol B.5,
			// refresh_worker).
			const sound = worker.ready && (code === 0 || d.now() - worker.createdAt >= SOUND_MS);
			const how =
				signal !== undefined
					? ` by ${signal}`
					: code === undefined
						? ""
						: ` with exit code ${code}`;
			if (!sound && !worker.draining)
				crashes.crashed(
					worker.endpoint,
					`it ended${how} ${worker.ready ? "soon after its start" : "before it asked for a job"}`,
				);
			scaleLoop.nudge();
		},
		unfit(worker, reason) {
			if (worker.launcher === "external" || leaving(worker)) return;
			crashes.crashed(worker.endpoint, `it says that it is unhealthy: ${reason}`);
			retire(worker, "it says that it is unhealthy");
		},
		retire,
		look: () => scaleLoop.nudge(),
		recount() {
			for (const { id } of launched()) news.add(id);
			scaleLoop.nudge();
		},
		movable(id) {
			const all = ours(id);
			if (all.length === 0) return "free";
			return all.every((worker) => worker.ready && worker.held.size === 0) ? "idle" : "busy";
		},
		crashing: (endpoint) => crashes.reason(endpoint),
		withoutGpu: (endpoint) => gpuless.get(endpoint),
	};
}
