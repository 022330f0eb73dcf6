/**
 * What all jobs have stored together, and what stays in payload files beside it (D43). The store counts it
 * exactly; this reads it now and then, and adds what this server has accepted since. The bound of one
 * endpoint is part of the insert.
 */
import type { BudgetMeter } from "../../budgets.ts";
import type { Clock } from "../../clock.ts";
import { ApiError } from "../../core/errors.ts";
import { loop, type Service } from "../../service.ts";
import type { JobStore } from "../../store/contract/jobs.ts";

/** Time between two reads, ms: with more than half of the budget used, and before. */
const NEAR_MS = 2000;
const FAR_MS = 15_000;

export interface StoredBytes {
	/** Throws `store_full` while the budget is spent. */
	admit(bytes: number): void;
}

export function storedBytes({
	clock,
	jobs,
	unused,
	meter,
}: {
	clock: Clock;
	jobs: Pick<JobStore, "stored">;
	/** Bytes of files that no job has stored any more. */
	unused: () => number;
	meter: BudgetMeter;
}): StoredBytes & { service: Service } {
	const service = loop({
		clock,
		retryMs: NEAR_MS,
		// An outage is reported by what else fails of it.
		onError: () => {},
		step: async () => {
			const all = await jobs.stored();
			const bytes = all.reduce((sum, each) => sum + each.bytes, unused());
			meter.hold(bytes - meter.used);
			return meter.used > meter.limit / 2 ? NEAR_MS : FAR_MS;
		},
	});
	return {
		service,
		admit(bytes) {
			if (meter.take(bytes)) return;
			throw new ApiError("store_full", {
				stored: megabytes(meter.used),
				limit: megabytes(meter.limit),
			});
		},
	};
}

/** Returns a size for sentences, in MB of 1,048,576 bytes. */
export function megabytes(bytes: number): string {
	const exact = bytes / 2 ** 20;
	return exact >= 10 ? String(Math.round(exact)) : exact.toFixed(1);
}
