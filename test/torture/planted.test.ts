/** The checker finds bugs that are planted in the store of a running service. */
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { EndpointName } from "./plan.ts";
import { every, type Plant, rulesOf } from "./planted-service.ts";

/** Longest time for a bug that shows when all is known, or the service starts again. */
const AT_END_MS = 1500;
const AT_END = new Set(["health", "purge-count", "queue-limit"]);

/** Operators who change much between two restarts. */
const OPERATORS = 16;

/** Clients that upload, read and delete files. */
const FILES = 8;

it("a service without a bug breaks no rule", { timeout: 60_000 }, async () => {
	expect(await rulesOf(() => ({}), ["bulk", "purge", "queue"], { ms: 1500 })).toEqual([]);
	expect(await rulesOf(() => ({}), ["purge"], { ms: 3000, operators: OPERATORS, files: FILES })).toEqual([]);
});

it.each<[string, string, EndpointName, Plant]>([
	[
		"acknowledged-exists",
		"acknowledges a job that it does not store",
		"bulk",
		({ jobs }) => {
			const lies = every(40);
			return {
				jobs: {
					insert: async (q) =>
						await jobs.insert(!q.idempotency && lies() ? { ...q, submission: { ...q.submission, endpoint: "x" } } : q),
				},
			};
		},
	],
	[
		"acknowledged-exists",
		"lets results expire at once",
		"bulk",
		({ jobs }) => ({
			jobs: { insert: (q) => jobs.insert({ ...q, submission: { ...q.submission, retainMs: 1 } }) },
		}),
	],
	[
		"acknowledged-result",
		"acknowledges a result that it does not store",
		"bulk",
		({ jobs }) => {
			const lies = every(20);
			return {
				jobs: {
					report: async (q) => (lies() ? { ok: false, why: "state" as const } : await jobs.report(q)),
				},
			};
		},
	],
	[
		"late-result",
		"ignores the late result of a lost run",
		"plain",
		({ jobs }) => ({
			jobs: {
				async report(q) {
					const found = await jobs.get({ ...q, large: "size" });
					return await jobs.report(found?.job.state === "IN_QUEUE" ? { ...q, outcome: { on: "release" } } : q);
				},
			},
		}),
	],
	[
		"one-job-per-request",
		"forgets idempotency keys",
		"bulk",
		({ jobs }) => ({ jobs: { insert: (q) => jobs.insert({ ...q, idempotency: undefined }) } }),
	],
	[
		"one-attempt-at-a-time",
		"hands a job out twice",
		"bulk",
		({ jobs }) => {
			const again = every(5);
			return {
				jobs: {
					async claim(q) {
						const claim = await jobs.claim(q);
						return again() ? { ...claim, jobs: [...claim.jobs, ...claim.jobs] } : claim;
					},
				},
			};
		},
	],
	[
		"input-unchanged",
		"hands out another input",
		"bulk",
		({ jobs }) => ({
			jobs: {
				async claim(q) {
					const claim = await jobs.claim(q);
					const changed = (input: unknown) => String(input).replace('"payload":"x', '"payload":"y');
					return {
						...claim,
						jobs: claim.jobs.map((each) => ({ ...each, input: changed(each.input) })),
					};
				},
			},
		}),
	],
	[
		"output-of-one-attempt",
		"stores another result",
		"bulk",
		({ jobs }) => ({
			jobs: { report: (q) => jobs.report({ ...q, outcome: { ...q.outcome, output: '"x"' } }) },
		}),
	],
	[
		"health",
		"counts a job too many",
		"bulk",
		({ jobs }) => ({
			jobs: {
				async counts(q) {
					const counts = await jobs.counts(q);
					return { ...counts, completed: counts.completed + 1 };
				},
			},
		}),
	],
	[
		"queue-limit",
		"does not limit the queue",
		"queue",
		({ jobs }) => ({ jobs: { insert: (q) => jobs.insert({ ...q, queueBound: undefined }) } }),
	],
	[
		"purge-count",
		"counts a purged job too many",
		"purge",
		({ jobs }) => ({ jobs: { purge: async (q) => (await jobs.purge(q)) + 1 } }),
	],
	[
		"deadlines",
		"lets jobs run too long",
		"mixed",
		({ jobs }) => ({
			jobs: {
				insert: ({ submission, ...q }) => {
					const executionTimeoutMs = submission.executionTimeoutMs + 700;
					return jobs.insert({ ...q, submission: { ...submission, executionTimeoutMs } });
				},
			},
		}),
	],
	[
		"chunks",
		"loses a chunk",
		"stream",
		({ chunks }) => {
			const loses = every(9);
			return {
				chunks: { append: (q) => chunks.append(loses() ? { ...q, chunks: [] } : q) },
			};
		},
	],
	[
		"chunks",
		"delivers chunks again",
		"stream",
		({ chunks }) => {
			const forgets = every(3);
			return {
				chunks: { deliver: (q) => chunks.deliver(forgets() ? { ...q, delivered: false } : q) },
			};
		},
	],
])("%s: a service that %s", { timeout: 60_000 }, async (rule, _, name, plant) => {
	const use = AT_END.has(rule) ? { ms: AT_END_MS } : {};
	expect(await rulesOf(plant, [name], use)).toContain(rule);
});

it.each<[string, Plant]>([
	[
		"drops an acknowledged change of an endpoint",
		({ endpoints }) => {
			const lies = every(2);
			return { endpoints: { put: async (q) => (q.before && lies() ? true : await endpoints.put(q)) } };
		},
	],
	["lets a deleted endpoint come back", () => ({ endpoints: { remove: () => Promise.resolve(true) } })],
	[
		"drops an acknowledged change of a template",
		({ resources }) => {
			const lies = every(3);
			return { resources: { update: async (q) => lies() || (await resources.update(q)) } };
		},
	],
])("change-kept: a service that %s", { timeout: 60_000 }, async (_, plant) => {
	const broken = await rulesOf(plant, ["purge"], { ms: 5000, operators: OPERATORS });
	expect(new Set(broken)).toEqual(new Set(["change-kept"]));
});

it.each<[string, Plant]>([
	[
		"drops an acknowledged file",
		({ files }) => {
			const lies = every(5);
			return { files: { insert: async (q) => (lies() ? "inserted" : await files.insert(q)) } };
		},
	],
	[
		"keeps half a file",
		({ files, filesFolder }) => ({
			files: {
				async insert({ row, ...q }) {
					const bytes = Math.floor(row.bytes / 2);
					await truncate(join(filesFolder!.path, row.id), bytes);
					return await files.insert({ ...q, row: { ...row, bytes } });
				},
			},
		}),
	],
	[
		"loses the bytes of a file",
		({ files, filesFolder }) => {
			const loses = every(5);
			return {
				files: {
					async insert(q) {
						if (loses()) await filesFolder!.remove(q.row.id);
						return await files.insert(q);
					},
				},
			};
		},
	],
	[
		"lets a deleted file come back",
		({ files }) => ({ files: { remove: (q) => files.find(q) }, filesFolder: { remove: () => Promise.resolve() } }),
	],
])("file-kept: a service that %s", { timeout: 60_000 }, async (_, plant) => {
	const broken = await rulesOf(plant, ["purge"], { ms: 8000, files: FILES });
	expect(new Set(broken)).toEqual(new Set(["file-kept"]));
});

it.each<[string, Plant]>([
	[
		"counts bytes of an endpoint without files",
		({ files }) => ({
			files: { totals: async () => [...(await files.totals()), { endpoint: "plain", files: 0, bytes: 1 }] },
		}),
	],
	[
		"counts one byte more",
		({ files }) => ({
			files: { totals: async () => (await files.totals()).map((each) => ({ ...each, bytes: each.bytes + 1 })) },
		}),
	],
])("file-totals: a service that %s", { timeout: 60_000 }, async (_, plant) => {
	const broken = await rulesOf(plant, ["purge"], { ms: 4000, files: FILES });
	expect(new Set(broken)).toEqual(new Set(["file-totals"]));
});
