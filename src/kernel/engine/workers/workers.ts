import { ApiError } from "../../core/errors.ts";
import type { WorkerReason } from "../../core/workers/worker-reason.ts";
import type { WorkerUsage } from "../../core/workers/worker-usage.ts";
import { workerEnv } from "../../core/workers/worker-env.ts";
import { hex } from "../../lib/ids.ts";
import { isManaged, isShared } from "../../launchers/index.ts";
import type { Service } from "../../system/loop.ts";
import { SCALE } from "../cluster/heartbeat.ts";
import type { Movable } from "../cluster/lease-balancer.ts";
import { endedWorkers } from "./ended-workers.ts";
import { createGpus } from "./gpus.ts";
import { createHosts } from "./hosts.ts";
import { workerHousekeeping } from "./housekeeping.ts";
import { WorkerLauncher } from "./launch/launch.ts";
import { workerSleep, type WorkerSleep } from "./launch/sleep.ts";
import { countPoll, holdPoll } from "./polls.ts";
import { startProblems, type StartProblems } from "./start-problems.ts";
import { stopSignals, type StopSignals } from "./stop-signals.ts";
import { type LogQuery, readLog } from "./logs/worker-logs.ts";
import { newWorker, type Worker, workerRegistry, type WorkerRegistry } from "./worker-registry.ts";
import { WORKER_ID_BYTES } from "./launch/worker-spec.ts";
import { type WorkerView, workerViews, type WorkerViews } from "./worker-views.ts";
import type { WorkersContext } from "./workers-context.ts";

/** Workers that one token of many replicas may have at a server. */
const IDS_PER_TOKEN = 2000;

interface WorkerName {
	endpoint: string;
	id: string;
}

export class Workers {
	readonly registry: WorkerRegistry;
	readonly launcher: WorkerLauncher;
	readonly sleep: WorkerSleep;
	readonly stopSignals: StopSignals;
	readonly startProblems: StartProblems;
	readonly hosts: ReturnType<typeof createHosts>;
	readonly gpus: ReturnType<typeof createGpus>;
	readonly allViews: WorkerViews;
	readonly services: readonly Service[];
	/** Launched workers that have ended, on all servers (D47). */
	readonly ended: ReturnType<typeof endedWorkers>["of"];
	readonly #d: WorkersContext;

	constructor(context: Omit<WorkersContext, "registry">) {
		this.registry = workerRegistry(context.events);
		this.startProblems = startProblems();
		const d = { ...context, registry: this.registry, problems: this.startProblems };
		this.#d = d;
		const ended = endedWorkers(d);
		this.hosts = createHosts(d);
		this.gpus = createGpus(d, this.hosts.list);
		this.launcher = new WorkerLauncher({ ...d, ended, gpuAddresses: this.gpus.addresses });
		this.sleep = workerSleep({ ...d, launcher: this.launcher });
		this.stopSignals = stopSignals({ ...d, launcher: this.launcher });
		this.allViews = workerViews(d);
		this.services = [workerHousekeeping({ ...d, launcher: this.launcher }), this.hosts.service];
		this.ended = ended.of;
		this.#markLogs();
	}

	/**
	 * The worker counts as seen now. Throws `too_many_worker_ids` beyond {@link IDS_PER_TOKEN}, unless the call
	 * `reports`: no result is refused (D19), but its worker is then not listed.
	 */
	recordCall({
		id,
		endpoint,
		launchedAs,
		token,
		reports = false,
	}: WorkerName & Pick<Worker, "launchedAs" | "token"> & { reports?: boolean }): Worker {
		const now = this.#d.now();
		const known = this.registry.get({ endpoint, id });
		const met = { id, endpoint, ready: true, token, now };
		if (!known && token !== undefined && this.registry.countOf(token) >= IDS_PER_TOKEN) {
			if (reports) return newWorker(met);
			throw new ApiError("too_many_worker_ids", { limit: IDS_PER_TOKEN, endpoint, worker: id });
		}
		const worker = known ?? this.registry.meet(met);
		// Another server has launched it.
		if (launchedAs !== undefined) worker.launchedAs ??= launchedAs;
		this.registry.seen(worker, now);
		return worker;
	}

	of(endpoint: string): Iterable<Worker> {
		return this.registry.of(endpoint);
	}

	views(endpoint: string): Promise<WorkerView[]> {
		return this.allViews.of(endpoint);
	}

	/** Usage of the workers that this server launched, by id (D48). */
	async usage(endpoint: string): Promise<ReadonlyMap<string, WorkerUsage>> {
		const byLauncher = Map.groupBy(this.#managed(endpoint), ({ launcher }) => launcher);
		const found = await Promise.all(
			[...byLauncher].map(async ([type, workers]) => await this.#d.launchers.get(type)?.usage?.(workers)),
		);
		return new Map(found.flatMap((each) => [...(each ?? [])]));
	}

	/** Returns false when another server starts the workers. Throws `workers_external`. */
	start(endpoint: string): boolean {
		const { endpoints, cluster, events } = this.#d;
		if (!isManaged(endpoints.get(endpoint).launcher.type)) throw new ApiError("workers_external", { endpoint });
		if (!cluster.scales(endpoint)) return false;
		events.emit("starts.resumed", { endpoint });
		return true;
	}

	reason(endpoint: string): WorkerReason | undefined {
		return this.allViews.reason(endpoint);
	}

	async pollStops({ worker, signal }: { worker: Worker; signal: AbortSignal }): Promise<string[]> {
		const { clock, now } = this.#d;
		const { ended, done } = holdPoll(clock, worker, signal);
		const over = countPoll(worker, "stops", { now, signal });
		try {
			return await this.stopSignals.poll(worker, ended);
		} finally {
			over();
			done();
		}
	}

	/** Throws `worker_not_found`. */
	logs(q: LogQuery): ReturnType<typeof readLog> {
		return readLog(this.#d, q);
	}

	/** Returns false when another server launched it (D28). Throws `worker_gone`, `worker_not_launched`. */
	async stop(q: WorkerName): Promise<boolean> {
		const worker = this.registry.get(q);
		if (worker?.managed) {
			this.launcher.retire(worker, "an operator requested it");
			return true;
		}
		const view = (await this.views(q.endpoint)).find(({ id }) => id === q.id);
		if (!view) throw new ApiError("worker_gone", { endpoint: q.endpoint, worker: q.id.slice(0, 128) });
		if (!isManaged(view.launcher)) throw new ApiError("worker_not_launched", { endpoint: q.endpoint, worker: q.id });
		return false;
	}

	/** Variables for a worker that is started outside of Sluice (D36); its token is new. */
	async env({ endpoint, url, replicas }: { endpoint: string; url: string; replicas: boolean }) {
		const { endpoints, access, random } = this.#d;
		const { leaseMs } = endpoints.get(endpoint);
		const worker = replicas ? undefined : `${endpoint}-${hex(random(WORKER_ID_BYTES))}`;
		const token = await access.tokens.issue({ endpoint, worker });
		return workerEnv({ url, endpoint, worker, token, leaseMs });
	}

	/**
	 * Returns the address of the other server that scales an endpoint on a shared platform: it must see the polls and
	 * pings of its workers, which may reach any server.
	 */
	scaledAt(endpoint: string): string | undefined {
		const { cluster } = this.#d;
		if (!cluster.shared || cluster.scales(endpoint) || !this.#isOnSharedPlatform(endpoint)) return undefined;
		return cluster.members().find(({ self, leads }) => !self && leads.includes(SCALE + endpoint))?.url;
	}

	movable(endpoint: string): Movable {
		const managed = this.#managed(endpoint);
		if (managed.length === 0 || this.#isOnSharedPlatform(endpoint)) return "free";
		return managed.every(({ ready, held }) => ready && held.size === 0) ? "idle" : "busy";
	}

	#managed(endpoint: string): Worker[] {
		return [...this.registry.of(endpoint)].filter((worker) => worker.managed);
	}

	#isOnSharedPlatform(endpoint: string): boolean {
		const { endpoints } = this.#d;
		return endpoints.has(endpoint) && isShared(endpoints.get(endpoint).launcher.type);
	}

	#markLogs(): void {
		const { events, workerLogs } = this.#d;
		const { marks } = workerLogs;
		const hold = ({ endpoint, worker: id }: { endpoint: string; worker?: string | undefined }): void => {
			const worker = id === undefined ? undefined : this.registry.get({ endpoint, id });
			if (worker?.managed) marks.hold(worker.id, [...worker.held.keys()]);
		};
		events.on(["job.started", "job.settled", "job.returned"], hold);
		events.on(["worker.launched", "worker.adopted"], (facts) => {
			marks.watch(facts.worker);
			hold(facts);
		});
		events.on("worker.exited", ({ worker }) => void marks.end(worker));
	}
}
