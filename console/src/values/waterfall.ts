/** A job as lanes of bars over one time: waits, also for room on a GPU, start of its worker, runs, webhook. */
import type { Delivery, EndedWorker, Worker } from "../client/shapes.ts";
import { type JobTimes, spansOf } from "./spans.ts";

export interface Bar {
	kind: "wait" | "room" | "start" | "run" | "webhook";
	/** Ms since the submission. */
	from: number;
	ms: number;
	/** How it ended. */
	end: string;
}

export interface Lane {
	kind: "attempt" | "waiting" | "webhook";
	/** Number of the attempt. */
	number: number;
	bars: readonly Bar[];
	/** Whether the worker gave the job back to the queue. */
	returned?: boolean;
}

/** The part of a job's time that a webhook delivered later may add to the scale; attempts after it stand at its end. */
const MOST_AFTER = 1;
const LEAST_AFTER_MS = 250;

type Started = Pick<Worker & EndedWorker, "id" | "createdAt" | "readyAt" | "room">;

/** The lanes, and the time that they cover, ms. */
export function lanesOf(
	job: JobTimes,
	{ now, workers, deliveries }: { now: number; workers: readonly Started[]; deliveries: readonly Delivery[] },
): { lanes: readonly Lane[]; whole: number } {
	const began = new Date(job.submittedAt).getTime();
	const lanes: Lane[] = [];
	let waits: Bar[] = [];
	for (const { kind, attempt, from, ms, end } of spansOf(job, now)) {
		if (kind === "wait") {
			waits = [{ kind, from: from - began, ms, end }];
			const worker = workers.find(({ id }) => id === attemptOf(job, attempt)?.workerId);
			for (const part of worker === undefined ? [] : partsOf(worker, { from, to: from + ms }))
				waits = [...waits.slice(0, -1), ...split(waits.at(-1)!, { ...part, from: part.from - began })];
		} else {
			const bars = [...waits, { kind, from: from - began, ms, end }];
			const { returned = false } = attemptOf(job, attempt) ?? {};
			lanes.push({ kind: "attempt", number: attempt, bars, ...(returned && { returned }) });
			waits = [];
		}
	}
	if (waits.length > 0) lanes.push({ kind: "waiting", number: 0, bars: waits });
	const length = Math.max(1, ...lanes.flatMap(({ bars }) => bars.map(({ from, ms }) => from + ms)));
	const tries = deliveries
		.flatMap(({ tries: all }) => all)
		.map(
			({ at, tookMs, status }): Bar => ({
				kind: "webhook",
				from: new Date(at).getTime() - began,
				ms: tookMs,
				end: status !== undefined && status >= 200 && status < 300 ? "delivered" : "failed",
			}),
		)
		.toSorted((a, b) => a.from - b.from);
	if (tries.length > 0) lanes.push({ kind: "webhook", number: tries.length, bars: tries });
	const most = length + Math.max(LEAST_AFTER_MS, length * MOST_AFTER);
	return { lanes, whole: Math.max(length, ...tries.map(({ from, ms }) => from + ms).filter((end) => end <= most)) };
}

function attemptOf({ attempts }: JobTimes, number: number): JobTimes["attempts"][number] | undefined {
	return attempts.find(({ attempt }) => attempt === number);
}

type Part = Pick<Bar, "kind" | "from" | "ms">;

/** When others made room for the worker of an attempt, and when it started, within the wait for it. */
function partsOf({ createdAt, readyAt, room }: Started, wait: { from: number; to: number }): Part[] {
	const at = (text: string): number => Math.min(wait.to, Math.max(wait.from, new Date(text).getTime()));
	const created = new Date(createdAt).getTime();
	if (created < wait.from || created > wait.to) return [];
	const placed = room === undefined ? created : at(room.until);
	const ready = readyAt === undefined ? wait.to : at(readyAt);
	const since = room === undefined ? placed : at(room.since);
	return [
		{ kind: "room" as const, from: since, ms: placed - since },
		{ kind: "start" as const, from: placed, ms: ready - placed },
	].filter(({ ms }) => ms > 0);
}

/** A wait with another time in it. */
function split(wait: Bar, part: Part): Bar[] {
	const after = part.from + part.ms;
	return [
		{ ...wait, ms: part.from - wait.from },
		{ ...part, end: "" },
		{ ...wait, from: after, ms: wait.from + wait.ms - after },
	].filter((bar) => bar.ms > 0);
}
