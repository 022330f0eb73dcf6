/** Who gets which GPU, and who goes for it: cases, and what holds for every machine. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MIN_STAY_MS, TURN_MS } from "./eviction.ts";
import { allocateGpus, type GpuHolder, type GpuQuery, wakeOrAllocate } from "./gpu-allocation.ts";
import { RESERVE_GB } from "../../../kernel/core/workers/gpu-part.ts";

const NOW = 1_000_000;
const idle = (worker: string, endpoint: string, gpus: number[], idleMs = 1000): GpuHolder => ({
	worker,
	endpoint,
	gpus,
	idleSince: NOW - idleMs,
	readyAt: NOW - MIN_STAY_MS - idleMs,
	startingSince: NOW - MIN_STAY_MS - idleMs - 1000,
	stopping: false,
});
const busy = (worker: string, endpoint: string, gpus: number[]): GpuHolder => ({
	worker,
	endpoint,
	gpus,
	readyAt: NOW - MIN_STAY_MS,
	startingSince: NOW - MIN_STAY_MS - 1000,
	stopping: false,
});
const keeping = (workersMin: number): Pick<GpuQuery, "settingsOf"> => ({
	settingsOf: () => ({ priority: "normal", workersMin }),
});
const ask = ({ total = 2, ...given }: Partial<GpuQuery> & { total?: number }): GpuQuery => ({
	sizes: Array.from({ length: total }, () => undefined),
	needed: 1,
	endpoint: "a",
	holders: [],
	...keeping(0),
	mayEvict: true,
	now: NOW,
	...given,
});

describe("allocateGpus", () => {
	const cases: [string, Parameters<typeof ask>[0], object][] = [
		["the lowest free number", { holders: [busy("w1", "b", [0])] }, { gpus: [1] }],
		["as many as needed", { total: 4, needed: 2, holders: [busy("w1", "b", [1])] }, { gpus: [0, 2] }],
		["none for a worker that needs none", { total: 0, needed: 0 }, { gpus: [] }],
		["a busy one never makes room", { total: 1, holders: [busy("w1", "b", [0])] }, { evict: [], reserved: [0] }],
		[
			"one that starts never makes room",
			{ total: 1, holders: [{ ...busy("w1", "b", [0]), readyAt: undefined }] },
			{ evict: [], reserved: [0] },
		],
		[
			"an idle one of the same endpoint never makes room",
			{ total: 1, holders: [idle("w1", "a", [0])] },
			{ evict: [], reserved: [] },
		],
		[
			"an idle one of another endpoint makes room",
			{ total: 1, holders: [idle("w1", "b", [0])] },
			{ evict: ["w1"], reserved: [0] },
		],
		[
			"the longest idle one goes",
			{ holders: [idle("w1", "b", [0], 10), idle("w2", "b", [1], 20)] },
			{ evict: ["w2"], reserved: [1] },
		],
		[
			"as many go as are needed",
			{ needed: 2, holders: [idle("w1", "b", [0], 10), idle("w2", "b", [1], 20)] },
			{ evict: ["w2", "w1"], reserved: [0, 1] },
		],
		[
			"nobody goes when it would not be enough",
			{ needed: 2, holders: [idle("w1", "b", [0]), busy("w2", "b", [1])] },
			{ evict: [], reserved: [0, 1] },
		],
		[
			"nobody goes for more than the machine has",
			{ needed: 3, holders: [idle("w1", "b", [0, 1])] },
			{ evict: [], reserved: [] },
		],
		[
			"nobody goes while enough are coming free",
			{ total: 2, holders: [{ ...busy("w1", "b", [0]), stopping: true }, idle("w2", "b", [1])] },
			{ evict: [], reserved: [0] },
		],
		[
			"one that has just started stays",
			{ total: 1, holders: [{ ...idle("w1", "b", [0]), readyAt: NOW - MIN_STAY_MS + 1 }] },
			{ evict: [], reserved: [0] },
		],
		[
			"workersMin stays",
			{ holders: [idle("w1", "b", [0], 30), idle("w2", "b", [1], 20)], needed: 2, ...keeping(1) },
			{ evict: [], reserved: [] },
		],
		[
			"what is above workersMin goes",
			{ holders: [idle("w1", "b", [0], 30), idle("w2", "b", [1], 20)], ...keeping(1) },
			{ evict: ["w1"], reserved: [0] },
		],
	];
	it.each(cases)("D27: %s", (_, given, expected) => {
		expect(allocateGpus(ask(given))).toEqual(expected);
	});

	const PARTS = { sizes: [24.2, 24.2, undefined], memoryGb: 10 };
	const part = (holder: GpuHolder, memoryGb: number): GpuHolder => ({ ...holder, memoryGb });
	it.each<[string, Partial<GpuQuery>, object]>([
		["an empty GPU", {}, { gpus: [0], sizeGb: 24.2 }],
		["beside another part", { holders: [part(busy("w1", "b", [1]), 12)] }, { gpus: [1], sizeGb: 24.2 }],
		[
			"not where the parts and the reserve would be more than the GPU",
			{ holders: [part(busy("w1", "b", [0]), 13.8), part(busy("w2", "b", [1]), 24)] },
			{ evict: [], reserved: [0] },
		],
		[
			"to the last byte",
			{ holders: [part(busy("w1", "b", [0]), 13.7), busy("w2", "b", [1])] },
			{ gpus: [0], sizeGb: 24.2 },
		],
		["not on a GPU of unknown size", { sizes: [undefined], holders: [] }, { evict: [], reserved: [] }],
		[
			"not on a GPU that another has whole",
			{ sizes: [24.2], holders: [busy("w1", "b", [0])] },
			{ evict: [], reserved: [0] },
		],
		[
			"a whole GPU is not one of which others have parts",
			{ memoryGb: undefined, holders: [part(busy("w1", "b", [0]), 1)] },
			{ gpus: [1], sizeGb: 24.2 },
		],
		[
			"the longest idle ones whose end helps make room, and no others",
			{
				sizes: [24.2, 24.2],
				holders: [
					part(idle("small", "b", [0], 300), 2),
					part(busy("beside", "b", [0]), 20),
					part(idle("large", "c", [1], 200), 20),
					part(idle("late", "c", [1], 100), 3),
				],
			},
			{ evict: ["large"], reserved: [1] },
		],
	])("D27: a part of a GPU: %s", (_, given, expected) => {
		expect(allocateGpus({ ...ask({}), ...PARTS, ...given })).toEqual(expected);
	});

	it("D27: parts and reserve are never more than the GPU", () => {
		const need = fc.record({
			memoryGb: fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined }),
			ends: fc.nat(),
		});
		fc.assert(
			fc.property(fc.array(need, { maxLength: 30 }), (needs) => {
				const sizes = [24.2, 16.1, 80];
				let held: GpuHolder[] = [];
				for (const [at, { memoryGb: tenths, ends }] of needs.entries()) {
					const memoryGb = tenths === undefined ? undefined : tenths / 10;
					const answer = allocateGpus({ ...ask({ holders: held }), sizes, memoryGb });
					if ("gpus" in answer) held.push({ ...busy(`w${at}`, "b", [...answer.gpus]), memoryGb });
					if (ends % 3 === 0) held = held.filter((_, index) => index !== ends % (held.length || 1));
					for (const [gpu, size] of sizes.entries()) {
						const parts = held.filter(({ gpus }) => gpus.includes(gpu));
						if (parts.some((each) => each.memoryGb === undefined)) expect(parts).toHaveLength(1);
						else expect(parts.reduce((sum, each) => sum + each.memoryGb!, RESERVE_GB)).toBeLessThan(size + 1e-6);
					}
				}
			}),
		);
	});

	const holders = fc
		.array(
			fc.record({
				endpoint: fc.constantFrom("a", "b", "c"),
				size: fc.integer({ min: 1, max: 3 }),
				idleMs: fc.option(fc.nat(30_000), { nil: undefined }),
				readyMs: fc.nat(60_000),
				stopping: fc.boolean(),
			}),
			{ maxLength: 6 },
		)
		.map((drawn) => {
			let next = 0;
			return drawn.map(({ endpoint, size, idleMs, readyMs, stopping }, at): GpuHolder => {
				const gpus = Array.from({ length: size }, () => next++);
				return {
					worker: `w${at}`,
					endpoint,
					gpus,
					idleSince: idleMs === undefined ? undefined : NOW - idleMs,
					readyAt: NOW - readyMs,
					startingSince: NOW - readyMs,
					stopping,
				};
			});
		});

	it("D27: gives only free GPUs, and evicts only workers that may be stopped and only if that is enough", () => {
		fc.assert(
			fc.property(holders, fc.nat(4), fc.nat(4), fc.nat(2), (present, spare, needed, min) => {
				const held = present.flatMap(({ gpus }) => gpus);
				const total = held.length + spare;
				const q = ask({ total, needed, holders: present, ...keeping(min) });
				const answer = allocateGpus(q);
				if ("gpus" in answer) {
					expect(new Set(answer.gpus).size).toBe(needed);
					for (const gpu of answer.gpus) expect(held.includes(gpu) || gpu >= total).toBe(false);
					return;
				}
				expect(needed).toBeGreaterThan(spare);
				const going = present.filter(({ worker }) => answer.evict.includes(worker));
				for (const holder of going) {
					expect(holder).toMatchObject({ stopping: false, idleSince: expect.any(Number) });
					expect(holder.endpoint).not.toBe("a");
					expect(NOW - holder.readyAt!).toBeGreaterThanOrEqual(MIN_STAY_MS);
					expect(
						present.filter((each) => each.endpoint === holder.endpoint && !each.stopping && !going.includes(each))
							.length,
					).toBeGreaterThanOrEqual(min);
				}
				const coming = present
					.filter((holder) => holder.stopping || going.includes(holder))
					.reduce((sum, { gpus }) => sum + gpus.length, 0);
				if (going.length > 0) expect(spare + coming).toBeGreaterThanOrEqual(needed);
			}),
		);
	});
});

describe("wakeOrAllocate", () => {
	const long = { ...busy("b", "b", [0]), readyAt: NOW - 2 * TURN_MS, startingSince: NOW - 2 * TURN_MS };
	const cases: [string, readonly GpuHolder[], object][] = [
		[
			"an idle worker leaves the GPU of one that sleeps",
			[idle("b", "b", [0]), idle("c", "c", [1], 9000)],
			{ evict: ["b"] },
		],
		["no busy one, where an idle one elsewhere suffices", [long, idle("c", "c", [1])], { evict: ["c"], reserved: [1] }],
		[
			"a busy one rather than one elsewhere",
			[long, { ...long, worker: "c", endpoint: "c", gpus: [1] }],
			{ evict: ["b"] },
		],
	];
	it.each(cases)("D28: %s", (_, holders, expected) => {
		expect(wakeOrAllocate(ask({ holders }), [{ gpus: [0] }])).toMatchObject(expected);
	});
});
