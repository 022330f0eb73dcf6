/** Drivers and what they run. */
import { expect, it } from "vitest";
import { cudaOf, compareVersions } from "./cuda.ts";

it.each([
	["550.54.15", "12.4"],
	["525.147.05", "12.0"],
	["565.57.01", "12.7"],
	["580.65.06", "13.0"],
	["418.87", undefined],
	["590.44.01", "13.1"],
	["596.10", undefined],
	["[N/A]", undefined],
])("D44: driver %s runs CUDA up to %s", (driver, cuda) => {
	expect(cudaOf(driver)).toBe(cuda);
});

it("D44: versions are compared by their numbers", () => {
	expect(["12.4", "12.10", "13.0", "12", "11.8"].map((version) => compareVersions(version, "12.4") >= 0)).toEqual([
		true,
		true,
		true,
		false,
		false,
	]);
});
