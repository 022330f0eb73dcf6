/** Scaling: how many workers each managed endpoint has, and which settings they run with. */
import type { Service } from "../../service.ts";
import { launchHash } from "../workers/worker-spec.ts";
import { autoscaler, type AutoscalerDeps } from "./autoscaler.ts";

export interface Scaling {
	/** A job waits there. */
	queued(endpoint: string): void;
	/** Replaces workers that were started with other settings, after the jobs that they hold. */
	replaceOutdated(): void;
	/** Lets launchers prepare for the endpoints that this server scales. */
	prepare(): void;
	/** The loop that starts and stops workers; stopped before the drain. */
	loop: Service;
}

export function createScaling(d: AutoscalerDeps): Scaling {
	const { events } = d;
	const { registry, launcher } = d.workers;
	const scaler = autoscaler(d);

	function replaceOutdated(): void {
		for (const { endpoint } of d.endpoints.all()) {
			const current = launchHash(endpoint);
			for (const worker of [...registry.of(endpoint.id)]) {
				if (worker.launchedAs !== undefined && worker.launchedAs !== current)
					launcher.retire(worker, "its endpoint has another launcher or environment now");
			}
		}
	}

	const prepare = (): void =>
		launcher.prepare((endpoint, preparing) => d.workers.startProblems.set(endpoint, { preparing }));

	for (const event of ["endpoint.removed", "lease.taken", "lease.lost"] as const) events.on(event, prepare);
	for (const event of ["job.queued", "job.returned"] as const)
		events.on(event, ({ endpoint }) => scaler.queued(endpoint));
	events.on("endpoints.changed", () => {
		replaceOutdated();
		prepare();
		scaler.loop.nudge();
	});
	for (const event of ["endpoint.resumed", "worker.ready", "worker.draining"] as const)
		events.on(event, scaler.loop.nudge);
	for (const event of [
		"lease.taken",
		"lease.lost",
		"server.joined",
		"server.left",
		"store.back",
		"hints.lost",
	] as const)
		events.on(event, scaler.recount);
	events.on("worker.exited", ({ endpoint, worker: id, ...end }) => {
		const worker = registry.get({ endpoint, id });
		if (worker) scaler.exited(worker, end);
	});
	events.on("worker.ready", ({ endpoint }) => scaler.ready(endpoint));
	events.on("job.settled", ({ endpoint, worker }) => {
		if (worker !== undefined) scaler.worked(endpoint);
	});
	events.on("starts.resumed", ({ endpoint }) => scaler.startNow(endpoint));
	events.on("worker.unhealthy", ({ endpoint, worker: id, reason }) => {
		const worker = registry.get({ endpoint, id });
		if (worker) scaler.replaceUnhealthy(worker, reason);
	});

	return { queued: scaler.queued, replaceOutdated, prepare, loop: scaler.loop };
}
