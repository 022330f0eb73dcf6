/** How starts of workers by this server went: times of their phases, outcomes, and how workers ended (D40). */
import type { EpochMs } from "../../lib/time.ts";
import type { EventBus } from "../../events.ts";
import type { Worker, WorkerRegistry } from "../workers/worker-registry.ts";
import { counts, durations } from "./labelled.ts";

export const START_OUTCOMES = ["ready", "failed", "stopped"] as const;

/** Times of the job clock; `pull`: from the first pull to the end of the last one. */
interface Start {
	launchedAt?: EpochMs;
	waiting?: { pulls: boolean; since: EpochMs };
	pull?: { from: EpochMs; until: EpochMs };
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
		const found = starts.get(worker) ?? {};
		starts.set(worker, found);
		return found;
	}

	function endWait(start: Start, until: EpochMs): void {
		const { waiting, pull } = start;
		delete start.waiting;
		if (waiting?.pulls) start.pull = { from: pull?.from ?? waiting.since, until };
	}

	/** Returns times of its phases, ms. */
	function over(
		worker: Worker,
		start: Start,
		outcome: (typeof START_OUTCOMES)[number],
		fault?: string,
	): [string, number][] {
		starts.delete(worker);
		const { endpoint, createdAt, startingSince, readyAt: endedAt = now() } = worker;
		outcomes.add(1, endpoint, outcome);
		const { launchedAt = endedAt, warmingAt } = start;
		const calledAt = warmingAt ?? endedAt;
		// Its platform reported that it runs, or it called before that, or there are no such reports.
		const placedAt =
			startingSince > createdAt ? startingSince : start.waiting ? calledAt : Math.min(launchedAt, calledAt);
		endWait(start, placedAt);
		const { pull } = start;
		const parts = [
			["placement", createdAt, placedAt],
			...(pull && pull.from < placedAt ? [["image_pull", pull.from, Math.min(pull.until, placedAt)] as const] : []),
			...(outcome === "ready" || placedAt < endedAt ? [["load", placedAt, Math.max(placedAt, calledAt)] as const] : []),
			...(warmingAt === undefined ? [] : [["warm_up", warmingAt, endedAt] as const]),
		] as const;
		const whole = ["start", createdAt, endedAt] as const;
		events.emit("worker.timed", { endpoint, worker: worker.id, outcome, fault, phases: [whole, ...parts] });
		return parts.map(([name, from, until]) => [name, until - from]);
	}

	function ready(worker: Worker, start: Start): void {
		const { endpoint, createdAt, readyAt = now() } = worker;
		const times = new Map(over(worker, start, "ready"));
		times.set("placement", times.get("placement")! - (times.get("image_pull") ?? 0));
		for (const [phase, ms] of times) phases.add(ms, endpoint, phase);
		total.add(readyAt - createdAt, endpoint);
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
	events.on("worker.woken", ({ endpoint, worker, ms }) => {
		wakes.add(ms, endpoint);
		events.emit("worker.timed", { endpoint, worker, outcome: "ready", phases: [["wake", now() - ms, now()]] });
	});
	events.on("worker.exited", ({ endpoint, worker: id, code, reason }) => {
		const worker = registry.get({ endpoint, id });
		if (!worker) return;
		const { ending } = worker;
		const fault = ending ? ending.code : (reason?.code ?? (code === 0 ? undefined : "crashed"));
		exits.add(1, endpoint, fault ?? (ending ? "stopped" : "exited"));
		const start = starts.get(worker);
		// An adopted one that was ready had started before. Others may end before their start is recorded.
		if (worker.managed && (start?.launchedAt !== undefined || !worker.ready))
			over(worker, start ?? {}, ending && !fault ? "stopped" : "failed", fault);
	});
	return { outcomes, exits, total, phases, wakes };
}
