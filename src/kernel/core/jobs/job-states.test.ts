/** The table of transitions, spelled out a second time: each event in each state. */
import { describe, expect, it } from "vitest";
import {
	allowed,
	FINAL_STATES,
	isFinal,
	JOB_STATES,
	type JobEvent,
	type JobState,
	next,
	ruleOf,
	RULES,
} from "./job-states.ts";

/**
 * Where each event leads from each state where it may happen; `stays` where the state is kept,
 * `removed` where nothing is left.
 */
const EXPECTED: Record<JobEvent, Partial<Record<JobState, JobState | "stays" | "removed">>> = {
	claim: { IN_QUEUE: "IN_PROGRESS" },
	resume: { IN_QUEUE: "IN_PROGRESS" },
	complete: { IN_PROGRESS: "COMPLETED" },
	fail: { IN_PROGRESS: "FAILED" },
	overrun: { IN_PROGRESS: "TIMED_OUT" },
	lapse: { IN_QUEUE: "TIMED_OUT" },
	lose: { IN_PROGRESS: "IN_QUEUE" },
	exhaust: { IN_PROGRESS: "FAILED" },
	release: { IN_PROGRESS: "IN_QUEUE" },
	cancel: { IN_QUEUE: "CANCELLED", IN_PROGRESS: "CANCELLED" },
	retry: { FAILED: "IN_QUEUE", TIMED_OUT: "IN_QUEUE" },
	purge: { IN_QUEUE: "removed" },
	expire: { COMPLETED: "stays", FAILED: "stays", CANCELLED: "stays", TIMED_OUT: "stays" },
	forget: { COMPLETED: "removed", FAILED: "removed", CANCELLED: "removed", TIMED_OUT: "removed" },
};
const EVENTS = Object.keys(EXPECTED) as JobEvent[];

describe("machine", () => {
	it("spec 3: the states are the six of the specification, four of them final", () => {
		expect(JOB_STATES).toEqual(["IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"]);
		expect(JOB_STATES.filter(isFinal)).toEqual([...FINAL_STATES]);
	});

	it("spec 3: the table has each event once, and no other", () => {
		expect(RULES.map(({ on }) => on).toSorted()).toEqual(EVENTS.toSorted());
	});

	describe.each(EVENTS)("%s", (on) => {
		it.each(JOB_STATES)("spec 3: in %s", (state) => {
			const to = EXPECTED[on][state];
			expect(allowed(state, on)).toBe(to !== undefined);
			expect(next(state, on)).toBe(to === "stays" || to === "removed" ? undefined : to);
		});
	});

	it("D16: a final state is left by retry alone", () => {
		const leaving = EVENTS.flatMap((on) => FINAL_STATES.filter((state) => next(state, on) !== undefined).map(() => on));
		expect(new Set(leaving)).toEqual(new Set(["retry"]));
	});

	it("D16: what returns by loss or release joins the front, what is retried the back", () => {
		const places = EVENTS.filter((on) => ruleOf(on).to === "IN_QUEUE").map((on) => [
			on,
			ruleOf(on).effects.find((effect) => effect === "front" || effect === "back"),
		]);
		expect(places).toEqual([
			["lose", "front"],
			["release", "front"],
			["retry", "back"],
		]);
	});

	it("D18: what ends a run from outside stops the worker, what a worker reports does not", () => {
		expect(EVENTS.filter((on) => ruleOf(on).effects.includes("stop")).toSorted()).toEqual(["cancel", "overrun"]);
	});

	it("every event that leads into a final state settles the job", () => {
		for (const on of EVENTS) {
			const { to, effects } = ruleOf(on);
			expect(effects.includes("settle"), on).toBe(to !== undefined && isFinal(to));
		}
	});

	it("every row names its source", () => {
		for (const { on, source } of RULES) expect(source, on).toMatch(/^(spec \d|D\d)/);
	});
});
