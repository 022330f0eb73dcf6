/** Which reason an endpoint shows. */
import { describe, expect, it } from "vitest";
import { type HeldBack, reasonOf, reasonText, type WorkerReason } from "./worker-reason.ts";

const NOW = 1_000_000;
const WAITS: WorkerReason = { code: "unschedulable", message: "0/1 nodes are available." };
const PULLS = { code: "image_pull", message: "Pulling image a:1.", progress: 0 } as const;
const ENDED = {
	code: "evicted",
	message: "the node was low on memory",
	at: NOW - 600_000,
} as const;

describe("D29: why an endpoint lacks workers", () => {
	it.each<[string, HeldBack, WorkerReason[], WorkerReason | undefined]>([
		["nothing is known", {}, [], undefined],
		[
			"a crash is before all else, as a sentence",
			{ crashing: "it ended", crashCode: "out_of_memory", withoutGpu: "None.", ended: ENDED },
			[WAITS],
			{ code: "out_of_memory", message: "It ended." },
		],
		[
			"a pull that goes on is before the one that failed",
			{ crashing: "no access", crashCode: "image_pull" },
			[WAITS, PULLS],
			PULLS,
		],
		["not before another crash", { crashing: "x" }, [PULLS], { code: "crashed", message: "X." }],
		[
			"nor before its first byte",
			{ crashing: "no access", crashCode: "image_pull" },
			[{ code: "image_pull", message: PULLS.message }],
			{ code: "image_pull", message: "No access." },
		],
		["an image that is pulled before a worker is needed", { preparing: PULLS, ended: ENDED }, [], PULLS],
		["what waits is before it", { preparing: PULLS }, [WAITS], WAITS],
		["an earlier version names no code", { crashing: "x" }, [], { code: "crashed", message: "X." }],
		["the first that waits", { withoutGpu: "None." }, [WAITS, { ...WAITS, code: "queued" }], WAITS],
		["no GPU", { withoutGpu: "None.", ended: ENDED }, [], { code: "no_gpu_free", message: "None." }],
		["the last end", { ended: ENDED }, [], { code: "evicted", message: "The node was low on memory." }],
		[
			"with what it printed",
			{ crashing: "it ended", retryAt: NOW + 1, printed: { code: "crashed", line: "Error: no model" } },
			[],
			{ code: "crashed", message: "It ended.", retryAt: NOW + 1, lastLine: "Error: no model" },
		],
		[
			"not with what another one printed",
			{ ended: ENDED, printed: { code: "crashed", line: "Error: no model" } },
			[],
			{ code: "evicted", message: "The node was low on memory." },
		],
		["10 minutes later", { ended: { ...ENDED, at: NOW - 600_001 } }, [], undefined],
	])("%s", (_, heldBack, waiting, reason) => {
		expect(reasonOf(heldBack, { waiting, now: NOW })).toEqual(reason);
	});
});

it("D29: the text of a reason has its percentage", () => {
	expect(reasonText(PULLS)).toBe("Pulling image a:1, 0 %.");
	expect(reasonText(WAITS)).toBe("0/1 nodes are available.");
});
