/**
 * Transfers of images to one daemon. Workers that wait for the same image share one, and one without waiters is
 * cancelled (D45).
 */
import type { WorkerReason } from "../../../kernel/core/workers/worker-reason.ts";
import type { Clock } from "../../../kernel/system/clock.ts";
import { unlessAborted } from "../daemon-calls.ts";

const REPORT_MS = 1000;
/** A transfer without progress for this time fails, ms. Docker itself waits without end. */
const STALL_MS = 300_000;

export type Transfers = ReturnType<typeof transfers>;

export interface Waiter {
	signal: AbortSignal;
	onProgress?: (reason: WorkerReason) => void;
}

export interface Transfer {
	/** The same for transfers with the same result. */
	key: string;
	/** What it is in sentences, such as "the pull of image ocr:1 on rig1". */
	title: string;
	/** What its waiters wait for. */
	reason: () => WorkerReason;
	/** `moved` is called with each progress. */
	run: (q: { signal: AbortSignal; moved: () => void }) => Promise<void>;
	/** A sentence about a failure of `run`. */
	faultOf: (error: unknown) => string;
}

interface RunningTransfer {
	done: Promise<void>;
	cancel: AbortController;
	reason: WorkerReason;
	listeners: Set<(reason: WorkerReason) => void>;
}

export function transfers(clock: Clock) {
	const running = new Map<string, RunningTransfer>();
	const closed = new AbortController();

	function begin(transfer: Transfer): RunningTransfer {
		const begun: RunningTransfer = {
			done: Promise.resolve(),
			cancel: new AbortController(),
			reason: transfer.reason(),
			listeners: new Set(),
		};
		begun.done = run(transfer, begun.cancel.signal, (reason) => {
			begun.reason = reason;
			for (const listener of begun.listeners) listener(reason);
		}).finally(() => remove(transfer.key, begun));
		// Without this, a failed transfer that no worker awaits any more would end the process.
		begun.done.catch(() => {});
		running.set(transfer.key, begun);
		return begun;
	}

	function remove(key: string, ended: RunningTransfer): void {
		if (running.get(key) === ended) running.delete(key);
	}

	async function run(
		transfer: Transfer,
		cancelled: AbortSignal,
		report: (reason: WorkerReason) => void,
	): Promise<void> {
		const over = new AbortController();
		let movedAt = clock.now();
		let reportedAt = -Infinity;
		let isStalled = false;

		async function watch(): Promise<void> {
			while (!over.signal.aborted && !isStalled) {
				await clock.sleep(movedAt + STALL_MS - clock.now(), over.signal);
				isStalled = clock.now() - movedAt >= STALL_MS;
			}
			over.abort();
		}

		function moved(): void {
			movedAt = clock.now();
			if (movedAt - reportedAt < REPORT_MS) return;
			reportedAt = movedAt;
			report(transfer.reason());
		}

		try {
			void watch();
			await transfer.run({ signal: AbortSignal.any([over.signal, closed.signal, cancelled]), moved });
		} catch (error) {
			if (closed.signal.aborted) throw new Error("the service stops", { cause: error });
			const stall = `${transfer.title} made no progress for ${STALL_MS / 60_000} minutes`;
			throw new Error(isStalled ? stall : transfer.faultOf(error), { cause: error });
		} finally {
			over.abort();
		}
	}

	return {
		/** Joins the transfer in progress or begins it, which calls `onBegin`. Rejects if it fails or the signal aborts. */
		async join(
			transfer: Transfer,
			{ signal, onProgress = () => {} }: Waiter,
			onBegin: () => void = () => {},
		): Promise<void> {
			signal.throwIfAborted();
			const present = running.get(transfer.key);
			const joined = present ?? begin(transfer);
			if (!present) onBegin();
			onProgress(joined.reason);
			joined.listeners.add(onProgress);
			try {
				await unlessAborted(joined.done, signal);
			} finally {
				joined.listeners.delete(onProgress);
				if (joined.listeners.size === 0) {
					remove(transfer.key, joined);
					joined.cancel.abort();
				}
			}
		},
		close: () => closed.abort(),
	};
}
