/** The checker finds bugs of background responses (D58) that are planted in the store of a running service. */
import { expect, it } from "vitest";
import type { ChunkRead, JobRecord } from "../../src/kernel/store/contract/jobs.ts";
import { every, type Plant, rulesOf } from "./planted-service.ts";

/** Clients that use responses, and for how long at most, ms. */
const [CLIENTS, MS] = [8, 12_000];

/** A store whose records of responses are what `changed` makes of some of them. */
function showing(some: () => boolean, changed: (found: JobRecord) => Partial<JobRecord>): Plant {
	return ({ jobs }) => ({
		jobs: {
			async record(q) {
				const found = await jobs.record(q);
				return found?.job.operation === "openai" && some() ? { ...found, ...changed(found) } : found;
			},
		},
	});
}

/** A store whose readers of chunks get what `changed` makes of some reads. */
function reading(some: () => boolean, changed: (found: ChunkRead) => Partial<ChunkRead>): Plant {
	return ({ chunks }) => ({
		chunks: {
			async read(q) {
				const found = await chunks.read(q);
				return found && found.chunks.length > 1 && some() ? { ...found, ...changed(found) } : found;
			},
		},
	});
}

it("a service without a bug breaks no rule", { timeout: 60_000 }, async () => {
	expect(await rulesOf(() => ({}), ["stream"], { ms: 5000, responses: CLIENTS })).toEqual([]);
});

it.each<[string, string, Plant]>([
	[
		"response-ends",
		"shows some that have ended as waiting",
		showing(every(3), ({ job }) => ({ job: { ...job, state: job.endedAt === undefined ? job.state : "IN_QUEUE" } })),
	],
	[
		"response-ends",
		"shows some that have completed as failed",
		showing(every(3), ({ job }) => ({ job: { ...job, state: job.state === "COMPLETED" ? "FAILED" : job.state } })),
	],
	[
		"response-kept",
		"shows some results changed",
		showing(every(3), ({ output }) =>
			typeof output === "string" ? { output: output.replace("}", ',"more":1}') } : {},
		),
	],
	[
		"response-events",
		"loses the first chunk of some reads",
		reading(every(3), ({ chunks }) => ({ chunks: chunks.slice(1) })),
	],
	[
		"response-events",
		"gives some readers chunks in another order",
		reading(every(3), ({ chunks }) => ({ chunks: chunks.toReversed() })),
	],
	[
		"response-deltas",
		"acknowledges chunks that it does not store",
		({ chunks }) => {
			const some = every(9);
			return {
				chunks: {
					append: async (q) => await chunks.append(some() ? { ...q, chunks: q.chunks.slice(0, -1) } : q),
				},
			};
		},
	],
])("%s: a service that %s", { timeout: 60_000 }, async (rule, _, plant) => {
	expect(await rulesOf(plant, ["stream"], { ms: MS, responses: CLIENTS })).toContain(rule);
});
