/** The table of section 8, and what endpoints change in it. */
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS, LIMITED_OPERATIONS, limitsOf } from "./limits.ts";

describe("limitsOf", () => {
	it.each([
		["run", 1000, 200],
		["runsync", 2000, 400],
		["status", 2000, 400],
		["status-sync", 2000, 400],
		["stream", 2000, 400],
		["cancel", 100, 20],
		["purge-queue", 2, undefined],
		["openai", 2000, 400],
		["requests", 10, 2],
	] as const)("spec 8: /%s has %d requests in 10 s and %s at once", (operation, per10s, concurrent) => {
		expect(limitsOf({ limits: {} }, operation)).toEqual({
			per10s,
			...(concurrent === undefined ? {} : { concurrent }),
		});
	});

	it("spec 8: these are all rows", () => {
		expect(Object.keys(DEFAULT_LIMITS)).toEqual([...LIMITED_OPERATIONS]);
		expect(LIMITED_OPERATIONS).toHaveLength(9);
	});

	it("D35: off is no limit for any operation", () => {
		for (const operation of LIMITED_OPERATIONS) expect(limitsOf({ limits: "off" }, operation)).toEqual({});
	});

	it("D24, D35: one number is changed or lifted, the other stays, and so do other operations", () => {
		expect(limitsOf({ limits: { run: { per10s: 5 } } }, "run")).toEqual({
			per10s: 5,
			concurrent: 200,
		});
		expect(limitsOf({ limits: { run: { concurrent: 0 } } }, "run")).toEqual({
			per10s: 1000,
			concurrent: 0,
		});
		expect(limitsOf({ limits: { run: { per10s: "off" } } }, "run")).toEqual({ concurrent: 200 });
		expect(limitsOf({ limits: { run: { per10s: "off", concurrent: "off" } } }, "run")).toEqual({});
		expect(limitsOf({ limits: { run: { per10s: 5 } } }, "runsync")).toEqual({
			per10s: 2000,
			concurrent: 400,
		});
		expect(limitsOf({ limits: { "purge-queue": { concurrent: 3 } } }, "purge-queue")).toEqual({
			per10s: 2,
			concurrent: 3,
		});
		expect(limitsOf({ limits: { "purge-queue": {} } }, "purge-queue")).toEqual({ per10s: 2 });
	});
});
