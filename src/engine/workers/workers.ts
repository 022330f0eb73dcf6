/** Workers: which ones exist, what they report about themselves, how they start and stop. */
import { ApiError } from "../../core/errors.ts";
import type { WorkerReason } from "../../core/workers/worker-reason.ts";
import type { WorkerUsage } from "../../core/workers/worker-usage.ts";
import { workerEnv } from "../../core/workers/worker-env.ts";
import { hex } from "../../ids.ts";
import { isManaged, isShared } from "../../launchers/index.ts";
import type { WorkerLogs } from "../../launchers/launcher.ts";
import type { Service } from "../../service.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { SCALE, type ServerSources } from "../cluster/cluster-state.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import { createHosts, type Hosts } from "./hosts.ts";
import { workerHousekeeping } from "./housekeeping.ts";
import { type LauncherDeps, workerLauncher, type WorkerLauncher } from "./launch.ts";
import { countPoll, holdPoll } from "./polls.ts";
import { startProblems, type StartProblems } from "./start-problems.ts";
import { stopSignals, type StopSignals } from "./stop-signals.ts";
import { stopWorker } from "./stop-worker.ts";
import { createStrays, type Strays } from "./strays.ts";
import { endedWorkers, type EndedWorkers } from "./ended-workers.ts";
import { type LogSearch, searchLogs } from "./log-search.ts";
import { lastOutput, type LogEntry, type LogQuery, logReader } from "./worker-logs.ts";
import { type Worker, workerRegistry, type WorkerRegistry } from "./worker-registry.ts";
import { WORKER_ID_BYTES } from "./worker-spec.ts";
import { type WorkerView, workerViews, type WorkerViews } from "./worker-views.ts";

/** What callers can do. */
export interface Workers {
	/** The worker behind a call with a valid token; it counts as seen now. */
	recordCall(q: { id: string; endpoint: string }): Worker;
	/** Workers of an endpoint that this server knows. */
	of(endpoint: string): Iterable<Worker>;
	/** Workers of an endpoint on all servers. */
	views(endpoint: string): Promise<WorkerView[]>;
	/** What those that this server launched use now, by id (D48). */
	usage(endpoint: string): Promise<ReadonlyMap<string, WorkerUsage>>;
	/** Launched workers of an endpoint that have ended, on all servers (D47). */
	ended: EndedWorkers["of"];
	/** See `strays.ts`. */
	refused: Strays["refused"];
	/**
	 * Starts workers of an endpoint again where starts are paused after crashes, if they are needed.
	 * False when another server starts them. Throws `workers_external`.
	 */
	start(endpoint: string): boolean;
	/** Why an endpoint lacks workers (D29). */
	reason(endpoint: string): WorkerReason | undefined;
	/**
	 * Address of the other server that scales an endpoint on a shared platform: it must see the polls
	 * and pings of its workers, which may reach any server.
	 */
	scaledAt(endpoint: string): string | undefined;
	/** Ids of jobs that the worker must stop; none when the poll has timed out. */
	pollStops(q: { worker: Worker; signal: AbortSignal }): Promise<string[]>;
	/** Lines that a launched worker wrote, a few at a time. Throws `worker_not_found`. */
	logs(q: LogQuery): Promise<AsyncIterable<LogEntry[]>>;
	/** Lines in all logs that this server keeps of an endpoint's workers. */
	searchLogs(q: LogSearch): ReturnType<typeof searchLogs>;
	/** See `stop-worker.ts`. */
	stop(q: { endpoint: string; id: string }): Promise<boolean>;
	/** Machines on which workers are started. */
	hosts: Hosts;
	/** Variables for a worker that is started outside of Sluice (D36); its token is new. */
	env(q: { endpoint: string; url: string; replicas: boolean }): Promise<Record<string, string>>;
}

/** With what the other domains use. */
export interface WorkerDomain extends Workers {
	registry: WorkerRegistry;
	launcher: WorkerLauncher;
	stopSignals: StopSignals;
	startProblems: StartProblems;
	hosts: Hosts & Pick<ReturnType<typeof createHosts>, "read">;
	allViews: WorkerViews;
	movable: ServerSources["movable"];
	services: readonly Service[];
}

interface Deps extends EngineContext, Pick<LauncherDeps, "tokens" | "launchers" | "address"> {
	/** Name of this machine. */
	hostname?: string | undefined;
	cluster: Cluster;
	endpoints: Endpoints;
	workerLogs: WorkerLogs;
	/** Id of the current key for secrets. */
	keyIds: readonly string[];
}

export function createWorkers(d: Deps): WorkerDomain {
	const { clock, now, store, cluster, endpoints, background } = d;
	const registry = workerRegistry(d.events);
	const problems = startProblems();
	const ended = endedWorkers({ store, now, problems });
	const strays = createStrays({ ...d, ended });
	const launcher = workerLauncher({
		...d,
		registry,
		ended,
		lastOutput: (worker) => lastOutput(d.workerLogs, worker),
		hostOf: (type, { host }) => (typeof host === "string" ? host : isShared(type) ? undefined : d.hostname),
	});
	const views = workerViews({
		registry,
		cluster,
		store: store.cluster,
		now,
		problemOf: problems.of,
		endpoints: endpoints.all,
		keyIds: d.keyIds,
	});
	const hosts = createHosts({ ...d, shared: cluster.shared });
	const signals = stopSignals({
		...d,
		registry,
		stopGraceMs: endpoints.stopGraceMs,
		kill: (worker, why) => background.run(`stopping ${worker.id}`, launcher.stop(worker, { why, graceMs: 0 })),
		unstopped: () => store.jobs.unstopped(),
		shared: cluster.shared,
	});

	const { marks } = d.workerLogs;
	/** The jobs of a worker have changed. */
	function hold({ endpoint, worker: id }: { endpoint: string; worker?: string | undefined }): void {
		const worker = id === undefined ? undefined : registry.get({ endpoint, id });
		if (worker?.managed) marks.hold(worker.id, [...worker.held.keys()]);
	}
	for (const event of ["job.started", "job.settled", "job.returned"] as const) d.events.on(event, hold);
	for (const event of ["worker.launched", "worker.adopted"] as const)
		d.events.on(event, (facts) => {
			marks.watch(facts.worker);
			hold(facts);
		});
	d.events.on("worker.exited", ({ worker }) => marks.end(worker));

	return {
		registry,
		launcher,
		stopSignals: signals,
		startProblems: problems,
		allViews: views,
		recordCall({ id, endpoint }) {
			const at = now();
			const worker = registry.get({ endpoint, id }) ?? registry.meet({ id, endpoint, ready: true, now: at });
			registry.seen(worker, at);
			return worker;
		},
		of: registry.of,
		views: views.of,
		async usage(endpoint) {
			const own = [...registry.of(endpoint)].filter(({ managed }) => managed);
			const found = await Promise.all(
				[...Map.groupBy(own, ({ launcher: type }) => type)].map(
					async ([type, workers]) => await d.launchers.get(type)?.usage?.(workers),
				),
			);
			return new Map(found.flatMap((each) => [...(each ?? [])]));
		},
		ended: async (endpoint, limit) => (await ended.of(endpoint, limit)).map(strays.withCall),
		refused: strays.refused,
		start(endpoint) {
			if (!isManaged(endpoints.get(endpoint).launcher.type)) throw new ApiError("workers_external", { endpoint });
			if (!cluster.scales(endpoint)) return false;
			d.events.emit("starts.resumed", { endpoint });
			return true;
		},
		reason: views.reason,
		async pollStops({ worker, signal }) {
			const { ended, done } = holdPoll(clock, worker, signal);
			const over = countPoll(worker, "stops", { now, signal });
			try {
				return await signals.poll(worker, ended);
			} finally {
				over();
				done();
			}
		},
		hosts,
		logs: logReader({ clock, logs: d.workerLogs, registry }),
		searchLogs: (q) => searchLogs(d.workerLogs, q),
		stop: (q) => stopWorker({ registry, views, launcher }, q),
		async env({ endpoint, url, replicas }) {
			const { leaseMs } = endpoints.get(endpoint);
			const worker = replicas ? undefined : `${endpoint}-${hex(d.random(WORKER_ID_BYTES))}`;
			const token = await d.tokens.issue({
				endpoint,
				...(worker === undefined ? {} : { worker }),
			});
			return workerEnv({ url, endpoint, worker, token, leaseMs });
		},
		scaledAt(endpoint) {
			if (!cluster.shared || cluster.scales(endpoint) || !endpoints.has(endpoint)) return undefined;
			if (!isShared(endpoints.get(endpoint).launcher.type)) return undefined;
			return cluster.members().find(({ self, leads }) => !self && leads.includes(SCALE + endpoint))?.url;
		},
		movable(endpoint) {
			if (endpoints.has(endpoint) && isShared(endpoints.get(endpoint).launcher.type)) return "free";
			const managed = [...registry.of(endpoint)].filter((worker) => worker.managed);
			if (managed.length === 0) return "free";
			return managed.every(({ ready, held }) => ready && held.size === 0) ? "idle" : "busy";
		},
		services: [workerHousekeeping({ ...d, registry, launcher }), hosts.service],
	};
}
