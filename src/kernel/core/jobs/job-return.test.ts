/** When a return of a job counts as a loss (D54). */
import { expect, it } from "vitest";
import type { Attempt, Job } from "./job.ts";
import { RETURN_SPAN_MS, returnEvent } from "./job-return.ts";

const T = 1_000_000;

it("D54: the eleventh return of a run is a loss; losses and earlier runs do not count", () => {
	const job = { submittedAt: T, losses: 0 } as Job;
	const past = (over: Partial<Attempt>): Attempt => {
		const at = { attempt: 1, worker: "w1", startedAt: T + 100, endedAt: T + 200, missed: 0 };
		return { ...at, end: "released", open: false, returned: true, ...over };
	};
	const history = (returns: number, over: Partial<Attempt> = {}) =>
		Array.from({ length: returns }, (_, at) => past({ endedAt: T + 200 + at * RETURN_SPAN_MS, ...over }));
	const now = T + 200 + 10 * RETURN_SPAN_MS;
	const event = (past: readonly Attempt[], of: Partial<Job> = {}, asLoss = false) =>
		returnEvent({ ...job, ...of }, { history: past, asLoss, now });
	expect(event(history(9))).toBe("release");
	expect(event(history(10))).toBe("lose");
	expect(event([], {}, true)).toBe("lose");
	expect(event([], { losses: 2 }, true)).toBe("exhaust");
	expect(event(history(10, { end: "lost" }))).toBe("release");
	expect(event(history(10, { returned: false }))).toBe("release");
	expect(event(history(10), { retriedAt: T + 300 })).toBe("release");
	expect(event(history(100, { endedAt: T + 200 })), "within 5 s they count once").toBe("release");
	expect(event([...history(9), past({ endedAt: now - 1 })]), "with the one before").toBe("release");
});
