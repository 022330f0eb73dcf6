/** The requests of one operation at one endpoint: those of this server, and what others reported. */
import { type RateWindow, rateWindow } from "../../core/rate-window.ts";
import type { Counts, Moments, OwnCounts } from "./reported-counts.ts";

/** What is left of a rate limit once this request has been counted or refused. */
export interface Quota {
	/** Requests in any 10 s. */
	limit: number;
	remaining: number;
	/**
	 * Until the oldest request of the window leaves it and its place is free again, whole seconds,
	 * rounded up; 0 when none is in it. Others leave later: not all is free again then.
	 */
	reset: number;
}

/** Decides again about a request that waits; true when it has its answer. */
type Waiting = () => boolean;

export class Budget implements OwnCounts {
	/** Requests that this server admitted. */
	readonly #own = rateWindow();
	/** Requests that all servers admitted: the same object while no other one has reported any. */
	all: RateWindow = this.#own;
	/** Requests in flight at this server. */
	running = 0;
	/** Requests in flight at others, and the earliest of their reports. */
	elsewhere: Pick<Counts, "running" | "runningAt"> = { running: 0, runningAt: Infinity };
	/** Requests in flight that wait for reports of the others. */
	waiting: Waiting[] = [];

	count(now: number): void {
		this.#own.add(now);
		if (this.all !== this.#own) this.all.add(now);
	}

	/** What an answer reports of the rate. */
	quota(limit: number | undefined, now: number): { quota?: Quota } {
		if (limit === undefined) return {};
		const used = this.all.used(now);
		const resetMs = used === 0 && limit > 0 ? 0 : this.all.wait(used, now);
		return { quota: { limit, remaining: Math.max(0, limit - used), reset: seconds(resetMs) } };
	}

	isIdle(now: number): boolean {
		return this.running + this.waiting.length + this.elsewhere.running === 0 && this.all.used(now) === 0;
	}

	/** Returns when this server admitted the requests of the last 10 s. */
	admitted(now: number): Moments {
		return this.#own.moments(now);
	}

	/** Replaces what others have reported, and decides about those that waited for it. */
	reported(counts: Counts | undefined, now: number): void {
		this.elsewhere = counts ?? { running: 0, runningAt: Infinity };
		this.all = this.#own;
		if (counts && counts.admitted.length > 0) {
			this.all = rateWindow();
			const moments = [...this.#own.moments(now), ...counts.admitted].toSorted(([a], [b]) => a - b);
			for (const [at, requests] of moments) this.all.add(at, requests);
		}
		const waiting = this.waiting;
		this.waiting = [];
		for (const decide of waiting) if (!decide()) this.waiting.push(decide);
	}
}

/** Returns whole seconds, rounded up. */
export function seconds(ms: number): number {
	return Math.ceil(ms / 1000);
}
