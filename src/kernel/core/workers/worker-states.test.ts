/** The table of transitions, spelled out a second time: each event in each stage and on each course. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
	nextWorkerState,
	WORKER_COURSES,
	WORKER_RULES,
	WORKER_STAGES,
	workerEffects,
	type WorkerCourse,
	type WorkerEvent,
	type WorkerStage,
	type WorkerState,
} from "./worker-states.ts";

type Moves<T extends string> = Partial<Record<T, T>> | "any";

/** Where each event leads from each stage and course where it may happen; `any`: it may in each, and keeps it. */
const EXPECTED: Record<WorkerEvent, { stage: Moves<WorkerStage>; course: Moves<WorkerCourse> }> = {
	call: { stage: { starting: "ready" }, course: "any" },
	begin_sleep: { stage: { ready: "falling_asleep" }, course: { staying: "staying" } },
	stay_awake: { stage: { falling_asleep: "ready" }, course: "any" },
	complete_sleep: { stage: { falling_asleep: "asleep" }, course: "any" },
	find_asleep: { stage: { starting: "asleep", ready: "asleep", asleep: "asleep" }, course: "any" },
	begin_wake: { stage: { asleep: "waking" }, course: { staying: "staying" } },
	complete_wake: { stage: { waking: "ready" }, course: "any" },
	retire: { stage: "any", course: { staying: "retiring", retiring: "retiring" } },
	withdraw_retire: { stage: "any", course: { staying: "staying", retiring: "staying" } },
	close: { stage: "any", course: { staying: "closed", retiring: "closed", closed: "closed" } },
	stop: {
		stage: "any",
		course: { staying: "stopping", retiring: "stopping", closed: "stopping", stopping: "stopping" },
	},
	withdraw_stop: { stage: "any", course: { stopping: "staying" } },
	end: { stage: "any", course: { staying: "ended", retiring: "ended", closed: "ended", stopping: "ended" } },
};
const EVENTS = Object.keys(EXPECTED) as WorkerEvent[];

const STATES = WORKER_STAGES.flatMap((stage) => WORKER_COURSES.map((course): WorkerState => ({ stage, course })));

function expected({ stage, course }: WorkerState, on: WorkerEvent): WorkerState | undefined {
	const { stage: stages, course: courses } = EXPECTED[on];
	const to = {
		stage: stages === "any" ? stage : stages[stage],
		course: courses === "any" ? (course === "ended" ? undefined : course) : courses[course],
	};
	return to.stage && to.course ? { stage: to.stage, course: to.course } : undefined;
}

describe("machine", () => {
	it("D28: the table has each event once, and no other", () => {
		expect(WORKER_RULES.map(({ on }) => on).toSorted()).toEqual(EVENTS.toSorted());
	});

	it.each(EVENTS)("D28: %s in each state", (on) => {
		for (const state of STATES) expect(nextWorkerState(state, on), JSON.stringify(state)).toEqual(expected(state, on));
	});

	it("D34: nothing happens to a worker that has ended", () => {
		for (const on of EVENTS) expect(nextWorkerState({ stage: "ready", course: "ended" }, on), on).toBeUndefined();
	});

	it("D28: polls end where a worker gets no more jobs", () => {
		expect(EVENTS.filter((on) => workerEffects(on).includes("polls"))).toEqual([
			"begin_sleep",
			"retire",
			"close",
			"stop",
		]);
	});

	it("D28: a stage in which a worker is not awake has its begin", () => {
		for (const { on, ...rule } of WORKER_RULES) {
			const to = "stage" in rule ? rule.stage.to : "ready";
			expect(workerEffects(on).includes("since"), on).toBe(to !== "ready");
		}
	});

	it("every row names its source", () => {
		for (const { on, source } of WORKER_RULES) expect(source, on).toMatch(/^D\d/);
	});
});

it("D28: whatever happens, GPUs are given up and taken by a command, and a stop is not lost", () => {
	fc.assert(
		fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 40 }), (events) => {
			let state: WorkerState = { stage: "starting", course: "staying" };
			for (const on of events) {
				const to = nextWorkerState(state, on);
				if (!to) continue;
				if (to.stage === "asleep" && state.stage !== "asleep") expect(["complete_sleep", "find_asleep"]).toContain(on);
				if (state.stage === "asleep" && to.stage !== "asleep")
					expect([on, state.course]).toEqual(["begin_wake", "staying"]);
				if (state.course === "stopping" && to.course !== "stopping") expect(["withdraw_stop", "end"]).toContain(on);
				if (state.course === "closed") expect(["closed", "stopping", "ended"]).toContain(to.course);
				if (to.stage === "starting") expect(state.stage).toBe("starting");
				state = to;
			}
		}),
	);
});
