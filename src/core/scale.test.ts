/** How many workers are wanted: cases, and what holds for every sample. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { desiredWorkers } from "./scale.ts";
import type { Sample } from "./scale.ts";

const NOTHING: Sample = { waiting: 0, busy: 0, idle: 0, starting: 0, idleTooLong: 0 };
const BOUNDS = { workersMin: 0, workersMax: 3 };

describe("desiredWorkers", () => {
  it.each<[string, Partial<Sample>, number]>([
    ["nothing to do", {}, 0],
    ["the first job waits", { waiting: 1 }, 1],
    ["a job waits and one is on its way", { waiting: 1, starting: 1 }, 1],
    ["a job waits and one is free", { waiting: 1, idle: 1 }, 1],
    ["jobs wait and all are busy", { waiting: 9, busy: 2 }, 3],
    ["jobs wait at the maximum", { waiting: 9, busy: 3 }, 3],
    ["one idled too long", { busy: 1, idle: 2, idleTooLong: 1 }, 2],
    ["all idled too long", { idle: 3, idleTooLong: 3 }, 0],
    ["one idled too long while jobs wait", { waiting: 1, idle: 1, idleTooLong: 1 }, 1],
    ["idle, but not too long", { idle: 2 }, 2],
    ["more busy than the maximum", { busy: 5 }, 5],
    ["more idle than the maximum", { idle: 5 }, 3],
  ])("D27: %s", (_, seen, wanted) => {
    expect(desiredWorkers({ ...NOTHING, ...seen }, BOUNDS)).toBe(wanted);
  });

  it("D27: the minimum stands also when nothing waits", () => {
    expect(desiredWorkers(NOTHING, { workersMin: 2, workersMax: 3 })).toBe(2);
    expect(desiredWorkers({ ...NOTHING, idle: 3, idleTooLong: 3 }, { workersMin: 2, workersMax: 3 })).toBe(2);
  });

  const sample = fc
    .record({ waiting: fc.nat(2000), busy: fc.nat(20), idle: fc.nat(20), starting: fc.nat(20), tooLong: fc.nat(20) })
    .map(({ tooLong, ...seen }): Sample => ({ ...seen, idleTooLong: Math.min(tooLong, seen.idle) }));
  const bounds = fc.tuple(fc.nat(10), fc.nat(10)).map(([min, more]) => ({ workersMin: min, workersMax: min + more }));

  it("D27, D28: never below busy or the minimum, never above the maximum unless more are busy", () => {
    fc.assert(
      fc.property(sample, bounds, (seen, limits) => {
        const wanted = desiredWorkers(seen, limits);
        expect(wanted).toBeGreaterThanOrEqual(Math.max(seen.busy, limits.workersMin));
        expect(wanted).toBeLessThanOrEqual(Math.max(limits.workersMax, seen.busy));
      }),
    );
  });

  it("D27: with jobs waiting, a maximum above 0 and nobody free, at least one more is wanted until the maximum", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), fc.nat(20), bounds, (waiting, busy, limits) => {
        const wanted = desiredWorkers({ ...NOTHING, waiting, busy }, limits);
        expect(wanted).toBe(Math.max(busy, Math.min(Math.max(busy + 1, limits.workersMin), limits.workersMax)));
      }),
    );
  });

  it("D27: asked again and again while nothing waits and all idle too long, it comes down to the minimum", () => {
    fc.assert(
      fc.property(fc.nat(20), bounds, (idle, limits) => {
        expect(desiredWorkers({ ...NOTHING, idle, idleTooLong: idle }, limits)).toBe(limits.workersMin);
      }),
    );
  });
});
