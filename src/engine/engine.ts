/** Builds the engine: its domains in the order of their dependencies. */
import type { BudgetMeters } from "../budgets.ts";
import type { Clock } from "../clock.ts";
import type { EventBus } from "../events.ts";
import { hex, type Random } from "../ids.ts";
import type { Launcher, WorkerLogs } from "../launchers/launcher.ts";
import { backgroundTasks } from "../service.ts";
import type { Store } from "../store/contract/store.ts";
import type { SendWebhook } from "../webhooks/sender.ts";
import { createAccess } from "./access/access.ts";
import type { SealKeys } from "./access/encryption.ts";
import type { Engine } from "./api.ts";
import { createAvailability } from "./availability/availability.ts";
import type { StoreDisk } from "./availability/free-space.ts";
import { storedBytes } from "./availability/stored-bytes.ts";
import { createCluster } from "./cluster/cluster.ts";
import type { EngineContext } from "./context.ts";
import { createEndpoints } from "./endpoints/endpoints.ts";
import { createJobs } from "./jobs/jobs.ts";
import { createLifecycle } from "./lifecycle/lifecycle.ts";
import { createLimits } from "./limits/limits.ts";
import { createMetrics } from "./metrics/metrics.ts";
import { createScaling } from "./scaling/scaling.ts";
import { createWebhooks } from "./webhooks/webhooks.ts";
import type { ServiceAddresses } from "./workers/worker-spec.ts";
import { createWorkers } from "./workers/workers.ts";

export interface EngineOptions {
	store: Store;
	/** The disk of the store; absent where it is on another machine. */
	disk?: StoreDisk | undefined;
	budgets: BudgetMeters;
	clock: Clock;
	random: Random;
	events: EventBus;
	/** Launchers by type. */
	launchers: ReadonlyMap<string, Launcher>;
	workerLogs: WorkerLogs;
	/** Keys for stored secrets (D21, D22). */
	sealKeys: SealKeys;
	/** Identity of the store. */
	storeId: string;
	sendWebhook: SendWebhook;
	/** `SLUICE_API_KEY`. */
	apiKey?: string | undefined;
	/** GPUs of this machine that launched workers share. */
	gpus: number;
	/** Name of this machine. */
	hostname?: string | undefined;
	/**
	 * Identity of this server, kept with its data; needed where several share a store, which has one
	 * for all.
	 */
	serviceId?: string | undefined;
	/** A longer gap between two readings of the clock is left out of the job clock, ms. */
	pauseMs?: number | undefined;
}

/** Nothing runs before `start`. */
export function createEngine(o: EngineOptions): Engine {
	const availability = createAvailability({ ...o, server: o.serviceId });
	const { store, events, now, calendar, retry, space } = availability;
	const background = backgroundTasks((where, error) => events.emit("fault", { where, error }));
	const { clock, random, budgets } = o;
	const stored = storedBytes({
		clock,
		jobs: store.jobs,
		unused: () => o.store.unusedBytes?.() ?? 0,
		meter: budgets.stored,
	});
	const context: EngineContext = {
		clock,
		now,
		calendar,
		random,
		events,
		store,
		budgets,
		retry,
		space,
		stored,
		background,
	};
	const run = hex(random(8));
	const address = Promise.withResolvers<ServiceAddresses>();

	// Sessions and keys end by the time of day, also while the machine is suspended.
	const timeOfDay = (): number => calendar.now();
	const access = createAccess({
		...context,
		now: timeOfDay,
		keyRing: o.sealKeys.ring,
		storeId: o.storeId,
		apiKey: o.apiKey,
	});
	const cluster = createCluster({
		...context,
		id: o.serviceId ?? run,
		run,
		clockFault: availability.clockFault,
	});
	const limits = createLimits({ ...context, server: cluster.id ?? "", run, others: cluster.others });
	const endpoints = createEndpoints({ ...context, cluster, encryption: access.encryption });
	const workers = createWorkers({
		...context,
		cluster,
		endpoints,
		tokens: access.tokens,
		keyIds: access.encryption.keyIds,
		launchers: o.launchers,
		workerLogs: o.workerLogs,
		address: address.promise,
		hostname: o.hostname,
	});
	const membership = cluster.connect({
		note: workers.allViews.note,
		managedEndpoints: endpoints.managed,
		movable: workers.movable,
	});
	const jobs = createJobs({ ...context, access, cluster, endpoints, workers });
	const scaling = createScaling({ ...context, cluster, endpoints, workers, gpus: o.gpus });
	const webhooks = createWebhooks({ ...context, cluster, endpoints, send: o.sendWebhook });
	const metrics = createMetrics({
		...context,
		run,
		cluster,
		endpoints,
		views: workers.allViews,
	});
	const domains = { access, limits, cluster, endpoints, workers, jobs, webhooks, metrics };
	const lifecycle = createLifecycle({
		...context,
		...domains,
		availability,
		membership,
		scaling,
		sealKeys: o.sealKeys,
		services: [...limits.services, stored.service],
		serviceId: o.serviceId ?? cluster.id,
		setAddress: address.resolve,
	});
	return {
		...domains,
		...lifecycle,
		backups: availability.backups,
		now,
		calendar,
		budgets,
		get draining() {
			return lifecycle.draining;
		},
	};
}
