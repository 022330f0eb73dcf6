/**
 * Callers that wait for something to happen to a job: for its end (`/runsync`, `/status-sync`), or
 * for any news of it (`/stream`).
 */
import type { Clock } from "../../clock.ts";
import { RotatingMap, RotatingSet } from "../../core/rotating-map.ts";
import type { JobResult } from "../../core/job-view.ts";

/** A client connection. `onDisconnect` is called once if it closes before its answer. */
export interface Caller {
	disconnected: boolean;
	onDisconnect?: (() => void) | undefined;
}

/** A wait under way. `leave` ends it early, with `undefined` or false. */
export interface CompletionWait<T> {
	result: Promise<T>;
	leave(): void;
	/** The job is stored: from now on it tells something when it is not there. */
	stored(): void;
}

interface Question {
	endpoint: string;
	id: string;
	/** Longest wait, ms. */
	ms: number;
	caller: Caller;
	/**
	 * The wait begins before the job is stored: until {@link CompletionWait.stored} nobody asks for it in the
	 * store.
	 */
	early?: boolean;
}

/**
 * Waiting by job id. Nothing is stored: a caller that gets no word reads the store when its time is
 * up.
 */
export interface CompletionWaiters {
	/**
	 * The final result, or undefined when the time is over, the caller left or everyone was sent
	 * home.
	 */
	forEnd(q: Question): CompletionWait<JobResult | undefined>;
	/** True at the next news of the job, false after the time or when the caller left. */
	forNews(q: Question): CompletionWait<boolean>;
	/** A job ended: its waiters get the result. */
	ended(result: JobResult): void;
	/** Something else happened: a chunk, a return to the queue, a free stream. */
	news(id: string): void;
	/** Whether anybody waits for the end of this job. */
	awaited(id: string): boolean;
	/** Ids of the stored jobs of this endpoint that somebody waits on. */
	awaitedAt(endpoint: string): string[];
	/** The stored jobs whose end somebody waits for. */
	awaitedJobs(): { endpoint: string; id: string }[];
	/** Whoever waits for any news looks again: hints may have been missed. */
	newsForAll(): void;
	/** The job is no more: whoever waits on it looks again. */
	gone(id: string): void;
	/** From now on no wait lasts; those under way end (D34). */
	sendHome(): void;
}

interface Waiter {
	endpoint: string;
	id: string;
	until: number;
	stored: boolean;
	/** Ends the wait without word. */
	lapse(): void;
	ended(result: JobResult): void;
	/** Only those who wait for any news. */
	news?: () => void;
}

/** Waiting on one clock, with one timer for all: it is set for the earliest end. */
export function completionWaiters(clock: Clock): CompletionWaiters {
	const byJob = new RotatingMap<string, Waiter | Set<Waiter>>();
	const all = new RotatingSet<Waiter>();
	let home = false;
	let timer: { until: number; cut: AbortController } | undefined;

	function arm(until: number): void {
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
				if (waiter.until <= now) waiter.lapse();
				else next = Math.min(next, waiter.until);
			}
			if (next < Infinity) arm(next);
		});
	}

	function add(waiter: Waiter): void {
		all.add(waiter);
		const there = byJob.get(waiter.id);
		if (there === undefined) byJob.set(waiter.id, waiter);
		else if (there instanceof Set) there.add(waiter);
		else byJob.set(waiter.id, new Set([there, waiter]));
		arm(waiter.until);
	}

	function remove(waiter: Waiter): boolean {
		if (!all.delete(waiter)) return false;
		const there = byJob.get(waiter.id);
		if (there === waiter) byJob.delete(waiter.id);
		else if (there instanceof Set && there.delete(waiter) && there.size === 0)
			byJob.delete(waiter.id);
		return true;
	}

	function of(id: string): Waiter[] {
		const there = byJob.get(id);
		return there === undefined ? [] : there instanceof Set ? [...there] : [there];
	}

	function start<T>(
		q: Question,
		lapsed: T,
		make: (finish: (value: T) => void) => Pick<Waiter, "ended" | "news">,
	): CompletionWait<T> {
		if (home || q.caller.disconnected || q.ms <= 0)
			return { result: Promise.resolve(lapsed), leave: () => {}, stored: () => {} };
		let leave = (): void => {};
		let stored = (): void => {};
		const result = new Promise<T>((resolve) => {
			const finish = (value: T): void => {
				if (!remove(waiter)) return;
				if (q.caller.onDisconnect === leave) q.caller.onDisconnect = undefined;
				resolve(value);
			};
			leave = () => finish(lapsed);
			const waiter: Waiter = {
				endpoint: q.endpoint,
				id: q.id,
				until: clock.now() + q.ms,
				stored: q.early !== true,
				lapse: leave,
				...make(finish),
			};
			stored = () => (waiter.stored = true);
			add(waiter);
		});
		q.caller.onDisconnect = leave;
		return { result, leave, stored };
	}

	return {
		forEnd: (q) => start<JobResult | undefined>(q, undefined, (finish) => ({ ended: finish })),
		forNews: (q) =>
			start<boolean>(q, false, (finish) => ({
				news: () => finish(true),
				ended: () => finish(true),
			})),
		ended(result) {
			for (const waiter of of(result.job.id)) waiter.ended(result);
		},
		news(id) {
			for (const waiter of of(id)) waiter.news?.();
		},
		awaitedAt: (endpoint) => [
			...new Set(
				[...all]
					.filter((waiter) => waiter.stored && waiter.endpoint === endpoint)
					.map(({ id }) => id),
			),
		],
		awaitedJobs: () => [
			...new Map(
				[...all]
					.filter((waiter) => waiter.stored && waiter.news === undefined)
					.map(({ endpoint, id }) => [id, { endpoint, id }]),
			).values(),
		],
		newsForAll() {
			for (const waiter of [...all]) waiter.news?.();
		},
		gone(id) {
			for (const waiter of of(id)) (waiter.news ?? waiter.lapse)();
		},
		awaited: (id) => of(id).some((waiter) => waiter.news === undefined),
		sendHome() {
			home = true;
			for (const waiter of [...all]) waiter.lapse();
			timer?.cut.abort();
			timer = undefined;
		},
	};
}
