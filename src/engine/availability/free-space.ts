/** Keeps space free on the disk of the store for the results of accepted jobs (D41). */
import type { BudgetMeter } from "../../budgets.ts";
import type { Clock } from "../../clock.ts";
import { ApiError } from "../../core/errors.ts";
import type { EventBus } from "../../events.ts";
import { loop, type Service } from "../../service.ts";

/** Time between two checks of the disk, ms. */
const CHECK_MS = 1000;

export interface FreeSpace {
	/** Throws `store_unavailable` while less than the reserve is free. */
	admit(): void;
	/** Whether so little is free that no job starts: what is left is for removals, and results of running jobs. */
	isScarce(): boolean;
}

/** A part of the reserve that no other program can take. */
export interface Ballast {
	/** Bytes. */
	readonly size: number;
	fill(): Promise<void>;
	/** Returns whether this has given back space. */
	release(): Promise<boolean>;
}

export interface StoreDisk {
	/** What the ballast holds is free too. */
	freeBytes: () => Promise<number>;
	reserve: BudgetMeter;
	ballast?: Ballast;
}

/** Where the disk is unknown, everything is admitted. */
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
	/** Less than the reserve, bytes. */
	let low: number | undefined;
	const checks = loop({
		clock,
		retryMs: CHECK_MS,
		// A disk that cannot be asked does not refuse anything: writes show its faults.
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

function mebibytes(bytes: number): string {
	return `${Math.floor(bytes / 2 ** 20)} MiB`;
}
