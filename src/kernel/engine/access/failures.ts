/**
 * Counts wrong keys, worker tokens and sign-in links by address and in total (D41). Valid ones always pass, so that no
 * client can lock out others behind its address.
 */
import { ApiError } from "../../core/errors.ts";
import { networkOf, type Peer } from "../../core/access/network.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { EngineContext } from "../context.ts";

const WINDOW_MS = 60_000;

/** Failures of all addresses in a window beyond which none costs a read of the store. */
const ALL_ADDRESSES = 1000;

const MAX_ADDRESSES = 10_000;

interface Window {
	count: number;
	until: EpochMs;
}

export type Failures = ReturnType<typeof failures>;

export function failures({ now, budgets }: EngineContext) {
	const each = budgets.failedKeysPerAddress;
	const byAddress = new Map<string, Window>();
	let total: Window = { count: 0, until: 0 };

	/** Returns 0 when the window is over, also after a backward step of the clock. */
	function countOf(window: Window | undefined): number {
		const left = (window?.until ?? 0) - now();
		return window && left > 0 && left <= WINDOW_MS ? window.count : 0;
	}

	function added(window: Window | undefined): Window {
		const count = countOf(window) + 1;
		return { count, until: count === 1 || !window ? now() + WINDOW_MS : window.until };
	}

	return {
		/** Whether a bound is reached: then credentials must not cost a read of the store each. */
		strained: (peer: Peer): boolean =>
			countOf(total) >= ALL_ADDRESSES || countOf(byAddress.get(networkOf(peer))) >= each.limit,
		/** Returns the 429 that replaces the refusal once the budget of the address is spent. */
		count(peer: Peer): ApiError | undefined {
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
				retryAfter: Math.ceil((window.until - now()) / 1000),
			});
		},
	};
}
