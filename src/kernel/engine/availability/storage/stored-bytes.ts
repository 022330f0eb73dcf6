/**
 * What all jobs have stored together (D43): read from the store now and then, plus what this server has accepted since.
 * The bound of one endpoint is part of the insert.
 */
import type { BudgetMeter } from "../../../core/budgets.ts";
import type { Clock } from "../../../system/clock.ts";
import { ApiError } from "../../../core/errors.ts";
import { loop } from "../../../system/loop.ts";
import type { JobStore } from "../../../store/contract/jobs.ts";

/** Time between two reads: with more than half of the budget used, and before. */
const NEAR_MS = 2000;
const FAR_MS = 15_000;

export type StoredBytes = ReturnType<typeof storedBytes>;

export function storedBytes({
	clock,
	jobs,
	unused,
	meter,
}: {
	clock: Clock;
	jobs: Pick<JobStore, "stored">;
	/** Bytes of payload files that no job uses any more. */
	unused: () => number;
	meter: BudgetMeter;
}) {
	const service = loop({
		clock,
		retryMs: NEAR_MS,
		// Other operations report an outage.
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
		/** Throws `store_full` while the budget is spent. */
		admit(bytes: number): void {
			if (meter.take(bytes)) return;
			throw new ApiError("store_full", {
				stored: megabytes(meter.used),
				limit: megabytes(meter.limit),
			});
		},
	};
}

/** Returns MB of 1,048,576 bytes, for sentences. */
export function megabytes(bytes: number): string {
	const exact = bytes / 2 ** 20;
	return exact >= 10 ? String(Math.round(exact)) : exact.toFixed(1);
}
