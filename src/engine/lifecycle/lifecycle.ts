/** Start and stop of the engine: its services start in order and stop in reverse (D34). */
import type { Endpoint } from "../../core/endpoint.ts";
import { ApiError } from "../../core/errors.ts";
import type { Service } from "../../service.ts";
import type { SealKeys } from "../access/encryption.ts";
import type { Worker } from "../workers/worker-registry.ts";
import type { ServiceAddresses } from "../workers/worker-spec.ts";
import type { Domains } from "./domains.ts";
import { catchUp } from "./catch-up.ts";
import {
	drainWorkers,
	forgetReported,
	LEAVE_MS,
	requeueRunning,
	stopWorkers,
	waitAtMost,
	waitUntilIdle,
} from "./shutdown.ts";
import { loadState, recallStops } from "./startup.ts";
import { listenToStore } from "./store-signals.ts";

export interface Lifecycle {
	readonly draining: boolean;
	/**
	 * Resolves when the store takes writes. Throws `not_ready` while this server must take no
	 * requests.
	 */
	ready(): Promise<void>;
	/** Loads what the store has; must be done before the first request. */
	prepare(endpoints: readonly Endpoint[]): Promise<void>;
	/**
	 * Takes over workers and starts the services. `url` is what launched workers call: where several
	 * servers share a store, that of this server; `sharedUrl`: those on platforms that all reach.
	 */
	start(q: { url: string; sharedUrl: string }): Promise<void>;
	/**
	 * Ends waits and polls (D34). Workers that end with this stop get `drainMs` for their jobs; what
	 * they still run then is requeued. With `leaveWorkers` these are only those that cannot live on
	 * until the next start takes them over.
	 */
	stop(q: { drainMs: number; leaveWorkers: boolean }): Promise<void>;
}

interface Deps extends Domains {
	/** Further services. */
	services: readonly Service[];
	/** Identity of this server, kept with its data. */
	serviceId: string | undefined;
	sealKeys: SealKeys;
	/** To be called once the address is known: launching waits for it. */
	setAddress: (addresses: ServiceAddresses) => void;
}

export function createLifecycle(d: Deps): Lifecycle {
	const { cluster, events, membership, store, workers } = d;
	const services: readonly Service[] = [
		...d.availability.services,
		...d.metrics.services,
		...membership.services,
		...catchUp(d),
		...d.workers.services,
		...d.jobs.services,
		...d.endpoints.services,
		...d.webhooks.services,
		...d.services,
		d.scaling.loop,
	];
	let othersAlive = false;
	let draining = false;
	let stopListening = (): void => {};

	return {
		get draining() {
			return draining;
		},
		async ready() {
			const why = d.availability.clockFault() ?? cluster.fault();
			if (why !== undefined) throw new ApiError("not_ready", { why });
			await store.ping();
		},
		async prepare(configured) {
			({ othersAlive } = await loadState(d, configured));
		},
		async start({ url, sharedUrl }) {
			const storeId = await store.identity();
			d.setAddress({
				own: { url, serviceId: d.serviceId ?? storeId },
				shared: { url: sharedUrl, serviceId: storeId },
			});
			await workers.launcher.restore();
			d.scaling.replaceOutdated();
			d.scaling.prepare();
			await recallStops(d, { othersAlive });
			stopListening = listenToStore(d);
			await membership.join(url);
			for (const service of services) service.start();
		},
		async stop({ drainMs, leaveWorkers }) {
			if (draining) return;
			draining = true;
			events.emit("service.draining", { drainMs, leaveWorkers });
			/** A call of a platform that does not answer: the next start finds what it left. */
			const platformCalls = (work: Promise<void>): Promise<void> =>
				leaveWorkers ? waitAtMost(d.clock, LEAVE_MS, work) : work;
			d.jobs.close();
			d.metrics.closeFeed();
			await platformCalls(d.scaling.loop.stop());
			const othersContinue = cluster.others();
			const ends = (worker: Worker): boolean =>
				worker.managed && !(leaveWorkers && workers.launcher.outlivesService(worker));
			drainWorkers(d);
			if (othersContinue) workers.launcher.releaseAll();
			await membership.leave();
			if (cluster.shared) await forgetReported(d);
			// Some SDKs send a result only once: those of short jobs are still received.
			if (leaveWorkers) await waitUntilIdle(d, { ms: Math.min(drainMs, LEAVE_MS), of: () => true });
			// An external worker continues at another server, or at the next start.
			const waits = leaveWorkers || othersContinue ? ends : () => true;
			await waitUntilIdle(d, { ms: drainMs, of: waits });
			await requeueRunning(d, ends);
			await stopWorkers(d, ends);
			for (const service of services.toReversed()) await service.stop();
			stopListening();
			await platformCalls(d.background.stop());
		},
	};
}
