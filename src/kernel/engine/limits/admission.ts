/** Admits or refuses requests by what this server has counted and others have reported last (spec 8, D24). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { EpochMs } from "../../lib/time.ts";
import { ApiError } from "../../core/errors.ts";
import { type LimitedOperation, limitsOf } from "../../core/endpoints/limits.ts";
import { Budget, type Quota, seconds } from "./budget.ts";
import { type Counts, reportOf } from "./reported-counts.ts";

export interface Admission {
	quota?: Quota;
	/**
	 * A 429. `Retry-After` of a rate limit is computed: a caller that waits for it is admitted, unless others come first.
	 * That of a concurrency limit is a guess.
	 */
	refusal?: ApiError;
	/** Must be called once, when the request has ended. */
	release?: () => void;
}

export interface AdmissionRequest {
	endpoint: Pick<Endpoint, "id" | "limits">;
	operation: LimitedOperation;
}

/** Undefined when nothing is limited. Waits while only requests at other servers exceed the limit. Never rejects. */
export type Admit = (q: AdmissionRequest) => Admission | undefined | Promise<Admission>;

/** Clocks of two servers may differ by this much. */
const SKEW_MS = 50;

export class Admissions {
	readonly #now: () => EpochMs;
	readonly #budgets = new Map<string, Budget>();
	/** Grows with every change of {@link report}. */
	version = 0;
	/** Called when the next exchange of reports is urgent. */
	onUrgent = (): void => {};

	constructor(now: () => EpochMs) {
		this.#now = now;
	}

	get size(): number {
		return this.#budgets.size;
	}

	get isRunning(): boolean {
		return this.#some(({ running }) => running > 0);
	}

	get isWaiting(): boolean {
		return this.#some(({ waiting }) => waiting.length > 0);
	}

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

	report(): { at: EpochMs; counts: string } {
		const at = this.#now();
		return { at, counts: reportOf(this.#budgets, at) };
	}

	/** Drops budgets of endpoints that are removed or idle. */
	reported(sums: ReadonlyMap<string, Counts>): void {
		const at = this.#now();
		for (const key of sums.keys()) this.#budgetOf(key);
		for (const [key, budget] of this.#budgets) {
			budget.reported(sums.get(key), at);
			if (budget.isIdle(at)) this.#budgets.delete(key);
		}
	}

	/** Undefined while only requests at other servers reach the limit: a report made after the request decides. */
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

function overRate({ endpoint, operation }: AdmissionRequest, limit: number, waitMs: number): ApiError {
	return new ApiError("rate_limited", { endpoint: endpoint.id, operation, limit, retryAfter: seconds(waitMs) });
}

/** `Retry-After` is that of the error table, because it is unknown when a request in flight will end. */
function overConcurrency({ endpoint, operation }: AdmissionRequest, limit: number): ApiError {
	return new ApiError("too_many_at_once", { endpoint: endpoint.id, operation, limit });
}
