import { expect, it } from "vitest";
import { barText, progressBar } from "./progress-bar.ts";

const text = "50 lines: 50 COMPLETED";
const bar = `[${"#".repeat(15)}${"-".repeat(15)}] 50 %`;

it("D36: the bar has the rate and the time left once they can be estimated", () => {
	expect(barText({ share: 0.5, count: 50, text }, 1000)).toBe(`${bar}  ${text}`);
	expect(barText({ share: 0.5, count: 50, text }, 10_000)).toBe(`${bar}  5.0/s, 10 s left  ${text}`);
	expect(barText({ share: 0.5, count: 50, text }, 65_000)).toBe(`${bar}  0.77/s, 1 min 5 s left  ${text}`);
	expect(barText({ share: 1, count: 50, text }, 10_000)).toMatch(/100 %  5\.0\/s  50 lines/);
	expect(barText({ share: undefined, count: 50, text }, 10_000)).toBe(`5.0/s  ${text}`);
});

it("D36: the bar is shorter where a line has no room for it; a caller that knows the pace better gives it", () => {
	const progress = { share: 0.5, count: 50, text };
	expect(barText(progress, 0, 60)).toBe(`[${"#".repeat(15)}${"-".repeat(14)}] 50 %  ${text}`);
	expect(barText(progress, 0, 20)).toBe(`[${"#".repeat(5)}${"-".repeat(5)}] 50 %  ${text}`);
	const pace = { perSecond: 3.4, leftMs: 7_800_000 };
	expect(barText({ ...progress, pace }, 0)).toBe(`${bar}  3.4/s, 2 h 10 min left  ${text}`);
	expect(barText({ ...progress, pace: { perSecond: 0, leftMs: undefined } }, 9000)).toBe(`${bar}  0.0/s  ${text}`);
});

it("D36: without a terminal it prints a line every 10 s, with rate and time left", () => {
	let now = 0;
	const written: string[] = [];
	const stream = { isTTY: false, columns: 80, write: (line: string | Uint8Array) => written.push(String(line)) > 0 };
	const progress = progressBar(() => now, stream);
	for (now = 0; now <= 25_000; now += 1000) progress.show({ share: now / 40_000, count: now / 100, text });
	progress.clear();
	expect(written).toEqual([
		"25 %, 10/s, 30 s left, 50 lines: 50 COMPLETED\n",
		"50 %, 10/s, 20 s left, 50 lines: 50 COMPLETED\n",
	]);
});
