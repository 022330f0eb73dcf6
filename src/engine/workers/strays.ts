/**
 * Launched workers that have ended and still call: their platform lost them, and they hold what it
 * takes for free, such as a GPU. Their calls are refused (D26); this makes them known to the operator.
 */
import type { EndedWorker } from "../../core/workers/ended-worker.ts";
import type { EpochMs } from "../../core/time.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { EndedWorkers } from "./ended-workers.ts";

/** Calls of its last moments may arrive so long after the end of a worker, ms. */
const LAST_CALLS_MS = 10_000;

/** Time between two searches for the end of a worker, ms. */
const SEARCH_MS = 10_000;

/** A worker counts as a stray so long after its last call, ms. */
const FORGET_MS = 300_000;

/** Maximum number of ids at once: the oldest is dropped first. */
const MAX_WORKERS = 1000;

export interface Strays {
	/** A call with a token that is not valid, from this address. */
	refused(q: { endpoint: string; worker: string; from: string }): void;
	/** The record, with the last call since the worker's end, if there is one. */
	withCall(ended: EndedWorker): EndedWorker;
}

interface Caller {
	from: string;
	calledAt: EpochMs;
	searchedAt: EpochMs;
	/** Its end is known. */
	stray: boolean;
}

export function createStrays(
	d: Pick<EngineContext, "now" | "events" | "background"> & {
		ended: Pick<EndedWorkers, "of">;
		endpoints: Pick<Endpoints, "has">;
	},
): Strays {
	const callers = new Map<string, Caller>();

	async function search(caller: Caller, endpoint: string, worker: string): Promise<void> {
		const found = (await d.ended.of(endpoint)).find(({ id }) => id === worker);
		if (!found || d.now() - found.endedAt < LAST_CALLS_MS) return;
		caller.stray = true;
		d.events.emit("worker.stray", { endpoint, worker, from: caller.from });
	}

	return {
		refused({ endpoint, worker, from }) {
			const now = d.now();
			const caller = callers.get(worker) ?? { from, calledAt: now, searchedAt: -Infinity, stray: false };
			callers.set(worker, Object.assign(caller, { from, calledAt: now }));
			const [oldest] = callers.keys();
			if (oldest !== undefined && callers.size > MAX_WORKERS) callers.delete(oldest);
			if (caller.stray || now - caller.searchedAt < SEARCH_MS || !d.endpoints.has(endpoint)) return;
			caller.searchedAt = now;
			d.background.run(`looking for worker ${worker}`, search(caller, endpoint, worker));
		},
		withCall(ended) {
			const caller = callers.get(ended.id);
			if (!caller?.stray || d.now() - caller.calledAt > FORGET_MS) return ended;
			const { calledAt, from } = caller;
			return {
				...ended,
				calledAt,
				message: `${ended.message} It still calls from ${from} and is refused: end its process there.`,
			};
		},
	};
}
