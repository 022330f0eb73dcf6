/** The engine's services start in order and stop in reverse (D34). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { ApiError } from "../../core/errors.ts";
import type { Service } from "../../system/loop.ts";
import type { Worker } from "../workers/worker-registry.ts";
import type { ServiceAddresses } from "../workers/launch/worker-spec.ts";
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

interface Deps extends Domains {
	services: readonly Service[];
	serviceId: string | undefined;
	/** Launching waits for the address. */
	setAddress: (addresses: ServiceAddresses) => void;
}

export function createLifecycle(d: Deps) {
	const { cluster, events, store, workers } = d;
	const own: readonly Service[] = [
		...d.availability.services,
		...d.metrics.services,
		...cluster.services,
		...catchUp(d),
		...d.workers.services,
		...d.jobs.services,
		...d.endpoints.services,
		...d.services,
		d.scaling.loop,
	];
	let services = own;
	let othersAlive = false;
	let draining = false;
	let stopListening = (): void => {};

	return {
		get draining() {
			return draining;
		},
		/** Throws `not_ready` while this server must take no requests. */
		async ready(): Promise<void> {
			const why = d.availability.time.fault() ?? cluster.fault();
			if (why !== undefined) throw new ApiError("not_ready", { why });
			await store.ping();
		},
		/** Must be done before the first request. */
		async prepare(configured: readonly Endpoint[]): Promise<void> {
			othersAlive = await loadState(d, configured);
		},
		/**
		 * `url`: this server, for the workers that it launches; `sharedUrl`: all servers, for workers on platforms that all
		 * reach; `services`: those of modules.
		 */
		async start(q: { url: string; sharedUrl: string; services: readonly Service[] }): Promise<void> {
			const { url, sharedUrl } = q;
			services = [...own, ...q.services];
			const storeId = await store.identity();
			d.setAddress({
				own: { url, serviceId: d.serviceId ?? storeId },
				shared: { url: sharedUrl, serviceId: storeId },
			});
			await workers.launcher.others.restore();
			d.scaling.replaceUnready();
			d.scaling.prepare();
			await recallStops(d, othersAlive);
			stopListening = listenToStore(d);
			await cluster.join({
				url,
				note: workers.allViews.note,
				managedEndpoints: () => d.endpoints.managed(),
				movable: (endpoint) => workers.movable(endpoint),
			});
			for (const service of services) service.start();
		},
		/**
		 * Ends waits and polls (D34). Workers that end with this stop get `drainMs` for their jobs, which are then
		 * requeued. With `leaveWorkers` only those end that cannot live on until the next start takes them over.
		 */
		async stop({ drainMs, leaveWorkers }: { drainMs: number; leaveWorkers: boolean }): Promise<void> {
			if (draining) return;
			draining = true;
			events.emit("service.draining", { drainMs, leaveWorkers });
			/** A platform that does not answer must not delay the stop: the next start finds what it left. */
			const platformCalls = (work: Promise<void>): Promise<void> =>
				leaveWorkers ? waitAtMost(d.clock, LEAVE_MS, work) : work;
			d.jobs.close();
			await platformCalls(d.scaling.loop.stop());
			const othersContinue = cluster.others();
			const ends = (worker: Worker): boolean =>
				worker.managed && !(leaveWorkers && workers.launcher.outlivesService(worker));
			drainWorkers(d);
			if (othersContinue) workers.launcher.others.releaseAll();
			await cluster.leave();
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
