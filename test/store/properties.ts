/** Cases: any sequence of events leaves the rows as the pure core says, and the counts equal to a recount. */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { modelOf } from "./model.ts";
import type { Model } from "./model.ts";
import { alone, siteOf } from "./site.ts";
import type { Site } from "./site.ts";

const job = fc.nat({ max: 30 });
const worker = fc.constantFrom("w1", "w2", "w3");

/** One thing that happens, as data, so that a failing sequence can be read. */
const happening = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("insert" as const), lowPriority: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("claim" as const), worker, limit: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("report" as const), job, worker, on: fc.constantFrom("complete" as const, "fail" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("move" as const), job, on: fc.constantFrom("cancel" as const, "release" as const, "lose" as const, "retry" as const), over: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("idle" as const), worker }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(1, 1000, 9_000, 21_000, 45_000, 70_000, 1_100_000) }) },
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

/** What the store told of it, and what the model says it should have. */
type Told = [store: unknown, model: unknown];

async function happen(site: Site, model: Model, what: Happening): Promise<Told> {
  const { now } = model;
  const id = "job" in what ? model.pick(what.job) : undefined;
  switch (what.do) {
    case "insert":
      model.insert(await site.add({ lowPriority: what.lowPriority, now }));
      return [undefined, undefined];
    case "claim": {
      const { jobs, fenced } = await site.take({ worker: what.worker, limit: what.limit, now });
      return [{ ids: jobs.map((claimed) => claimed.job.id), fenced }, model.claim(what.worker, what.limit)];
    }
    case "report": {
      if (id === undefined) return [undefined, undefined];
      const told = await site.report(id, { worker: what.worker, on: what.on, now });
      return [told.ok ? "ok" : told.why, model.report(id, what.worker, what.on)];
    }
    case "move": {
      if (id === undefined) return [undefined, undefined];
      const told = await site.move(id, what.on, { attempt: model.attemptOf(id), over: what.over, now });
      return [told.ok ? "ok" : told.why, model.move(id, what.on, what.over)];
    }
    case "idle": {
      const told = await site.idle({ worker: what.worker, before: now, now });
      const expected = model.idle(what.worker);
      return [{ lost: told.lost.toSorted(), over: told.over.toSorted() }, { lost: expected.lost.toSorted(), over: expected.over.toSorted() }];
    }
    case "pass":
      model.pass(what.ms);
      await site.settle(model.now);
      return [undefined, undefined];
  }
}

export function propertyCases({ open }: Bed): void {
  it("any sequence of events leaves every job, its history and the counts as the pure core says", () =>
    alone(open, async (first) => {
      const { store } = first;
      await fc.assert(
        fc.asyncProperty(fc.array(happening, { minLength: 5, maxLength: 40 }), async (happenings) => {
          const site = siteOf(store);
          const model = modelOf();
          for (const what of happenings) {
            const [told, expected] = await happen(site, model, what);
            expect(told).toEqual(expected);
          }
          for (const [id, expected] of model.jobs) {
            const shown = await site.get(id, model.now);
            expect(shown?.job).toEqual(expected.erased ? undefined : expected);
            expect(await site.attempts(id)).toEqual(model.history(id));
          }
          expect(await site.counts(model.now)).toEqual(model.counts());
          const { jobs } = await site.waiting(model.now);
          expect(jobs).toBe(model.waiting());
        }),
        { numRuns: 150 },
      );
    }), 60_000);
}
