/**
 * Lets requests in, within the rate and concurrency limits of their endpoint and operation (spec 8,
 * D24): by what this server counted and what others reported last. Holds budgets in memory, and only
 * those in use.
 */
import type { Endpoint } from "../../core/endpoint.ts";
import type { EpochMs } from "../../core/time.ts";
import { ApiError } from "../../core/errors.ts";
import { type LimitedOperation, limitsOf } from "../../core/limits.ts";
import { Budget, type Quota, seconds } from "./budget.ts";
import { type Counts, reportOf } from "./reported-counts.ts";

/** The answer to a request that is subject to a limit. */
export interface Admission {
	/** Set when the operation has a rate limit here. */
	quota?: Quota;
	/** Why the request may not go on: a 429 whose `Retry-After` holds. */
	refusal?: ApiError;
	/**
	 * Gives back its place among those in flight. To be called once, at its
	 * end.
	 */
	release?: () => void;
}

/** A request that wants to go on. */
export interface AdmissionRequest {
	endpoint: Pick<Endpoint, "id" | "limits">;
	operation: LimitedOperation;
}

/**
 * Counts a request and says whether it may go on; undefined when nothing is limited. Later, when only
 * requests at other servers stand against it. Never rejects.
 */
export type Admit = (q: AdmissionRequest) => Admission | undefined | Promise<Admission>;

/** Between two servers, clocks may differ by this much, ms. */
const SKEW_MS = 50;

/** Admits requests. `now`: ms since the epoch. */
export class Admissions {
	readonly #now: () => EpochMs;
	readonly #budgets = new Map<string, Budget>();
	/** Grows with every change of what {@link report} returns. */
	version = 0;
	/** Called when the next exchange of reports is urgent. */
	onUrgent = (): void => {};

	constructor(now: () => EpochMs) {
		this.#now = now;
	}

	/** Budgets in memory. */
	get size(): number {
		return this.#budgets.size;
	}

	/** Whether a request runs. */
	get isRunning(): boolean {
		return this.#some(({ running }) => running > 0);
	}

	/** Whether a request waits for reports of the others. */
	get isWaiting(): boolean {
		return this.#some(({ waiting }) => waiting.length > 0);
	}

	/** Counts a request and decides about it. */
	readonly admit: Admit = (q) => {
		const { per10s, concurrent } = limitsOf(q.endpoint, q.operation);
		if (per10s === undefined && concurrent === undefined) return undefined;
		const since = this.#now();
		const budget = this.#budgetOf(`${q.endpoint.id}/${q.operation}`);
		return (
			this.#decide(budget, q, since) ??
			new Promise((resolve) => {
				budget.waiting.push(() => {
					const decision = this.#decide(budget, q, since);
					if (decision) resolve(decision);
					return decision !== undefined;
				});
				this.onUrgent();
			})
		);
	};

	/** What this server reports, with its time. */
	report(): { at: EpochMs; counts: string } {
		const at = this.#now();
		return { at, counts: reportOf(this.#budgets, at) };
	}

	/** Replaces what the others have reported, and drops budgets of endpoints that are removed or idle. */
	reported(sums: ReadonlyMap<string, Counts>): void {
		const at = this.#now();
		for (const key of sums.keys()) this.#budgetOf(key);
		for (const [key, budget] of this.#budgets) {
			budget.reported(sums.get(key), at);
			if (budget.isIdle(at)) this.#budgets.delete(key);
		}
	}

	/**
	 * Returns undefined while the limit is reached only by requests at other servers, which may have
	 * ended since their reports: a report made after the request decides.
	 */
	#decide(budget: Budget, q: AdmissionRequest, since: EpochMs): Admission | undefined {
		const { per10s, concurrent = Infinity } = limitsOf(q.endpoint, q.operation);
		const at = this.#now();
		const refused = (refusal: ApiError): Admission => ({ ...budget.quota(per10s, at), refusal });
		if (per10s !== undefined && budget.all.used(at) >= per10s)
			return refused(overRate(q, per10s, budget.all.wait(per10s, at)));
		const { running, elsewhere, waiting } = budget;
		if (running + elsewhere.running >= concurrent) {
			const isHere = running + waiting.length >= concurrent;
			return isHere || elsewhere.runningAt > since + SKEW_MS ? refused(overConcurrency(q, concurrent)) : undefined;
		}
		if (per10s !== undefined) budget.count(at);
		budget.running += 1;
		this.version += 1;
		return { ...budget.quota(per10s, at), release: () => this.#release(budget, concurrent) };
	}

	#release(budget: Budget, concurrent: number): void {
		// Requests at other servers may wait for this.
		if (budget.running + budget.elsewhere.running >= concurrent) this.onUrgent();
		budget.running -= 1;
		this.version += 1;
	}

	#budgetOf(key: string): Budget {
		let budget = this.#budgets.get(key);
		if (!budget) this.#budgets.set(key, (budget = new Budget()));
		return budget;
	}

	#some(fits: (budget: Budget) => boolean): boolean {
		return this.#budgets.values().some(fits);
	}
}

/** The 429 for a rate that is used up. `waitMs`: until a request can be let in again. */
function overRate({ endpoint, operation }: AdmissionRequest, limit: number, waitMs: number): ApiError {
	return new ApiError("rate_limited", {
		endpoint: endpoint.id,
		operation,
		limit,
		retryAfter: seconds(waitMs),
	});
}

/**
 * The 429 for too many at once. The time at which a place is given back is unknown: `Retry-After` is
 * the second of the table.
 */
function overConcurrency({ endpoint, operation }: AdmissionRequest, limit: number): ApiError {
	return new ApiError("too_many_at_once", { endpoint: endpoint.id, operation, limit });
}
