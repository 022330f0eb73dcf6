/**
 * What happens to a worker: the only file that changes the members of `WorkerLife`, except `idleSince`, which the end
 * of a job sets too (`worker-registry.ts`). `core/workers/worker-states.ts` says which event may happen in which state;
 * an event that may not happen changes nothing.
 */
import type { KnownEnding } from "../../core/workers/ended-worker.ts";
import type { WorkerReason, WorkerReasonCode } from "../../core/workers/worker-reason.ts";
import {
	nextWorkerState,
	workerEffects,
	type WorkerEvent,
	type WorkerState,
} from "../../core/workers/worker-states.ts";
import type { EpochMs } from "../../lib/time.ts";

/** What the platform of a worker says until it runs, or that it is warming up. */
export type WorkerNotice = WorkerReason & { state: "waiting" | "ending" | "warming" };

/** The members of a worker that change with its state. `ready`, `draining` and `sleep` follow from it. */
export interface WorkerLife {
	readonly state: WorkerState;
	/** It has called, and its warm-up is over. */
	readonly ready: boolean;
	readonly readyAt?: EpochMs;
	/** It gets no more jobs (D28). */
	readonly draining: boolean;
	/** Absent: awake. It gets no jobs in any of these states, and only `asleep` are its GPUs free for others (D28). */
	readonly sleep?: { readonly state: "falling_asleep" | "asleep" | "waking"; readonly since: EpochMs };
	/** While it is `retiring`: why it is stopped once it holds no job, and the code if a fault is the reason. */
	readonly retiring?: string | undefined;
	readonly retiringCode?: WorkerReasonCode | undefined;
	/** While it is `stopping`: the only reason is that its endpoint has more workers than it needs. */
	readonly isSurplus?: boolean | undefined;
	/** What is recorded of its end, where the service caused it. */
	readonly ending?: KnownEnding | undefined;
	/** A stop failed, because its platform did not respond. */
	readonly unstopped?: { readonly why: string; readonly at: EpochMs } | undefined;
	readonly notice?: WorkerNotice | undefined;
	/** Warm-up input, as JSON text, until its warm-up is over (D28). */
	readonly warmup?: { readonly input: string; readonly sent: boolean } | undefined;
	/** `initTimeoutMs` counts from here: its creation, or the end of its wait. */
	readonly startingSince: EpochMs;
	/** When others began to make room for it. The time in which they did ends at `startingSince`. */
	readonly roomSince?: EpochMs | undefined;
	idleSince: EpochMs;
	readonly seenAt: EpochMs;
	/** Each ends an open poll with 204. */
	readonly polls: Iterable<() => void>;
}

type Writable = { -readonly [Name in keyof WorkerLife]: WorkerLife[Name] };

const writable = (worker: WorkerLife): Writable => worker as Writable;

/** Returns the members of a worker that has just been launched, or has just called. */
export function begun({ ready, now }: { ready: boolean; now: EpochMs }) {
	const state: WorkerState = { stage: ready ? "ready" : "starting", course: "staying" };
	return { state, ready, draining: false, startingSince: now, ...(ready && { readyAt: now }) };
}

/** Applies the event if it may happen, and returns whether it did. `now`: needed by events with `ready` or `since`. */
function advance(worker: WorkerLife, on: WorkerEvent, now?: EpochMs): boolean {
	const from = worker.state;
	const to = nextWorkerState(from, on);
	if (!to) return false;
	const own = writable(worker);
	const { stage, course } = (own.state = to);
	const effects = workerEffects(on);
	own.ready = stage !== "starting";
	// An ended worker keeps its last value, because a call in flight may still read it.
	if (course !== "ended") own.draining = course !== "staying";
	if (stage === "starting" || stage === "ready") delete own.sleep;
	else if (effects.includes("since")) own.sleep = { state: stage, since: now! };
	if (effects.includes("ready")) own.readyAt = own.idleSince = now!;
	if (course !== "retiring") {
		delete own.retiring;
		delete own.retiringCode;
	}
	if (course !== "stopping") delete own.isSurplus;
	const isRepeated = stage === from.stage && course === from.course;
	if (effects.includes("polls") && !isRepeated) for (const end of worker.polls) end();
	return true;
}

/** Records a call of the worker. Returns whether the call made it ready. */
export function recordCalled(worker: WorkerLife, now: EpochMs): boolean {
	const own = writable(worker);
	own.seenAt = now;
	if (worker.ready) return false;
	if (worker.notice?.state === "waiting") {
		delete own.notice;
		if (worker.warmup) own.startingSince = now;
	}
	return !worker.warmup && advance(worker, "call", now);
}

/** Adds a warm-up, which it must run before it is ready. */
export function setWarmup(worker: WorkerLife, input: string): void {
	writable(worker).warmup = { input, sent: false };
}

export function recordWarmupSent(worker: WorkerLife, { input }: { input: string }): void {
	const own = writable(worker);
	own.warmup = { input, sent: true };
	own.notice = { state: "warming", code: "starting", message: "It runs its warm-up." };
}

/** Ends its warm-up; the next call makes it ready. */
export function completeWarmup(worker: WorkerLife): void {
	const own = writable(worker);
	delete own.warmup;
	if (worker.notice?.state === "warming") delete own.notice;
}

/** Sets what its platform says. `undefined`: the worker runs, and a warm-up that has begun keeps its notice. */
export function setNotice(worker: WorkerLife, notice: WorkerNotice | undefined, now: EpochMs): void {
	const own = writable(worker);
	if (notice) own.notice = notice;
	else if (worker.notice?.state !== "warming") {
		if (worker.notice?.state === "waiting") own.startingSince = now;
		delete own.notice;
	}
}

/** Replaces the message of its notice. */
export function setNoticeMessage(worker: WorkerLife, message: string): void {
	if (worker.notice) writable(worker).notice = { ...worker.notice, message };
}

/** Records that others make room for it from now on, unless they do already. */
export function beginRoom(worker: WorkerLife, now: EpochMs): void {
	writable(worker).roomSince ??= now;
}

export function beginSleep(worker: WorkerLife, now: EpochMs): boolean {
	if (!advance(worker, "begin_sleep", now)) return false;
	writable(worker).roomSince = undefined;
	return true;
}

export const cancelSleep = (worker: WorkerLife): boolean => advance(worker, "stay_awake");

export const completeSleep = (worker: WorkerLife, now: EpochMs): boolean => advance(worker, "complete_sleep", now);

/** Restores that it sleeps, from its stored handle. */
export const restoreSleep = (worker: WorkerLife, since: EpochMs): boolean => advance(worker, "find_asleep", since);

/** `roomSince`: when others began to make room for it. */
export function beginWake(
	worker: WorkerLife,
	{ now, roomSince }: { now: EpochMs; roomSince: EpochMs | undefined },
): boolean {
	if (!advance(worker, "begin_wake", now)) return false;
	writable(worker).roomSince = roomSince;
	return true;
}

/** `began`: when the command that wakes it began. */
export function completeWake(worker: WorkerLife, { now, began }: { now: EpochMs; began: EpochMs }): void {
	if (!advance(worker, "complete_wake", now)) return;
	const own = writable(worker);
	own.startingSince = began;
	own.seenAt = now;
}

/** Has it stopped once it holds no job. Returns false if it leaves already, for a reason that cannot be withdrawn. */
export function markRetiring(worker: WorkerLife, why: string, code?: WorkerReasonCode): boolean {
	if (!advance(worker, "retire")) return false;
	Object.assign(writable(worker), { retiring: why, retiringCode: code });
	return true;
}

/** Withdraws {@link markRetiring}, unless its platform will end it. */
export function withdrawRetiring(worker: WorkerLife): boolean {
	return worker.notice?.state !== "ending" && advance(worker, "withdraw_retire");
}

/** Gives it no more jobs for good, whether or not its platform is asked to end it later. */
export function closeWorker(worker: WorkerLife, ending?: KnownEnding): void {
	if (advance(worker, "close") && ending) writable(worker).ending = ending;
}

/** Records that its platform is asked to end it, with the first reason. */
export function markStopping(
	worker: WorkerLife,
	{ isSurplus, ending }: { isSurplus: boolean; ending?: KnownEnding },
): void {
	const wasSurplus = worker.state.course !== "stopping" || worker.isSurplus === true;
	if (!advance(worker, "stop")) return;
	const own = writable(worker);
	own.isSurplus = isSurplus && wasSurplus;
	if (ending) own.ending ??= ending;
}

/** Records that its platform did not respond to its stop. */
export function noteUnstopped(worker: WorkerLife, q: { why: string; at: EpochMs }): void {
	writable(worker).unstopped = q;
}

/** Forgets {@link noteUnstopped}, since it is stopped again. */
export function clearUnstopped(worker: WorkerLife): void {
	writable(worker).unstopped = undefined;
}

/** Withdraws its stop: it still runs, and may be the only worker that can take the next jobs. */
export function withdrawStop(worker: WorkerLife): void {
	if (!advance(worker, "withdraw_stop")) return;
	const own = writable(worker);
	delete own.ending;
	if (worker.notice?.state === "ending") delete own.notice;
}

export const endWorker = (worker: WorkerLife): boolean => advance(worker, "end");

export function isStopping({ state }: Pick<WorkerLife, "state">): boolean {
	return state.course === "stopping";
}
