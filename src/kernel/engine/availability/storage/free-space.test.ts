/** The reserve of free disk space (D41). */
import { expect, it } from "vitest";
import { manualClock } from "../../../../../test/support/manual-clock.ts";
import { budgetLimits, budgetMeters } from "../../../core/budgets.ts";
import { eventBus } from "../../../events.ts";
import { freeSpace } from "./free-space.ts";

const MIB = 2 ** 20;

it("D41: below the reserve submissions are refused with both sizes, until more is free", async () => {
	const clock = manualClock();
	const events = eventBus();
	const emitted: string[] = [];
	events.onAny((name) => emitted.push(name));
	const disk: { free: number; fault?: Error } = { free: 300 * MIB };
	const { reservedDisk } = budgetMeters(budgetLimits());
	const space = freeSpace({
		clock,
		events,
		disk: {
			reserve: reservedDisk,
			freeBytes: async () => {
				if (disk.fault) throw disk.fault;
				return disk.free;
			},
		},
	});
	for (const service of space.services) service.start();
	await clock.advance(1000);
	space.admit();
	disk.free = 255.9 * MIB;
	await clock.advance(1000);
	expect(() => space.admit()).toThrow(
		"The store is unavailable (only 255 MiB are free on its disk, and 256 MiB are reserved for results; " +
			"free some, or change budgets.reservedDisk). Nothing was accepted; send it again.",
	);
	await clock.advance(5000);
	expect(() => space.admit()).toThrow(expect.objectContaining({ status: 503, retryAfter: 2 }));
	expect(reservedDisk.spent).toBe(2);
	disk.free = 256 * MIB;
	await clock.advance(1000);
	space.admit();
	expect(emitted).toEqual(["disk.low", "disk.enough"]);
	disk.free = 0;
	disk.fault = new Error("the disk does not answer");
	await clock.advance(1000);
	space.admit();
	await Promise.all(space.services.map((service) => service.stop()));
});

it("D41: the ballast is filled while the reserve is free; with less than its size left no job starts", async () => {
	const clock = manualClock();
	const { reservedDisk } = budgetMeters(budgetLimits());
	const disk = { free: 100 * MIB, fills: 0 };
	const space = freeSpace({
		clock,
		events: eventBus(),
		disk: {
			reserve: reservedDisk,
			freeBytes: async () => disk.free,
			ballast: {
				size: 32 * MIB,
				fill: async () => void (disk.fills += 1),
				release: async () => true,
			},
		},
	});
	for (const service of space.services) service.start();
	await clock.advance(1000);
	expect([disk.fills, space.isScarce()]).toEqual([0, false]);
	disk.free = 31 * MIB;
	await clock.advance(1000);
	expect([disk.fills, space.isScarce()]).toEqual([0, true]);
	disk.free = 256 * MIB;
	await clock.advance(1000);
	expect([disk.fills, space.isScarce()]).toEqual([1, false]);
	await Promise.all(space.services.map((service) => service.stop()));
});

it("D41: where the disk is unknown, everything is admitted", () => {
	const space = freeSpace({ clock: manualClock(), events: eventBus() });
	space.admit();
	expect(space.services).toEqual([]);
});
