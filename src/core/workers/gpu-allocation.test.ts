/** Who gets which GPU, and who goes for it: cases, and what holds for every machine. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allocateGpus, type GpuHolder, type GpuQuery, MIN_STAY_MS } from "./gpu-allocation.ts";

const NOW = 1_000_000;
const idle = (worker: string, endpoint: string, gpus: number[], idleMs = 1000): GpuHolder => ({
	worker,
	endpoint,
	gpus,
	idleSince: NOW - idleMs,
	readyAt: NOW - MIN_STAY_MS - idleMs,
	stopping: false,
});
const busy = (worker: string, endpoint: string, gpus: number[]): GpuHolder => ({
	worker,
	endpoint,
	gpus,
	readyAt: 0,
	stopping: false,
});
const ask = (given: Partial<GpuQuery>): GpuQuery => ({
	total: 2,
	needed: 1,
	endpoint: "a",
	holders: [],
	keep: () => 0,
	now: NOW,
	...given,
});

describe("assignSlots", () => {
	const cases: [string, Partial<GpuQuery>, object][] = [
		["the lowest free number", { holders: [busy("w1", "b", [0])] }, { gpus: [1] }],
		["as many as needed", { total: 4, needed: 2, holders: [busy("w1", "b", [1])] }, { gpus: [0, 2] }],
		["none for a worker that needs none", { total: 0, needed: 0 }, { gpus: [] }],
		["a busy one never makes room", { total: 1, holders: [busy("w1", "b", [0])] }, { evict: [] }],
		[
			"one that starts never makes room",
			{ total: 1, holders: [{ ...busy("w1", "b", [0]), readyAt: undefined }] },
			{ evict: [] },
		],
		["an idle one of the same endpoint never makes room", { total: 1, holders: [idle("w1", "a", [0])] }, { evict: [] }],
		["an idle one of another endpoint makes room", { total: 1, holders: [idle("w1", "b", [0])] }, { evict: ["w1"] }],
		["the longest idle one goes", { holders: [idle("w1", "b", [0], 10), idle("w2", "b", [1], 20)] }, { evict: ["w2"] }],
		[
			"as many go as are needed",
			{ needed: 2, holders: [idle("w1", "b", [0], 10), idle("w2", "b", [1], 20)] },
			{ evict: ["w2", "w1"] },
		],
		[
			"nobody goes when it would not be enough",
			{ needed: 2, holders: [idle("w1", "b", [0]), busy("w2", "b", [1])] },
			{ evict: [] },
		],
		["nobody goes for more than the machine has", { needed: 3, holders: [idle("w1", "b", [0, 1])] }, { evict: [] }],
		[
			"nobody goes while enough are coming free",
			{ total: 2, holders: [{ ...busy("w1", "b", [0]), stopping: true }, idle("w2", "b", [1])] },
			{ evict: [] },
		],
		[
			"one that has just started stays",
			{ total: 1, holders: [{ ...idle("w1", "b", [0]), readyAt: NOW - MIN_STAY_MS + 1 }] },
			{ evict: [] },
		],
		[
			"workersMin stays",
			{ holders: [idle("w1", "b", [0], 30), idle("w2", "b", [1], 20)], needed: 2, keep: () => 1 },
			{ evict: [] },
		],
		[
			"what is above workersMin goes",
			{ holders: [idle("w1", "b", [0], 30), idle("w2", "b", [1], 20)], keep: () => 1 },
			{ evict: ["w1"] },
		],
	];
	it.each(cases)("D27: %s", (_, given, expected) => {
		expect(allocateGpus(ask(given))).toEqual(expected);
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
					stopping,
				};
			});
		});

	it("D27: gives only free GPUs, and evicts only workers that may be stopped and only if that is enough", () => {
		fc.assert(
			fc.property(holders, fc.nat(4), fc.nat(4), fc.nat(2), (present, spare, needed, min) => {
				const held = present.flatMap(({ gpus }) => gpus);
				const q = ask({ total: held.length + spare, needed, holders: present, keep: () => min });
				const answer = allocateGpus(q);
				if ("gpus" in answer) {
					expect(new Set(answer.gpus).size).toBe(needed);
					for (const gpu of answer.gpus) expect(held.includes(gpu) || gpu >= q.total).toBe(false);
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
