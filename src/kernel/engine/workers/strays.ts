/**
 * Launched workers that have ended and still call: they may hold resources such as a GPU. Their calls are refused
 * (D26), and the operator sees them.
 */
import type { EndedWorker } from "../../core/workers/ended-worker.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { EndedWorkers } from "./ended-workers.ts";
import type { WorkersContext } from "./workers-context.ts";

/** Calls of its last moments may arrive this long after the end of a worker. */
const LAST_CALLS_MS = 10_000;

const SEARCH_MS = 10_000;

/** A worker counts as a stray this long after its last call. */
const FORGET_MS = 300_000;

const MAX_WORKERS = 1000;

interface Caller {
	from: string;
	calledAt: EpochMs;
	searchedAt: EpochMs;
	stray: boolean;
}

export function createStrays(d: WorkersContext & { ended: EndedWorkers }) {
	const callers = new Map<string, Caller>();

	async function search(caller: Caller, endpoint: string, worker: string): Promise<void> {
		const found = (await d.ended.of(endpoint)).find(({ id }) => id === worker);
		if (!found || d.now() - found.endedAt < LAST_CALLS_MS) return;
		caller.stray = true;
		d.events.emit("worker.stray", { endpoint, worker, from: caller.from });
	}

	return {
		/** Notes a call with an invalid token. */
		refused({ endpoint, worker, from }: { endpoint: string; worker: string; from: string }): void {
			const now = d.now();
			const caller = callers.get(worker) ?? { from, calledAt: now, searchedAt: -Infinity, stray: false };
			callers.set(worker, Object.assign(caller, { from, calledAt: now }));
			const [oldest] = callers.keys();
			if (oldest !== undefined && callers.size > MAX_WORKERS) callers.delete(oldest);
			if (caller.stray || now - caller.searchedAt < SEARCH_MS || !d.endpoints.has(endpoint)) return;
			caller.searchedAt = now;
			d.background.run(`looking for worker ${worker}`, search(caller, endpoint, worker));
		},
		/** Adds the last call since the worker's end, if there is one. */
		withCall(ended: EndedWorker): EndedWorker {
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
