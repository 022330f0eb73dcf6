/** How starts of workers by this server went: times of their phases, outcomes, and how workers ended (D40). */
import type { EpochMs } from "../../lib/time.ts";
import type { WorkerStart } from "../../core/tracing/start-spans.ts";
import type { EventBus } from "../../events.ts";
import type { Worker, WorkerRegistry } from "../workers/worker-registry.ts";
import { counts, durations } from "./labelled.ts";

export const START_OUTCOMES = ["ready", "failed", "stopped"] as const satisfies WorkerStart["outcome"][];

/** Times of the job clock; `pullMs`: of pulls that are over. */
interface Start {
	launchedAt?: EpochMs;
	waiting?: { pulls: boolean; since: EpochMs };
	pullMs: number;
	pull?: { from: EpochMs; until: EpochMs };
	warmingAt?: EpochMs;
}

export function workerStarts({
	events,
	now,
	registry,
	onStart,
}: {
	events: EventBus;
	now: () => EpochMs;
	registry: WorkerRegistry;
	/** A start is over. */
	onStart: (start: WorkerStart) => void;
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

	function endWait(start: Start, until: EpochMs): void {
		const { waiting, pull } = start;
		delete start.waiting;
		if (!waiting?.pulls) return;
		start.pullMs += Math.max(0, until - waiting.since);
		start.pull = { from: pull?.from ?? waiting.since, until };
	}

	function over(worker: Worker, start: Start, outcome: WorkerStart["outcome"], fault?: string): WorkerStart {
		starts.delete(worker);
		outcomes.add(1, worker.endpoint, outcome);
		const { endpoint, createdAt, startingSince, readyAt: endedAt = now() } = worker;
		const { launchedAt = endedAt, warmingAt } = start;
		const calledAt = warmingAt ?? endedAt;
		// Its platform reported that it runs, or it called before that, or there are no such reports.
		const placedAt =
			startingSince > createdAt ? startingSince : start.waiting ? calledAt : Math.min(launchedAt, calledAt);
		endWait(start, placedAt);
		const times = { createdAt, placedAt, pull: start.pull, warmingAt, endedAt };
		const ended = { endpoint, worker: worker.id, outcome, fault, ...times };
		onStart(ended);
		return ended;
	}

	function ready(worker: Worker, start: Start): void {
		const { endpoint, createdAt, placedAt, warmingAt, endedAt } = over(worker, start, "ready");
		const pulls = Math.min(start.pullMs, placedAt - createdAt);
		phases.add(placedAt - createdAt - pulls, endpoint, "placement");
		if (pulls > 0) phases.add(pulls, endpoint, "image_pull");
		phases.add(Math.max(0, (warmingAt ?? endedAt) - placedAt), endpoint, "load");
		if (warmingAt !== undefined) phases.add(endedAt - warmingAt, endpoint, "warm_up");
		total.add(endedAt - createdAt, endpoint);
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
		if (!worker || worker.ready) return;
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
		const start = starts.get(worker);
		if (start) over(worker, start, ending && !fault ? "stopped" : "failed", fault);
	});
	return { outcomes, exits, total, phases, wakes };
}
