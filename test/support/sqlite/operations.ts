/** Random operations for comparisons of stores (`../thread/interleavings.test.ts`). */
import * as fc from "fast-check";

/** Within and beyond each deadline of a job, ms. */
const PASSES = [0, 1, 1000, 6000, 21_000, 61_000, 2_000_000];

const endpoint = fc.constantFrom("e1", "e1", "e2");
const worker = fc.constantFrom("w1", "w1", "w1", "w2");
/** A job by how many were submitted to its endpoint after it. */
const job = fc.nat({ max: 8 });

const reservation = fc.record({
	name: fc.constantFrom("chunks.reserve" as const, "chunks.deliver" as const),
	endpoint: fc.constant("e1"),
	job: fc.nat({ max: 2 }),
	reader: fc.constantFrom("r1", "r1", "r2"),
	maxBytes: fc.constantFrom(1, 1000),
	delivered: fc.boolean(),
});

/** One operation; what depends on earlier ones (ids, `now`) is added when it is asked for. */
export const anyOperation = fc.oneof(
	{
		weight: 8,
		arbitrary: fc.record({
			name: fc.constant("jobs.insert" as const),
			endpoint,
			lowPriority: fc.constantFrom(false, false, true),
			ttlMs: fc.constantFrom(5000, 60_000, 1e9),
			large: fc.constantFrom(false, false, false, true),
			webhook: fc.constantFrom(undefined, "https://example.org/hook"),
			queueBound: fc.constantFrom(undefined, undefined, 3),
			key: fc.constantFrom(undefined, undefined, "k1", "k2"),
			/** The id is used already: the operation fails when its row is written. */
			twice: fc.constantFrom(false, false, false, false, false, true),
		}),
	},
	{
		weight: 5,
		arbitrary: fc.record({
			name: fc.constant("jobs.claim" as const),
			endpoint,
			worker,
			limit: fc.constantFrom(1, 2, 5, 100),
			maxBytes: fc.constantFrom(10, 1e6),
		}),
	},
	{
		weight: 4,
		arbitrary: fc.record({
			name: fc.constant("jobs.report" as const),
			endpoint,
			worker,
			job,
			on: fc.constantFrom("complete" as const, "fail" as const),
			large: fc.boolean(),
		}),
	},
	{
		weight: 4,
		arbitrary: fc.record({
			name: fc.constant("jobs.move" as const),
			endpoint,
			job,
			on: fc.constantFrom("cancel", "release", "release", "lose", "retry", "retry"),
			attempt: fc.constantFrom(1, 1, 2, 3),
			over: fc.boolean(),
			queueBound: fc.constantFrom(undefined, 3),
		}),
	},
	{
		weight: 3,
		arbitrary: fc.record({
			name: fc.constantFrom("jobs.get" as const, "jobs.record" as const),
			endpoint,
			job,
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			name: fc.constantFrom("jobs.counts" as const, "jobs.waiting" as const),
			endpoint,
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			name: fc.constantFrom("jobs.progress" as const, "jobs.renew" as const),
			endpoint,
			worker,
			job,
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			name: fc.constant("jobs.retain" as const),
			endpoint,
			job,
			retainMs: fc.constantFrom(1, 50_000),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			name: fc.constantFrom("jobs.purge" as const, "jobs.cancelAll" as const),
			endpoint,
			limit: fc.constant(1000),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			name: fc.constant("jobs.list" as const),
			endpoint,
			filter: fc.constant({}),
			erased: fc.boolean(),
			limit: fc.constant(1000),
		}),
	},
	{ weight: 1, arbitrary: fc.record({ name: fc.constant("jobs.extendAll" as const) }) },
	{
		weight: 1,
		arbitrary: fc.record({
			name: fc.constant("chunks.append" as const),
			endpoint,
			worker,
			job,
			chunks: fc.constantFrom(["1"], ["2", "3"]),
			unlessLast: fc.boolean(),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			name: fc.constant("chunks.read" as const),
			endpoint,
			job,
			from: fc.constantFrom(0, 1),
			maxBytes: fc.constant(1000),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			name: fc.constantFrom("workers.ping" as const, "workers.idle" as const),
			endpoint,
			worker,
			named: fc.constant([]),
		}),
	},
	{ weight: 2, arbitrary: reservation },
);
export type Operation = typeof anyOperation extends fc.Arbitrary<infer T> ? T : never;

/** A plain job. */
const insertion = fc.record({
	name: fc.constant("jobs.insert" as const),
	endpoint: fc.constant("e1"),
	lowPriority: fc.constant(false),
	ttlMs: fc.constant(1e9),
	large: fc.constant(false),
	webhook: fc.constant(undefined),
	queueBound: fc.constant(undefined),
	key: fc.constant(undefined),
	twice: fc.constant(false),
});
const claim = fc.record({
	name: fc.constant("jobs.claim" as const),
	endpoint: fc.constant("e1"),
	worker,
	limit: fc.constantFrom(1, 2),
	maxBytes: fc.constant(1e6),
});

/** Operations that fence a few jobs from two workers and end that (R7). */
export const fencing: fc.Arbitrary<Operation> = fc.oneof(
	{ weight: 2, arbitrary: insertion },
	{ weight: 6, arbitrary: claim },
	{
		weight: 5,
		arbitrary: fc.record({
			name: fc.constant("jobs.move" as const),
			endpoint: fc.constant("e1"),
			job: fc.nat({ max: 3 }),
			on: fc.constantFrom("release", "lose", "lose"),
			attempt: fc.constantFrom(1, 1, 2, 3),
			over: fc.boolean(),
			queueBound: fc.constant(undefined),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			name: fc.constant("jobs.report" as const),
			endpoint: fc.constant("e1"),
			worker,
			job: fc.nat({ max: 3 }),
			on: fc.constant("fail"),
			large: fc.constant(false),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			name: fc.constantFrom("workers.ping" as const, "workers.idle" as const),
			endpoint: fc.constant("e1"),
			worker,
			named: fc.constant([]),
		}),
	},
);

/** Operations on the chunks of a few jobs, and their reservations (R8). */
export const streaming: fc.Arbitrary<Operation> = fc.oneof(
	{ weight: 1, arbitrary: insertion },
	{ weight: 2, arbitrary: claim },
	{
		weight: 4,
		arbitrary: fc.record({
			name: fc.constant("chunks.append" as const),
			endpoint: fc.constant("e1"),
			worker,
			job: fc.nat({ max: 2 }),
			chunks: fc.constantFrom(["1"], ["2", "3"]),
			unlessLast: fc.boolean(),
		}),
	},
	{ weight: 6, arbitrary: reservation },
);

/** Batches at one time; one list in `transactions` shares a transaction, if it writes. */
const roundOf = (operation: fc.Arbitrary<Operation>) =>
	fc.record({
		passes: fc.constantFrom(...PASSES),
		/**
		 * Settles first what the time brings, and only then may operations and commits fail: after a
		 * failure, lost jobs may be taken back one by one instead of together, in another order.
		 */
		settled: fc.boolean(),
		transactions: fc.array(
			fc.record({
				batches: fc.array(fc.array(operation, { minLength: 1, maxLength: 6 }), {
					minLength: 1,
					maxLength: 4,
				}),
				commitFails: fc.constantFrom(false, false, false, true),
			}),
			{ minLength: 1, maxLength: 4 },
		),
	});
export const roundsOf = (operation: fc.Arbitrary<Operation>) =>
	fc.array(roundOf(operation), { minLength: 1, maxLength: 6 });
