import { expect, it } from "vitest";
import { barText } from "./progress-bar.ts";

const text = "50 lines: 50 COMPLETED";
const bar = `[${"#".repeat(15)}${"-".repeat(15)}] 50 %`;

it("D36: the bar has the rate and the time left once they can be estimated", () => {
	expect(barText({ share: 0.5, count: 50, text }, 1000)).toBe(`${bar}  ${text}`);
	expect(barText({ share: 0.5, count: 50, text }, 10_000)).toBe(`${bar}  5.0/s, 10 s left  ${text}`);
	expect(barText({ share: 0.5, count: 50, text }, 65_000)).toBe(`${bar}  0.77/s, 1 min 5 s left  ${text}`);
	expect(barText({ share: 1, count: 50, text }, 10_000)).toMatch(/100 %  5\.0\/s  50 lines/);
	expect(barText({ share: undefined, count: 50, text }, 10_000)).toBe(`5.0/s  ${text}`);
});
