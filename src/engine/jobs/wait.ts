/** Callers that wait for the end of a job (`/runsync`, `/status-sync`) or news of it (`/stream`). */
import type { Clock } from "../../clock.ts";
import { RotatingMap, RotatingSet } from "../../core/rotating-map.ts";
import type { JobResult } from "../../core/job-view.ts";

/** The client of a connection. */
export interface Caller {
	disconnected: boolean;
	/** Called once when the connection closes before its response. */
	onDisconnect?: (() => void) | undefined;
}

/** Chunks `from`, `from` + 1, ... of a running attempt. */
export interface LivePart {
	from: number;
	chunks: readonly string[];
	attempt: number;
}

export interface CompletionWait<T> {
	result: Promise<T>;
	/** Ends the wait early, with undefined or false. */
	leave(): void;
	/** The job is stored: from now on the wait includes reading it from the store. */
	stored(): void;
}

interface WaitRequest {
	endpoint: string;
	id: string;
	/** Maximum wait, ms. */
	ms: number;
	caller: Caller;
	/** The wait begins before the job is stored, see {@link CompletionWait.stored}. */
	early?: boolean;
}

/** In memory: a caller that gets no result reads the store when its time is over. */
export interface CompletionWaiters {
	/** The result; undefined when the time is over, the caller has left, or all waits are cancelled. */
	forEnd(q: WaitRequest): CompletionWait<JobResult | undefined>;
	/** True at the next news of the job, false when the wait ends without. */
	forNews(q: WaitRequest): CompletionWait<boolean>;
	/**
	 * Calls `onNews` at each news of the job, with the chunks where those are the news. Ends with the
	 * returned function.
	 */
	watch(q: { endpoint: string; id: string }, onNews: (part?: LivePart) => void): () => void;
	/** A job ended: its waiters get the result. Returns how many. */
	jobEnded(result: JobResult): number;
	/** News of a job: a chunk, a return to the queue, a stream that became free. */
	notify(id: string, part?: LivePart): void;
	/** Whether any caller waits for the end of this job. */
	isAwaited(id: string): boolean;
	/** Ids of the stored jobs of this endpoint that callers wait for. */
	awaitedAt(endpoint: string): string[];
	/** The stored jobs whose end callers wait for. */
	awaitedJobs(): { endpoint: string; id: string }[];
	/** Hints may have been lost: callers that wait for news read the store again. */
	notifyAll(): void;
	/** The job does not exist any more: callers that wait for it read the store again. */
	jobRemoved(id: string): void;
	/** Ends all waits, also those that begin later (D34). */
	cancelAll(): void;
}

interface Waiter {
	endpoint: string;
	id: string;
	until: number;
	stored: boolean;
	/** Ends the wait without a result. */
	expire(): void;
	jobEnded(result: JobResult): void;
	/** Only of waits for news. */
	notify?: (part?: LivePart) => void;
}

/** One timer serves all waits: it is set for the earliest end. */
export function completionWaiters(clock: Clock): CompletionWaiters {
	const byJob = new RotatingMap<string, Waiter | Set<Waiter>>();
	const all = new RotatingSet<Waiter>();
	let cancelled = false;
	let timer: { until: number; cut: AbortController } | undefined;

	function arm(until: number): void {
		if (until === Infinity) return;
		if (timer && timer.until <= until) return;
		timer?.cut.abort();
		const mine = { until, cut: new AbortController() };
		timer = mine;
		void clock.sleep(until - clock.now(), mine.cut.signal).then(() => {
			if (timer !== mine) return;
			timer = undefined;
			const now = clock.now();
			let next = Infinity;
			for (const waiter of all) {
				if (waiter.until <= now) waiter.expire();
				else next = Math.min(next, waiter.until);
			}
			if (next < Infinity) arm(next);
		});
	}

	function add(waiter: Waiter): void {
		all.add(waiter);
		const waiting = byJob.get(waiter.id);
		if (waiting === undefined) byJob.set(waiter.id, waiter);
		else if (waiting instanceof Set) waiting.add(waiter);
		else byJob.set(waiter.id, new Set([waiting, waiter]));
		arm(waiter.until);
	}

	function remove(waiter: Waiter): boolean {
		if (!all.delete(waiter)) return false;
		const waiting = byJob.get(waiter.id);
		if (waiting === waiter) byJob.delete(waiter.id);
		else if (waiting instanceof Set && waiting.delete(waiter) && waiting.size === 0) byJob.delete(waiter.id);
		return true;
	}

	function of(id: string): Waiter[] {
		const waiting = byJob.get(id);
		return waiting === undefined ? [] : waiting instanceof Set ? [...waiting] : [waiting];
	}

	function start<T>(
		q: WaitRequest,
		expired: T,
		make: (finish: (value: T) => void) => Pick<Waiter, "jobEnded" | "notify">,
	): CompletionWait<T> {
		if (cancelled || q.caller.disconnected || q.ms <= 0)
			return { result: Promise.resolve(expired), leave: () => {}, stored: () => {} };
		let leave = (): void => {};
		let stored = (): void => {};
		const result = new Promise<T>((resolve) => {
			const finish = (value: T): void => {
				if (!remove(waiter)) return;
				if (q.caller.onDisconnect === leave) q.caller.onDisconnect = undefined;
				resolve(value);
			};
			leave = () => finish(expired);
			const waiter: Waiter = {
				endpoint: q.endpoint,
				id: q.id,
				until: clock.now() + q.ms,
				stored: q.early !== true,
				expire: leave,
				...make(finish),
			};
			stored = () => (waiter.stored = true);
			add(waiter);
		});
		q.caller.onDisconnect = leave;
		return { result, leave, stored };
	}

	return {
		forEnd: (q) => start<JobResult | undefined>(q, undefined, (finish) => ({ jobEnded: finish })),
		forNews: (q) =>
			start<boolean>(q, false, (finish) => ({
				notify: () => finish(true),
				jobEnded: () => finish(true),
			})),
		watch({ endpoint, id }, onNews) {
			const changed = (): void => onNews();
			const waiter: Waiter = {
				endpoint,
				id,
				until: Infinity,
				stored: true,
				expire: changed,
				jobEnded: changed,
				notify: onNews,
			};
			add(waiter);
			return () => void remove(waiter);
		},
		jobEnded(result) {
			const waiting = of(result.job.id);
			for (const waiter of waiting) waiter.jobEnded(result);
			return waiting.filter(({ notify }) => notify === undefined).length;
		},
		notify(id, part) {
			for (const waiter of of(id)) waiter.notify?.(part);
		},
		awaitedAt: (endpoint) => [
			...new Set([...all].filter((waiter) => waiter.stored && waiter.endpoint === endpoint).map(({ id }) => id)),
		],
		awaitedJobs: () => [
			...new Map(
				[...all]
					.filter((waiter) => waiter.stored && waiter.notify === undefined)
					.map(({ endpoint, id }) => [id, { endpoint, id }]),
			).values(),
		],
		notifyAll() {
			for (const waiter of [...all]) waiter.notify?.();
		},
		jobRemoved(id) {
			for (const waiter of of(id)) (waiter.notify ?? waiter.expire)();
		},
		isAwaited: (id) => of(id).some((waiter) => waiter.notify === undefined),
		cancelAll() {
			cancelled = true;
			for (const waiter of [...all]) waiter.expire();
			timer?.cut.abort();
			timer = undefined;
		},
	};
}
