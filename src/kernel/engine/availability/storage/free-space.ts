/**
 * Keeps space on the store's disk free for the results of accepted jobs (D41). While less than the reserve is free,
 * `admit` refuses submissions (`jobs/submit.ts`): 503 `store_unavailable`, `Retry-After: 2`; reads go on (`READABLE` in
 * `store-health.ts`). A write that fails because the disk is full gets the same answer, as `unavailable` in
 * `store/sqlite/file/disk-errors.ts` or `faultOf` in `store/postgres/connection/errors.ts` decides, or
 * `outcome_unknown` if it may have happened (`http/exchange/reply.ts`).
 */
import type { BudgetMeter } from "../../../core/budgets.ts";
import type { Clock } from "../../../system/clock.ts";
import { ApiError } from "../../../core/errors.ts";
import type { EventBus } from "../../../events.ts";
import { loop, type Service } from "../../../system/loop.ts";
import { StoreUnavailable } from "../../../store/contract/store.ts";

const CHECK_MS = 1000;

export interface FreeSpace {
	/** Throws `store_unavailable` while less than the reserve is free. */
	admit(): void;
	/** Whether no job may start: what is left is for removals, and results of running jobs. */
	isScarce(): boolean;
}

/** A part of the reserve that no other program can take. */
export interface Ballast {
	/** Bytes. */
	readonly size: number;
	fill(): Promise<void>;
	release(): Promise<boolean>;
}

export interface StoreDisk {
	/** Includes the space of the ballast. */
	freeBytes: () => Promise<number>;
	/** Sizes of the store's files, for `/metrics`. */
	fileBytes?: () => Promise<{ database: number; wal: number }>;
	reserve: BudgetMeter;
	ballast?: Ballast;
}

/** Admits everything where the disk is unknown. */
export function freeSpace({
	clock,
	events,
	disk,
}: {
	clock: Clock;
	events: EventBus;
	disk?: StoreDisk | undefined;
}): FreeSpace & { services: readonly Service[] } {
	if (!disk) return { admit() {}, isScarce: () => false, services: [] };
	const { freeBytes, reserve, ballast } = disk;
	let low: number | undefined;
	const checks = loop({
		clock,
		retryMs: CHECK_MS,
		// A disk that cannot be read refuses nothing: writes show its faults.
		onError: () => (low = undefined),
		step: async () => {
			const free = await freeBytes();
			const wasLow = low !== undefined;
			low = free < reserve.limit ? free : undefined;
			if (low !== undefined && !wasLow) events.emit("disk.low", { freeBytes: low, reserveBytes: reserve.limit });
			if (low === undefined && wasLow) events.emit("disk.enough", { freeBytes: free });
			if (low === undefined) await ballast?.fill();
			return CHECK_MS;
		},
	});
	return {
		admit() {
			if (low === undefined) return;
			reserve.refuse();
			throw new ApiError("store_unavailable", {
				why:
					`only ${mebibytes(low)} are free on its disk, and ${mebibytes(reserve.limit)} are reserved for ` +
					"results; free some, or change budgets.reservedDisk",
			});
		},
		isScarce: () => low !== undefined && ballast !== undefined && low < ballast.size,
		services: [checks],
	};
}

/** Returns false when the disk is full: a server also starts when its store cannot be written (D40). */
export async function unlessFull(write: Promise<unknown>): Promise<boolean> {
	try {
		await write;
		return true;
	} catch (error) {
		if (error instanceof StoreUnavailable && error.why === "full") return false;
		throw error;
	}
}

function mebibytes(bytes: number): string {
	return `${Math.floor(bytes / 2 ** 20)} MiB`;
}
