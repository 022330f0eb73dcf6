import { type RateWindow, rateWindow } from "../../core/endpoints/rate-window.ts";
import type { Counts, Moments, OwnCounts } from "./reported-counts.ts";

/** What is left of a rate limit after this request. */
export interface Quota {
	/** Requests in any 10 s. */
	limit: number;
	remaining: number;
	/** Whole seconds, rounded up, until the oldest request of the window leaves it; 0 when none is in it. */
	reset: number;
}

/** Returns true when the request has its answer. */
type Waiting = () => boolean;

export class Budget implements OwnCounts {
	readonly #own = rateWindow();
	/** Requests of all servers: the same object while no other one has reported any. */
	all: RateWindow = this.#own;
	/** In flight at this server. */
	running = 0;
	/** In flight at others, and the earliest of their reports. */
	elsewhere: Pick<Counts, "running" | "runningAt"> = { running: 0, runningAt: Infinity };
	waiting: Waiting[] = [];

	count(now: number): void {
		this.#own.add(now);
		if (this.all !== this.#own) this.all.add(now);
	}

	quota(limit: number | undefined, now: number): { quota?: Quota } {
		if (limit === undefined) return {};
		const used = this.all.used(now);
		const resetMs = used === 0 && limit > 0 ? 0 : this.all.wait(used, now);
		return { quota: { limit, remaining: Math.max(0, limit - used), reset: seconds(resetMs) } };
	}

	isIdle(now: number): boolean {
		return this.running + this.waiting.length + this.elsewhere.running === 0 && this.all.used(now) === 0;
	}

	admitted(now: number): Moments {
		return this.#own.moments(now);
	}

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

export function seconds(ms: number): number {
	return Math.ceil(ms / 1000);
}
