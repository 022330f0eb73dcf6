/** Builds the engine: its domains in the order of their dependencies. */
import type { BudgetMeters } from "../core/budgets.ts";
import type { Clock } from "../system/clock.ts";
import type { EventBus } from "../events.ts";
import { hex, type Random } from "../lib/ids.ts";
import type { Launcher, WorkerLogs } from "../launchers/launcher.ts";
import { backgroundTasks } from "../system/loop.ts";
import type { Store, StoreLoad } from "../store/contract/store.ts";
import { createAccess } from "./access/access.ts";
import type { SealKeys } from "../secrets/encryption.ts";
import { createAvailability } from "./availability/availability.ts";
import type { StoreDisk } from "./availability/storage/free-space.ts";
import { storedBytes } from "./availability/storage/stored-bytes.ts";
import { createCluster } from "./cluster/cluster.ts";
import type { EngineContext } from "./context.ts";
import { Endpoints } from "./endpoints/endpoints.ts";
import { createJobs } from "./jobs/jobs.ts";
import { createLifecycle } from "./lifecycle/lifecycle.ts";
import { createLimits } from "./limits/limits.ts";
import { createMetrics } from "./metrics/metrics.ts";
import { createReleases } from "./releases/releases.ts";
import { createScaling } from "./scaling/scaling.ts";
import type { ServiceAddresses } from "./workers/launch/worker-spec.ts";
import type { WorkersContext } from "./workers/workers-context.ts";
import { Workers } from "./workers/workers.ts";

export interface EngineOptions {
	store: Store;
	/** Absent where the store is on another machine. */
	disk?: StoreDisk | undefined;
	budgets: BudgetMeters;
	clock: Clock;
	random: Random;
	events: EventBus;
	launchers: ReadonlyMap<string, Launcher>;
	workerLogs: WorkerLogs;
	/** Keys for stored secrets (D21, D22). */
	sealKeys: SealKeys;
	storeId: string;
	apiKey?: string | undefined;
	/** At which everybody reaches the service. No slash at the end. */
	publicUrl?: string | undefined;
	/** Default: they are those of the endpoint. */
	workerVariables?: WorkersContext["variables"];
	/** GPUs of this machine that launched workers share. */
	gpus: number;
	hostname?: string | undefined;
	/** Identity of this server, kept with its data; needed where several share a store. */
	serviceId?: string | undefined;
	/** A longer gap between two readings of the clock is left out of the job clock. */
	pauseMs?: number | undefined;
}

/** What is known of the store and of where it is. */
export interface StoreState {
	/** Undefined where the store is on another machine. */
	disk: StoreDisk | undefined;
	isStoreAvailable: () => boolean;
	/** Measured since the start. */
	storeLoad: () => StoreLoad | undefined;
	/** Standbys of PostgreSQL; undefined with SQLite. */
	standbys: () => Promise<{ connected: number; isSynchronous: boolean } | undefined>;
	/** Ms. */
	skewFromDatabase: () => number | undefined;
}

export type Engine = ReturnType<typeof createEngine>;

/** Operations throw `ApiError` for refusals. Nothing runs before `start`. */
export function createEngine(o: EngineOptions) {
	const { clock, random, budgets, sealKeys } = o;
	const availability = createAvailability({ ...o, server: o.serviceId });
	const { store, events, time } = availability;
	const stored = storedBytes({
		clock,
		jobs: store.jobs,
		unused: () => o.store.unusedBytes?.() ?? 0,
		meter: budgets.stored,
	});
	const context: EngineContext = {
		clock,
		now: () => time.now(),
		calendar: time.calendar,
		random,
		events,
		store,
		budgets,
		retry: availability.retry,
		space: availability.space,
		stored,
		background: backgroundTasks((where, error) => events.emit("fault", { where, error })),
		hooks: {},
	};
	const run = hex(random(8));
	const address = Promise.withResolvers<ServiceAddresses>();

	const access = createAccess({
		...context,
		// Sessions and keys end by the time of day, also while the machine is suspended.
		now: () => time.calendar.now() as number,
		keyRing: sealKeys.ring,
		storeId: o.storeId,
		apiKey: o.apiKey,
	});
	const cluster = createCluster({ ...context, id: o.serviceId ?? run, run, clockFault: () => time.fault() });
	const limits = createLimits({ ...context, server: cluster.id ?? "", run, others: cluster.others });
	const endpoints = new Endpoints({ ...context, cluster, encryption: access.encryption, publicUrl: o.publicUrl });
	const workers = new Workers({
		...context,
		variables: o.workerVariables ?? (async (env) => ({ env, hidden: env })),
		access,
		cluster,
		endpoints,
		launchers: o.launchers,
		workerLogs: o.workerLogs,
		gpus: o.gpus,
		address: address.promise,
		hostname: o.hostname,
	});
	const metrics = createMetrics({
		...context,
		run,
		cluster,
		endpoints,
		views: workers.allViews,
		registry: workers.registry,
	});
	const jobs = createJobs({ ...context, access, cluster, endpoints, workers });
	const releases = createReleases({ endpoints, workers });
	const scaling = createScaling({ ...context, cluster, endpoints, workers });
	const storeState: StoreState = {
		disk: o.disk,
		isStoreAvailable: availability.isStoreAvailable,
		storeLoad: () => o.store.load?.(),
		standbys: async () => o.store.cluster?.standbys(),
		skewFromDatabase: () => time.skewFromDatabase(),
	};
	const domains = { access, limits, cluster, endpoints, workers, jobs, metrics };
	const lifecycle = createLifecycle({
		...context,
		...domains,
		availability,
		scaling,
		sealKeys,
		services: [...limits.services, stored.service],
		serviceId: o.serviceId ?? cluster.id,
		setAddress: address.resolve,
	});
	return {
		...domains,
		...lifecycle,
		hooks: context.hooks,
		releases,
		now: context.now,
		...storeState,
		/** What modules may use. */
		kernel: {
			...context,
			...storeState,
			cluster,
			endpoints,
			workers,
			jobs,
			releases,
			metrics,
			instance: o.serviceId ?? run,
			access,
			storeId: o.storeId,
			encryption: access.encryption,
			hosts: workers.hosts,
			scaling: scaling.lent,
			hostname: o.hostname ?? "",
			url: address.promise.then(({ shared }) => shared.url),
		},
		calendar: time.calendar,
		/** Budgets (D41). */
		budgets,
		get draining() {
			return lifecycle.draining;
		},
	};
}
