/**
 * Cases: any sequence of events leaves the rows as the pure core says, and the counts equal to a
 * recount.
 */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { FINAL_STATES, JOB_STATES } from "../../src/kernel/core/jobs/job-states.ts";
import type { Store } from "../../src/kernel/store/contract/store.ts";
import type { Bed } from "./index.ts";
import { type Model, modelOf, REASON } from "./model.ts";
import { alone, nextId, type Site, siteOf } from "./site.ts";

const job = fc.nat({ max: 30 });
const worker = fc.constantFrom("w1", "w2", "w3");

/** Times that pass, ms: within and beyond each deadline of a job. */
const PASSES = [1, 1000, 9_000, 21_000, 45_000, 70_000, 1_100_000];

/** One thing that happens, as data, so that a failing sequence can be read. */
const happening = fc.oneof(
	{
		weight: 3,
		arbitrary: fc.record({
			do: fc.constant("insert" as const),
			lowPriority: fc.boolean(),
			webhook: fc.boolean(),
		}),
	},
	{
		weight: 4,
		arbitrary: fc.record({
			do: fc.constant("claim" as const),
			worker,
			limit: fc.integer({ min: 1, max: 3 }),
		}),
	},
	{
		weight: 3,
		arbitrary: fc.record({
			do: fc.constant("report" as const),
			job,
			worker,
			on: fc.constantFrom("complete" as const, "fail" as const, "return" as const, "lose" as const),
		}),
	},
	{
		weight: 3,
		arbitrary: fc.record({
			do: fc.constant("move" as const),
			job,
			on: fc.constantFrom("cancel" as const, "release" as const, "lose" as const, "retry" as const),
			over: fc.boolean(),
			queueBound: fc.nat({ max: 3 }),
		}),
	},
	{ weight: 2, arbitrary: fc.record({ do: fc.constant("idle" as const), worker, dead: fc.boolean() }) },
	{
		weight: 1,
		arbitrary: fc.record({
			do: fc.constant("submit" as const),
			key: fc.constantFrom("k1", "k2"),
			bodyHash: fc.constantFrom("a", "a", "b"),
			keptMs: fc.constantFrom(30_000, 1_500_000),
		}),
	},
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("purge" as const) }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("tidy" as const) }) },
	{
		weight: 1,
		arbitrary: fc.record({
			do: fc.constant("retain" as const),
			job,
			retainMs: fc.constantFrom(1, 50_000, 900_000, 2_000_000),
		}),
	},
	{ weight: 1, arbitrary: fc.record({ do: fc.constant("cancelAll" as const) }) },
	{
		weight: 2,
		arbitrary: fc.record({
			do: fc.constant("list" as const),
			states: fc.option(fc.subarray([...JOB_STATES]), { nil: undefined }),
			worker: fc.option(worker, { nil: undefined }),
			erased: fc.boolean(),
			limit: fc.constantFrom(1, 3, 100),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(...PASSES) }),
	},
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

/** What the store returned, and what the model says it should have. */
type Results = [store: unknown, model: unknown];

async function happen(site: Site, model: Model, what: Happening): Promise<Results> {
	const { now } = model;
	const id = "job" in what ? model.pick(what.job) : undefined;
	switch (what.do) {
		case "insert":
			model.insert(
				await site.add({
					lowPriority: what.lowPriority,
					webhook: what.webhook ? "https://example.org/hook" : undefined,
					now,
				}),
			);
			return [undefined, undefined];
		case "claim": {
			const { jobs, fenced } = await site.take({ worker: what.worker, limit: what.limit, now });
			return [{ ids: jobs.map((claimed) => claimed.job.id), fenced }, model.claim(what.worker, what.limit)];
		}
		case "report": {
			if (id === undefined) return [undefined, undefined];
			const isReturn = what.on === "return" || what.on === "lose";
			const why = isReturn ? { workerEnd: REASON } : {};
			const actual = await site.report(id, { worker: what.worker, on: what.on, ...why, now });
			return [actual.ok ? "ok" : actual.why, model.report(id, what.worker, what.on)];
		}
		case "move": {
			if (id === undefined) return [undefined, undefined];
			const actual = await site.move(id, what.on, {
				attempt: model.attemptOf(id),
				over: what.over,
				queueBound: what.queueBound,
				now,
			});
			return [actual.ok ? "ok" : actual.why, model.move(id, what.on, what)];
		}
		case "submit": {
			const fresh = nextId();
			const actual = await site.insert({ id: fresh, idempotency: what, now });
			const expected = model.submit(what, fresh);
			if (expected || !actual.ok) return [actual, expected];
			model.insert(actual.job);
			return [actual.job.id, fresh];
		}
		case "purge":
			return [await site.purge(now), model.purge()];
		case "tidy":
			// All that has passed is settled: this removes a row of a purged job, if there is one.
			await site.settle(now, 1);
			return [undefined, undefined];
		case "retain":
			return id === undefined
				? [undefined, undefined]
				: [(await site.retain(id, what.retainMs, now))?.job, model.retain(id, what.retainMs)];
		case "cancelAll":
			return [await site.cancelAll(1000, now), { cancelled: model.cancelAll(), left: false }];
		case "list":
			return [await site.listIds({ ...what, now }), model.list(what)];
		case "idle": {
			const actual = await site.idle({ worker: what.worker, dead: what.dead, before: now, now });
			const expected = model.idle(what.worker, what.dead);
			return [
				{ lost: actual.lost.toSorted(), over: actual.over.toSorted() },
				{ lost: expected.lost.toSorted(), over: expected.over.toSorted() },
			];
		}
		case "pass":
			model.pass(what.ms);
			await site.settle(model.now);
			return [undefined, undefined];
	}
}

/**
 * Stores that go through sequences at the same time: while one waits for its disk another goes on.
 */
const AT_ONCE = 3;

/** Sequences in all. */
const RUNS = 150;

export function propertyCases({ open }: Bed): void {
	it("any sequence of events leaves every job, its history, its deliveries and the counts as the pure core says", {
		timeout: 60_000,
	}, async () => {
		await Promise.all(
			Array.from({ length: AT_ONCE }, () => alone(open, ({ store }) => sequences(store, RUNS / AT_ONCE))),
		);
	});
}

/**
 * Goes through random sequences of events, each at an endpoint of its own, but over all of which
 * the store sweeps.
 */
async function sequences(store: Store, numRuns: number): Promise<void> {
	await fc.assert(
		fc.asyncProperty(
			fc.array(happening, { minLength: 5, maxLength: 40 }),
			fc.constantFrom(...PASSES),
			async (happenings, unseen) => {
				const site = siteOf(store);
				const model = modelOf();
				for (const what of happenings) {
					const [actual, expected] = await happen(site, model, what);
					expect(actual).toEqual(expected);
				}
				for (const [id, expected] of model.jobs) {
					const shown = await site.get(id, model.now);
					expect(shown?.job).toEqual(expected.erased ? undefined : expected);
					expect(await site.attempts(id)).toEqual(model.history(id));
				}
				expect(await site.counts(model.now)).toEqual(model.counts());
				const { jobs } = await site.waiting(model.now);
				expect(jobs).toBe(model.waiting());
				for (const states of [undefined, [...FINAL_STATES]]) {
					const erased = states !== undefined;
					expect(await site.listIds({ states, erased, limit: 7, now: model.now })).toEqual(
						model.list({ states, erased }),
					);
				}
				const { deliveries } = await store.webhooks.list({ endpoint: site.endpoint, limit: 1000 });
				expect(deliveries.map(({ id }) => id).toSorted()).toEqual(model.deliveries.toSorted());
				// D15: what is shown of a time that passed unseen is what a sweep then makes of it.
				const later = model.now + unseen;
				const shown = async () =>
					new Map(
						await Promise.all([...model.jobs.keys()].map(async (id) => [id, await site.record(id, later)] as const)),
					);
				const before = await shown();
				await site.settle(later);
				expect(await shown()).toEqual(before);
			},
		),
		{ numRuns },
	);
}
