/** How starts of workers by this server went: times of their phases, outcomes, and how workers ended (D40). */
import type { EpochMs } from "../../lib/time.ts";
import type { EventBus } from "../../events.ts";
import type { Worker, WorkerRegistry } from "../workers/worker-registry.ts";
import { counts, durations } from "./labelled.ts";

export const START_OUTCOMES = ["ready", "failed", "stopped"] as const;

/** Times of the job clock; `pullMs`: of pulls that are over. */
interface Start {
	launchedAt?: EpochMs;
	waiting?: { pulls: boolean; since: EpochMs };
	pullMs: number;
	warmingAt?: EpochMs;
}

export function workerStarts({
	events,
	now,
	registry,
}: {
	events: EventBus;
	now: () => EpochMs;
	registry: WorkerRegistry;
}) {
	const starts = new WeakMap<Worker, Start>();
	const outcomes = counts(events);
	const exits = counts(events);
	const total = durations(events);
	const phases = durations(events);
	const wakes = durations(events);

	function startOf(worker: Worker): Start {
		const found = starts.get(worker) ?? { pullMs: 0 };
		starts.set(worker, found);
		return found;
	}

	function endWait(start: Start, at: EpochMs): void {
		if (start.waiting?.pulls) start.pullMs += Math.max(0, at - start.waiting.since);
		delete start.waiting;
	}

	function over(worker: Worker, outcome: (typeof START_OUTCOMES)[number]): void {
		if (starts.delete(worker)) outcomes.add(1, worker.endpoint, outcome);
	}

	function ready(worker: Worker, start: Start): void {
		const { endpoint, createdAt, startingSince, readyAt = now() } = worker;
		const { launchedAt = readyAt, warmingAt = readyAt } = start;
		// Its platform reported that it runs, or it called before that, or there are no such reports.
		const placedAt =
			startingSince > createdAt ? startingSince : start.waiting ? warmingAt : Math.min(launchedAt, warmingAt);
		endWait(start, placedAt);
		const pulls = Math.min(start.pullMs, placedAt - createdAt);
		phases.add(placedAt - createdAt - pulls, endpoint, "placement");
		if (pulls > 0) phases.add(pulls, endpoint, "image_pull");
		phases.add(Math.max(0, warmingAt - placedAt), endpoint, "load");
		if (start.warmingAt !== undefined) phases.add(readyAt - warmingAt, endpoint, "warm_up");
		total.add(readyAt - createdAt, endpoint);
		over(worker, "ready");
	}

	events.on("worker.launched", ({ endpoint, worker: id }) => {
		const worker = registry.get({ endpoint, id });
		if (!worker) return;
		const start = startOf(worker);
		start.launchedAt = now();
		// It called before its start was recorded.
		if (worker.ready) ready(worker, start);
	});
	events.on("worker.waiting", ({ endpoint, worker: id, reason }) => {
		const worker = registry.get({ endpoint, id });
		if (!worker) return;
		const start = startOf(worker);
		endWait(start, now());
		start.waiting = { pulls: reason === "image_pull", since: now() };
	});
	events.on("worker.warming", ({ endpoint, worker: id }) => {
		const worker = registry.get({ endpoint, id });
		const start = worker && starts.get(worker);
		if (start) start.warmingAt = now();
	});
	events.on("worker.ready", ({ endpoint, worker: id }) => {
		const worker = registry.get({ endpoint, id });
		const start = worker && starts.get(worker);
		if (start?.launchedAt !== undefined) ready(worker!, start);
	});
	events.on("worker.woken", ({ endpoint, ms }) => wakes.add(ms, endpoint));
	events.on("worker.exited", ({ endpoint, worker: id, code, reason }) => {
		const worker = registry.get({ endpoint, id });
		if (!worker) return;
		const { ending } = worker;
		const fault = ending ? ending.code : (reason?.code ?? (code === 0 ? undefined : "crashed"));
		exits.add(1, endpoint, fault ?? (ending ? "stopped" : "exited"));
		over(worker, ending && !fault ? "stopped" : "failed");
	});
	return { outcomes, exits, total, phases, wakes };
}
