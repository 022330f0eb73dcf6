/**
 * Lets requests in, within the rate and concurrency limits of their endpoint and operation (spec 8,
 * D24). Holds budgets in memory, and only those in use.
 */
import type { Endpoint } from "../../core/endpoint.ts";
import type { EpochMs } from "../../core/time.ts";
import { ApiError } from "../../core/errors.ts";
import { type LimitedOperation, type Limits, limitsOf } from "../../core/limits.ts";
import { rateWindow, type RateWindow, WINDOW_MS } from "../../core/rate-window.ts";

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
 * Counts a request and says whether it may go on; undefined when nothing is limited. Later, where
 * servers count together. Never rejects.
 */
export type Admit = (q: AdmissionRequest) => Admission | undefined | Promise<Admission>;

interface Budget {
	window: RateWindow;
	running: number;
}

/** Admission on one server. `now`: ms since the epoch. */
export function admission(now: () => EpochMs): {
	admit: (q: AdmissionRequest) => Admission | undefined;
	/** Budgets in memory. */
	readonly size: number;
} {
	const budgets = new Map<string, Budget>();
	let sweptAt = -Infinity;

	/** Budgets of endpoints that are removed or idle are dropped, at most once in 10 s. */
	function sweep(at: number): void {
		if (Math.abs(at - sweptAt) < WINDOW_MS) return;
		sweptAt = at;
		for (const [key, { window, running }] of budgets) if (running === 0 && window.used(at) === 0) budgets.delete(key);
	}

	function budgetOf(key: string): Budget {
		let budget = budgets.get(key);
		if (!budget) budgets.set(key, (budget = { window: rateWindow(), running: 0 }));
		return budget;
	}

	function admit(q: AdmissionRequest): Admission | undefined {
		const limits = limitsOf(q.endpoint, q.operation);
		const { per10s } = limits;
		if (per10s === undefined && limits.concurrent === undefined) return undefined;
		const at = now();
		sweep(at);
		const budget = budgetOf(`${q.endpoint.id}/${q.operation}`);
		const refusal = refusalOf(budget, limits, { ...q, at });
		if (!refusal) {
			if (per10s !== undefined) budget.window.add(at);
			budget.running += 1;
		}
		return {
			...(per10s === undefined ? {} : { quota: quotaOf(budget.window, per10s, at) }),
			...(refusal ? { refusal } : { release: () => void (budget.running -= 1) }),
		};
	}

	return {
		admit,
		get size() {
			return budgets.size;
		},
	};
}

function refusalOf(
	{ window, running }: Budget,
	{ per10s, concurrent }: Limits,
	{ at, ...q }: AdmissionRequest & { at: number },
): ApiError | undefined {
	if (per10s !== undefined && window.used(at) >= per10s) return overRate(q, per10s, window.wait(per10s, at));
	if (concurrent !== undefined && running >= concurrent) return overConcurrency(q, concurrent);
	return undefined;
}

function quotaOf(window: RateWindow, limit: number, at: number): Quota {
	const used = window.used(at);
	return quota({ limit, used, resetMs: used === 0 && limit > 0 ? 0 : window.wait(used, at) });
}

/** The 429 for a rate that is used up. `waitMs`: until a request can be let in again. */
export function overRate({ endpoint, operation }: AdmissionRequest, limit: number, waitMs: number): ApiError {
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
export function overConcurrency({ endpoint, operation }: AdmissionRequest, limit: number): ApiError {
	return new ApiError("too_many_at_once", { endpoint: endpoint.id, operation, limit });
}

/** What an answer reports of a rate; `resetMs`: until the oldest request leaves the window. */
export function quota({ limit, used, resetMs }: { limit: number; used: number; resetMs: number }): Quota {
	return { limit, remaining: Math.max(0, limit - used), reset: seconds(resetMs) };
}

function seconds(ms: number): number {
	return Math.ceil(ms / 1000);
}
