/** The checker finds bugs of batches (D57) that are planted in the store of a running service. */
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { FileRow } from "../../src/kernel/store/contract/files.ts";
import type { BatchRow } from "../../src/kernel/store/contract/batches.ts";
import { type Progress, progressOf } from "../../src/modules/openai-async/progress.ts";
import { every, type Plant, rulesOf } from "./planted-service.ts";

/** Clients that run batches, and for how long at most, ms. */
const [CLIENTS, MS] = [6, 12_000];

/** A store whose rows of batches keep what `changed` makes of their progress. */
function keeping(changed: (progress: Progress, isOpen: boolean) => Partial<Progress>): Plant {
	return ({ batches }) => ({
		batches: {
			replace({ progress, ...q }) {
				const before = progressOf({ progress });
				const kept = JSON.stringify({ ...before, ...changed(before, q.isOpen) });
				return batches.replace({ ...q, progress: kept });
			},
		},
	});
}

/** A store that shows what `changed` makes of the progress of some rows. */
function showing(some: () => boolean, changed: (progress: Progress, isOpen: boolean) => Partial<Progress>): Plant {
	return ({ batches }) => ({
		batches: {
			async find(q) {
				const row = await batches.find(q);
				if (!row || !some()) return row;
				const progress = progressOf(row);
				return { ...row, progress: JSON.stringify({ ...progress, ...changed(progress, row.isOpen) }) };
			},
		},
	});
}

/** A store in which a batch that went on after a start has one failed request more than it had. */
function countingRestarts(): Plant {
	const all = new Set<string>();
	return ({ batches }) => {
		const earlier = new Set(all);
		return {
			batches: {
				replace(q) {
					all.add(q.id);
					const { shown, ...progress } = progressOf(q);
					const failed = shown.failed + (earlier.has(q.id) ? 1 : 0);
					return batches.replace({ ...q, progress: JSON.stringify({ ...progress, shown: { ...shown, failed } }) });
				},
			},
		};
	};
}

it("a service without a bug breaks no rule", { timeout: 60_000 }, async () => {
	expect(await rulesOf(() => ({}), ["purge"], { ms: 5000, batches: CLIENTS })).toEqual([]);
});

it.each<[string, string, Plant]>([
	[
		"batch-files",
		"writes results twice",
		({ batches, filesFolder }) => ({
			batches: {
				async replace(q) {
					if (q.isOpen || !q.files) return await batches.replace(q);
					const insert: FileRow[] = [];
					for (const row of q.files.insert) {
						const path = join(filesFolder!.path, row.id);
						await appendFile(path, await readFile(path));
						insert.push({ ...row, bytes: 2 * row.bytes });
					}
					return await batches.replace({ ...q, files: { ...q.files, insert } });
				},
			},
		}),
	],
	[
		"batch-files",
		"loses requests at a restart",
		keeping(({ state }) => (state === "in_progress" ? { next: undefined, open: [] } : {})),
	],
	["batch-counts", "counts an attempt that was lost", countingRestarts()],
	[
		"batch-exists",
		"forgets a batch at a restart",
		({ batches }) => {
			const known = new Set<string>();
			const kept = (row: BatchRow | undefined) => (row && known.has(row.id) ? row : undefined);
			return {
				batches: {
					async insert(q) {
						const stored = await batches.insert(q);
						if (stored) known.add(stored.batch.id);
						return stored;
					},
					find: async (q) => kept(await batches.find(q)),
				},
			};
		},
	],
	[
		"batch-once",
		"does not recognise a repeat",
		({ batches }) => ({ batches: { insert: (q) => batches.insert({ ...q, repeatsSince: Number.MAX_SAFE_INTEGER }) } }),
	],
	[
		"batch-order",
		"counts down",
		showing(every(2), ({ shown }, isOpen) => (isOpen ? { shown: { ...shown, completed: 0 } } : {})),
	],
	[
		"batch-order",
		"forgets a cancellation",
		({ batches }) => ({
			batches: {
				async cancel({ now, ...q }) {
					const row = await batches.find(q);
					return row?.isOpen ? { ...row, cancelledAt: now } : row;
				},
			},
		}),
	],
	[
		"batch-kept",
		"changes a batch that has ended",
		showing(every(3), (_, isOpen) => (isOpen ? {} : { errorFile: null })),
	],
	[
		"batch-answer",
		"stores another answer",
		({ jobs }) => ({
			jobs: {
				async report(q) {
					const found = await jobs.get({ ...q, large: "size" });
					const output = '{"n":1}';
					const isOurs = found?.job.operation === "openai" && q.outcome.on === "complete";
					return await jobs.report(isOurs ? { ...q, outcome: { ...q.outcome, output } } : q);
				},
			},
		}),
	],
	[
		"batch-faults",
		"runs a file with a fault",
		({ batches }) => ({
			batches: {
				replace(q) {
					const { state, at } = progressOf(q);
					const isBad = state === "failed" && at.in_progress === undefined;
					if (!isBad) return batches.replace(q);
					const progress = JSON.stringify({ ...progressOf(q), state: "completed", faults: [] });
					return batches.replace({ ...q, progress });
				},
			},
		}),
	],
])("%s: a service that %s", { timeout: 60_000 }, async (rule, _, plant) => {
	expect(await rulesOf(plant, ["purge"], { ms: MS, batches: CLIENTS })).toContain(rule);
});
