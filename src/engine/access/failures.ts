/**
 * Wrong keys, worker tokens and sign-in links (D41): counted by address and in total. Valid ones
 * pass at any time, so that no client can lock out others behind its address or at all; what a wrong
 * one costs is bounded instead.
 */
import { ApiError } from "../../core/errors.ts";
import { networkOf, type Peer } from "../../core/network.ts";
import type { EpochMs } from "../../core/time.ts";
import type { EngineContext } from "../context.ts";

/** Length of the windows in which failures are counted, ms. */
const WINDOW_MS = 60_000;

/** Failures of all addresses in a window beyond which none costs a read of the store. */
const ALL_ADDRESSES = 1000;

/** Maximum number of addresses at once: the oldest is dropped first. */
const MAX_ADDRESSES = 10_000;

export interface Failures {
	/** Whether a bound is reached: credentials are found in memory, not by a read of the store each. */
	strained(peer: Peer): boolean;
	/** Counts one; the 429 that replaces its refusal once the budget of its address is spent. */
	count(peer: Peer): ApiError | undefined;
}

interface Window {
	count: number;
	until: EpochMs;
}

export function failures(d: Pick<EngineContext, "now" | "budgets">): Failures {
	const each = d.budgets.failedKeysPerAddress;
	const byAddress = new Map<string, Window>();
	let total: Window = { count: 0, until: 0 };

	/** The count of the window, 0 when it is over; also after a backward step of the clock. */
	function countOf(window: Window | undefined): number {
		const left = (window?.until ?? 0) - d.now();
		return window && left > 0 && left <= WINDOW_MS ? window.count : 0;
	}

	function added(window: Window | undefined): Window {
		const count = countOf(window) + 1;
		return { count, until: count === 1 || !window ? d.now() + WINDOW_MS : window.until };
	}

	return {
		strained: (peer) => countOf(total) >= ALL_ADDRESSES || countOf(byAddress.get(networkOf(peer))) >= each.limit,
		count(peer) {
			total = added(total);
			const address = networkOf(peer);
			const window = added(byAddress.get(address));
			const [oldest] = byAddress.keys();
			if (oldest !== undefined && byAddress.size >= MAX_ADDRESSES && !byAddress.has(address)) byAddress.delete(oldest);
			byAddress.set(address, window);
			if (window.count <= each.limit) return undefined;
			each.refuse();
			return new ApiError("too_many_failures", {
				address,
				limit: each.limit,
				retryAfter: Math.ceil((window.until - d.now()) / 1000),
			});
		},
	};
}
