/** Callers that wait for the end of a job (`/runsync`, `/status-sync`) or news of it (`/stream`). */
import type { Clock } from "../../system/clock.ts";
import { RotatingMap } from "../../lib/rotating-map.ts";
import type { JobResult } from "../../core/jobs/job-view.ts";

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

interface WaitRequest {
	endpoint: string;
	id: string;
	ms: number;
	caller: Caller;
	/** The wait begins before the job is stored, see {@link CompletionWait.stored}. */
	early?: boolean;
}

interface Waiter {
	readonly endpoint: string;
	readonly id: string;
	readonly until: number;
	isStored: boolean;
	leave(): void;
	jobEnded(result: JobResult): void;
	notify?(part?: LivePart): void;
}

/** A wait for the end of a job or for news of it. `expired`: its result if the time passes without one. */
export abstract class CompletionWait<T> implements Waiter {
	readonly endpoint: string;
	readonly id: string;
	readonly until: number;
	isStored: boolean;
	readonly result: Promise<T>;
	private resolve!: (value: T) => void;
	private isOver = false;
	private readonly caller: Caller;
	private readonly waiters: CompletionWaiters;
	protected abstract readonly expired: T;

	constructor(waiters: CompletionWaiters, { endpoint, id, ms, caller, early }: WaitRequest) {
		this.endpoint = endpoint;
		this.id = id;
		this.until = waiters.clock.now() + ms;
		this.isStored = early !== true;
		this.caller = caller;
		this.waiters = waiters;
		this.result = new Promise((resolve) => {
			this.resolve = resolve;
		});
	}

	readonly leave = (): void => this.finish(this.expired);

	abstract jobEnded(result: JobResult): void;

	stored(): void {
		this.isStored = true;
	}

	protected finish(value: T): void {
		if (this.isOver) return;
		this.isOver = true;
		this.waiters.remove(this);
		if (this.caller.onDisconnect === this.leave) this.caller.onDisconnect = undefined;
		this.resolve(value);
	}
}

class EndWait extends CompletionWait<JobResult | undefined> {
	protected readonly expired = undefined;

	jobEnded(result: JobResult): void {
		this.finish(result);
	}
}

class NewsWait extends CompletionWait<boolean> {
	protected readonly expired = false;

	jobEnded(): void {
		this.finish(true);
	}

	notify(): void {
		this.finish(true);
	}
}

/**
 * All waits of this server, in memory. A caller whose wait ends without a result reads the store. One timer serves all
 * waits.
 */
export class CompletionWaiters {
	readonly clock: Clock;
	private readonly byJob = new RotatingMap<string, Waiter | Set<Waiter>>();
	private isCancelled = false;
	private timer: { until: number; cut: AbortController } | undefined;

	constructor(clock: Clock) {
		this.clock = clock;
	}

	/**
	 * Waits for the end of a job. Undefined when the time is over, the caller has disconnected, or all waits are
	 * cancelled.
	 */
	forEnd(q: WaitRequest): CompletionWait<JobResult | undefined> {
		return this.begin(new EndWait(this, q), q);
	}

	forNews(q: WaitRequest): CompletionWait<boolean> {
		return this.begin(new NewsWait(this, q), q);
	}

	/**
	 * Calls `onNews` at each news of a job, with the chunks if the news are chunks. Call the returned function to end it.
	 */
	watch(job: { endpoint: string; id: string }, onNews: (part?: LivePart) => void): () => void {
		const changed = (): void => onNews();
		const waiter = { ...job, until: Infinity, isStored: true, leave: changed, jobEnded: changed, notify: onNews };
		this.add(waiter);
		return () => this.remove(waiter);
	}

	jobEnded(result: JobResult): number {
		const waiting = this.of(result.job.id);
		for (const waiter of waiting) waiter.jobEnded(result);
		return waiting.filter(({ notify }) => notify === undefined).length;
	}

	/** Reports news of a job: a chunk, a return to the queue, or a stream that became free. */
	notify(id: string, part?: LivePart): void {
		for (const waiter of this.of(id)) waiter.notify?.(part);
	}

	/** Lets all callers that wait for news read the store again, because signals may have been lost. */
	notifyAll(): void {
		for (const waiter of this.all()) waiter.notify?.();
	}

	isAwaited(id: string): boolean {
		return this.of(id).some(({ notify }) => notify === undefined);
	}

	awaitedAt(endpoint: string): string[] {
		const waiting = this.all().filter((waiter) => waiter.isStored && waiter.endpoint === endpoint);
		return [...new Set(waiting.map(({ id }) => id))];
	}

	awaitedJobs(): { endpoint: string; id: string }[] {
		const waiting = this.all().filter(({ isStored, notify }) => isStored && notify === undefined);
		return [...new Map(waiting.map(({ endpoint, id }) => [id, { endpoint, id }])).values()];
	}

	jobRemoved(id: string): void {
		for (const waiter of this.of(id))
			if (waiter.notify) waiter.notify();
			else waiter.leave();
	}

	/** Ends all waits, also those that begin later (D34). */
	cancelAll(): void {
		this.isCancelled = true;
		for (const waiter of this.all()) waiter.leave();
		this.timer?.cut.abort();
		this.timer = undefined;
	}

	remove(waiter: Waiter): void {
		const waiting = this.byJob.get(waiter.id);
		if (waiting === waiter) this.byJob.delete(waiter.id);
		else if (waiting instanceof Set && waiting.delete(waiter) && waiting.size === 0) this.byJob.delete(waiter.id);
	}

	private begin<T>(wait: CompletionWait<T>, { ms, caller }: WaitRequest): CompletionWait<T> {
		if (this.isCancelled || caller.disconnected || ms <= 0) wait.leave();
		else {
			this.add(wait);
			caller.onDisconnect = wait.leave;
		}
		return wait;
	}

	private add(waiter: Waiter): void {
		const waiting = this.byJob.get(waiter.id);
		if (waiting === undefined) this.byJob.set(waiter.id, waiter);
		else if (waiting instanceof Set) waiting.add(waiter);
		else this.byJob.set(waiter.id, new Set([waiting, waiter]));
		this.arm(waiter.until);
	}

	private of(id: string): Waiter[] {
		const waiting = this.byJob.get(id);
		return waiting === undefined ? [] : waiting instanceof Set ? [...waiting] : [waiting];
	}

	private all(): Waiter[] {
		return [...this.byJob.keys()].flatMap((id) => this.of(id));
	}

	private arm(until: number): void {
		if (until === Infinity || (this.timer && this.timer.until <= until)) return;
		this.timer?.cut.abort();
		const timer = { until, cut: new AbortController() };
		this.timer = timer;
		void this.clock.sleep(until - this.clock.now(), timer.cut.signal).then(() => {
			if (this.timer !== timer) return;
			this.timer = undefined;
			const now = this.clock.now();
			let next = Infinity;
			for (const waiter of this.all())
				if (waiter.until <= now) waiter.leave();
				else next = Math.min(next, waiter.until);
			this.arm(next);
		});
	}
}
