import { Autoscaler, type ScalingContext } from "./autoscaler.ts";

export type Scaling = ReturnType<typeof createScaling>;

export function createScaling(d: ScalingContext) {
	const { events } = d;
	const { registry, launcher, startProblems } = d.workers;
	const scaler = new Autoscaler(d);

	const prepare = (): void => launcher.prepare((endpoint, preparing) => startProblems.set(endpoint, { preparing }));

	events.on(["endpoint.removed", "lease.taken", "lease.lost"], prepare);
	events.on(["job.queued", "job.returned"], ({ endpoint }) => scaler.queued(endpoint));
	events.on("endpoints.changed", () => {
		scaler.rollouts.replaceUnready();
		prepare();
		scaler.loop.nudge();
	});
	events.on(["endpoint.resumed", "worker.draining", "worker.asleep", "worker.woken"], scaler.loop.nudge);
	events.on("worker.ready", ({ endpoint, worker: id }) => {
		if (registry.get({ endpoint, id })?.managed) scaler.loop.nudge();
	});
	events.on(["lease.taken", "lease.lost", "server.joined", "server.left", "store.back", "signals.lost"], () =>
		scaler.recount(),
	);
	events.on("worker.exited", ({ endpoint, worker: id, ...end }) => {
		const worker = registry.get({ endpoint, id });
		if (worker) scaler.faults.exited(worker, end);
		scaler.loop.nudge();
	});
	events.on("worker.ready", ({ endpoint }) => scaler.crashes.ready(endpoint));
	events.on("job.settled", ({ endpoint, worker: id }) => {
		const worker = id === undefined ? undefined : registry.get({ endpoint, id });
		if (id !== undefined && !(worker && scaler.rollouts.isOld(worker))) scaler.crashes.worked(endpoint);
	});
	events.on("starts.resumed", ({ endpoint }) => scaler.startNow(endpoint));
	events.on("worker.unhealthy", ({ endpoint, worker: id, reason }) => {
		const worker = registry.get({ endpoint, id });
		if (worker) scaler.faults.unhealthy(worker, reason);
	});

	events.on("worker.exceeded", ({ endpoint, worker: id, why, ends }) => {
		const worker = ends ? registry.get({ endpoint, id }) : undefined;
		if (worker) scaler.faults.exceeded(worker, why);
	});
	events.on("warmup.failed", ({ endpoint, worker: id, reason }) => {
		const worker = registry.get({ endpoint, id });
		if (worker) scaler.faults.failed(worker, reason, "start_failed");
	});

	return {
		queued: (endpoint: string): void => scaler.queued(endpoint),
		replaceUnready: scaler.rollouts.replaceUnready,
		prepare,
		lent: scaler.lent,
		/** Stopped before the drain. */
		loop: scaler.loop,
	};
}
