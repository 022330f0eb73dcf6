/**
 * A store of one endpoint in a few maps, moved by the pure core alone: what the real ones are
 * compared with.
 */
import { returnEvent } from "../../src/kernel/core/jobs/job-return.ts";
import { isUndisputed } from "../../src/kernel/core/jobs/attempt-signs.ts";
import type { Attempt, Job } from "../../src/kernel/core/jobs/job.ts";
import { deliveryOf } from "../../src/kernel/core/webhooks.ts";
import {
	type Counts,
	countsOf,
	dueAt,
	dueEvent,
	type EventContext,
	lossOf,
	resumedBy,
	transition,
} from "../../src/kernel/core/jobs/job-transitions.ts";
import { allowed, isFinal, type JobEvent, type JobState } from "../../src/kernel/core/jobs/job-states.ts";
import type { Idempotency } from "../../src/kernel/store/contract/jobs.ts";
import { T0 } from "./site.ts";

export type Model = ReturnType<typeof modelOf>;

/** Why workers return jobs. */
export const REASON = "the server does not answer";

export function modelOf() {
	const jobs = new Map<string, Job>();
	const histories = new Map<string, Attempt[]>();
	/** Place of each job in the queue, smallest first; kept while it runs. */
	const ranks = new Map<string, number>();
	const ends = { front: 0, back: 0 };
	/** All ids there ever were: those of purged jobs are asked for as well. */
	const ids: string[] = [];
	/** Ids of all webhook deliveries. */
	const deliveries: string[] = [];
	const keys = new Map<string, { bodyHash: string; id: string; expiresAt: number }>();
	const totals: Counts = { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };
	let now = T0;

	function apply(id: string, on: JobEvent, context: EventContext): boolean {
		const job = jobs.get(id);
		const moved = job && transition(job, on, context);
		if (!moved) return false;
		const change = countsOf(on, moved.from, moved.job.state);
		for (const key of Object.keys(totals) as (keyof Counts)[]) totals[key] += change[key];
		if (moved.place === "front") ranks.set(id, (ends.front -= 1));
		if (moved.place === "back") ranks.set(id, (ends.back += 1));
		const delivery = moved.ended ? deliveryOf({ job: moved.job }) : undefined;
		if (delivery) deliveries.push(delivery.id);
		if (moved.closed) histories.get(id)?.push(moved.closed);
		if (moved.remove) {
			jobs.delete(id);
			histories.delete(id);
		} else jobs.set(id, moved.job);
		return true;
	}

	const rankOf = (id: string): number => ranks.get(id) ?? 0;

	/** Takes jobs back, the last of the queue first, so that the first stands in front. */
	function takeBack(ids: readonly string[], context: EventContext): void {
		for (const id of ids.toSorted((a, b) => rankOf(b) - rankOf(a))) {
			const job = jobs.get(id);
			if (job) apply(id, lossOf(job), { ...context, now: Math.min(context.now, job.dueAt) });
			// Since its lease ended it may have waited out its ttl.
			for (
				let due = jobs.has(id) ? dueEvent(jobs.get(id)!, context.now) : undefined;
				due;
				due = jobs.has(id) ? dueEvent(jobs.get(id)!, context.now) : undefined
			) {
				if (!apply(id, due.on, { now: due.at })) break;
			}
		}
	}

	/** Those failed by their last loss do not wait again. */
	function split(ids: readonly string[], over: readonly string[]): { lost: string[]; over: string[] } {
		const waits = (id: string): boolean => jobs.get(id)?.state === "IN_QUEUE";
		return { lost: ids.filter(waits), over: [...over, ...ids.filter((id) => !waits(id))] };
	}

	const openAt = (id: string, worker: string): Attempt[] =>
		(histories.get(id) ?? []).filter((past) => past.open && past.worker === worker);

	return {
		jobs,
		deliveries,
		get now() {
			return now;
		},
		history: (id: string): Attempt[] => histories.get(id) ?? [],
		attemptOf: (id: string): number => jobs.get(id)?.attempt ?? 0,
		pick: (n: number): string | undefined => ids[n % Math.max(1, ids.length)],

		insert(job: Job): void {
			ids.push(job.id);
			jobs.set(job.id, job);
			histories.set(job.id, []);
			ranks.set(job.id, (ends.back += 1));
		},

		/**
		 * What is returned for a submission under a key; undefined when it makes a job, which then has to be
		 * inserted.
		 */
		submit({ key, bodyHash, keptMs }: Idempotency, id: string): object | undefined {
			const known = keys.get(key);
			if (known && known.expiresAt > now) {
				if (known.bodyHash !== bodyHash) return { ok: false, why: "key_reused" };
				const job = jobs.get(known.id);
				if (job && !job.erased) return { ok: true, job, repeated: true };
				return { ok: false, why: "key_expired", state: job?.state };
			}
			keys.set(key, { bodyHash, id, expiresAt: now + keptMs });
			return undefined;
		},

		purge(): number {
			const waiting = [...jobs.values()].filter((job) => job.state === "IN_QUEUE");
			for (const { id } of waiting) {
				jobs.delete(id);
				histories.delete(id);
			}
			return waiting.length;
		},

		/** The job as it is shown, the last time when its retention has passed. */
		retain(id: string, retainMs: number): Job | undefined {
			const job = jobs.get(id);
			if (!job || job.erased || retainMs >= job.retainMs) return job?.erased ? undefined : job;
			const after = { ...job, retainMs };
			after.dueAt = dueAt(after);
			jobs.set(id, after);
			for (
				let due = dueEvent(after, now);
				due && isFinal(after.state);
				due = jobs.has(id) ? dueEvent(jobs.get(id)!, now) : undefined
			) {
				if (!apply(id, due.on, { now: due.at })) break;
			}
			return after;
		},

		cancelAll(): number {
			const live = [...jobs.values()].filter((job) => !isFinal(job.state));
			for (const { id } of live) apply(id, "cancel", { now });
			return live.length;
		},

		/** Ids of a list, the last submitted first. */
		list({
			states,
			worker,
			erased,
		}: {
			states?: readonly JobState[] | undefined;
			worker?: string | undefined;
			erased: boolean;
		}): string[] {
			const fit = [...jobs.values()].filter(
				(job) =>
					(erased || !job.erased) &&
					(!states || states.includes(job.state)) &&
					(worker === undefined || job.worker === worker),
			);
			return fit.map(({ id }) => id).toReversed();
		},

		claim(worker: string, limit: number): { ids: string[]; fenced: boolean } {
			const ids: string[] = [];
			let fenced = false;
			const waiting = [...jobs.values()].filter((job) => job.state === "IN_QUEUE");
			for (const { id } of waiting.toSorted(
				(a, b) => Number(a.lowPriority) - Number(b.lowPriority) || rankOf(a.id) - rankOf(b.id),
			)) {
				if (ids.length === limit) break;
				if (openAt(id, worker).length > 0) fenced = true;
				else ids.push(id);
			}
			for (const id of ids) apply(id, "claim", { now, worker });
			return { ids, fenced };
		},

		report(id: string, worker: string, on: "complete" | "fail" | "return" | "lose"): string {
			const job = jobs.get(id);
			if (!job || job.erased) return "missing";
			const isEnd = on === "complete" || on === "fail";
			if (job.state === "IN_PROGRESS" && job.worker === worker) {
				if (isEnd) return apply(id, on, { now }) ? "ok" : "state";
				const event = returnEvent(job, { history: this.history(id), asLoss: on === "lose", now });
				const context = { now, over: true, returned: true, workerEnd: REASON, keepsDeadline: event === "release" };
				return apply(id, event, context) ? "ok" : "state";
			}
			const resumed =
				isEnd && job.state === "IN_QUEUE" && resumedBy({ job, nextChunk: 0 }, this.history(id), { worker, now });
			if (resumed) {
				for (const past of openAt(id, worker)) past.open = false;
				return apply(id, "resume", resumed) && apply(id, on, { now }) ? "ok" : "state";
			}
			if (job.worker !== worker && !histories.get(id)?.some((past) => past.worker === worker)) return "missing";
			for (const past of openAt(id, worker)) past.open = false;
			return "stale";
		},

		move(
			id: string,
			on: "cancel" | "release" | "lose" | "retry",
			{ over, queueBound }: { over: boolean; queueBound: number },
		): string {
			const job = jobs.get(id);
			if (!job || job.erased) return "missing";
			if (on === "retry" && allowed(job.state, on) && this.counts().inQueue > queueBound) return "full";
			return apply(id, on === "lose" ? lossOf(job) : on, { now, over }) ? "ok" : "state";
		},

		idle(worker: string, dead: boolean): { lost: string[]; over: string[] } {
			const lost: string[] = [];
			const over: string[] = [];
			for (const [id, job] of jobs) {
				for (const past of openAt(id, worker)) {
					if (past.startedAt >= now) continue;
					past.open = false;
					if (dead) past.killed = true;
					over.push(id);
				}
				if (job.state !== "IN_PROGRESS" || job.worker !== worker || (job.startedAt ?? now) >= now) continue;
				if (dead) lost.push(id);
				else if (isUndisputed(job)) jobs.set(id, { ...job, deniedAt: now });
			}
			takeBack(lost, { now, over: true });
			return split(lost, over);
		},

		/** Time goes on, and what has passed is settled: losses last, as a group. */
		pass(ms: number): void {
			now += ms;
			const lost: string[] = [];
			for (const id of jobs.keys()) {
				for (let job = jobs.get(id); job; job = jobs.get(id)) {
					const due = dueEvent(job, now);
					if (due?.on === "lose") lost.push(id);
					if (!due || due.on === "lose" || !apply(id, due.on, { now: due.at })) break;
				}
			}
			takeBack(lost, { now });
		},

		counts(): Counts {
			const all = [...jobs.values()];
			const inState = (state: string): number => all.filter((job) => job.state === state).length;
			return { ...totals, inQueue: inState("IN_QUEUE"), inProgress: inState("IN_PROGRESS") };
		},

		waiting: (): number => [...jobs.values()].filter((job) => job.state === "IN_QUEUE" && !job.lowPriority).length,
	};
}
