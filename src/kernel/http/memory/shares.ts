/**
 * Shares the budget of bytes in flight, so no key or worker keeps others out (D41). Clients have half of it, workers
 * all of it, because results are stored while clients wait. One owner holds at most as much as remains free, and its
 * first amount only has to fit. At least one worker report is always admitted. A worker never overtakes another one
 * that waits.
 */
import type { BudgetMeter } from "../../core/budgets.ts";
import type { Clock } from "../../system/clock.ts";
import { ApiError } from "../../core/errors.ts";

export interface Owner {
	id: string;
	kind: "key" | "worker";
}

/** Maximum wait, ms. Reports wait longer, since workers drop a result after few refusals. */
const WAIT_MS = { key: 5000, worker: 120_000 };

interface Waiter {
	owner: Owner;
	bytes: number;
	admit(): void;
}

export type MemoryShares = ReturnType<typeof memoryShares>;

export function memoryShares({ meter, clock }: { meter: BudgetMeter; clock: Clock }) {
	const held = new Map<string, number>();
	const waiting = new Set<Waiter>();
	let clients = 0;
	let workers = 0;

	function freeFor({ kind }: Owner): number {
		const both = meter.limit - clients - workers;
		return kind === "worker" ? both : Math.min(both, meter.limit / 2 - clients);
	}

	function fits(owner: Owner, bytes: number): boolean {
		if (owner.kind === "worker" && workers === 0) return true;
		const free = freeFor(owner) - bytes;
		const own = held.get(owner.id) ?? 0;
		return free >= 0 && (own === 0 || own + bytes <= free);
	}

	function count(owner: Owner, bytes: number): void {
		const own = (held.get(owner.id) ?? 0) + bytes;
		if (own > 0) held.set(owner.id, own);
		else held.delete(owner.id);
		if (owner.kind === "worker") workers += bytes;
		else clients += bytes;
		meter.hold(bytes);
	}

	function admitWaiting(): void {
		let workersStop = false;
		for (const waiter of waiting) {
			const { owner, bytes } = waiter;
			if (owner.kind === "worker" && workersStop) continue;
			if (fits(owner, bytes)) {
				waiting.delete(waiter);
				count(owner, bytes);
				waiter.admit();
			} else workersStop ||= owner.kind === "worker";
		}
	}

	function refusal(owner: Owner, bytes: number): ApiError {
		meter.refuse();
		const own = held.get(owner.id) ?? 0;
		return freeFor(owner) >= bytes && own > 0
			? new ApiError("memory_share", {
					owner: owner.kind,
					held: own,
					bytes,
					limit: meter.limit,
				})
			: new ApiError("memory_spent", { bytes, limit: meter.limit });
	}

	async function wait(owner: Owner, bytes: number, signal: AbortSignal): Promise<boolean> {
		const admitted = new AbortController();
		const waiter: Waiter = { owner, bytes, admit: () => admitted.abort() };
		waiting.add(waiter);
		await clock.sleep(WAIT_MS[owner.kind], AbortSignal.any([signal, admitted.signal]));
		if (admitted.signal.aborted) return true;
		waiting.delete(waiter);
		if (signal.aborted) return false;
		throw refusal(owner, bytes);
	}

	return {
		/**
		 * A promise if the bytes do not fit now. It rejects with `memory_share` or `memory_spent` after the wait, and
		 * resolves to false when `signal` aborts.
		 */
		take(owner: Owner, bytes: number, signal: () => AbortSignal): Promise<boolean> | undefined {
			const overtakes = owner.kind === "worker" && [...waiting].some((each) => each.owner.kind === "worker");
			if (overtakes || !fits(owner, bytes)) return wait(owner, bytes, signal());
			count(owner, bytes);
			return undefined;
		},
		/** Takes bytes that are in memory already. */
		seize: count,
		give(owner: Owner, bytes: number): void {
			if (bytes === 0) return;
			count(owner, -bytes);
			if (waiting.size > 0) admitWaiting();
		},
		room: (owner: Owner): number => Math.max(0, Math.floor((freeFor(owner) - (held.get(owner.id) ?? 0)) / 2)),
	};
}
