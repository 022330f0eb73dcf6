/** Attempts as returned, and the reason a job waits. */
import { describe, expect, it } from "vitest";
import { type Attempt, type Job, newJob } from "./job.ts";
import { attemptsOf, REASON_CODES, waitReason, type WaitSample } from "./timeline.ts";

const FRESH = newJob(
	{
		id: "j",
		endpoint: "ep",
		operation: "run",
		lowPriority: false,
		ttlMs: 1,
		executionTimeoutMs: 1,
		leaseMs: 1,
		retainMs: 1,
		recordMs: 1,
	},
	0,
);
const LOST: Attempt = {
	attempt: 1,
	worker: "w1",
	startedAt: 10,
	endedAt: 20,
	end: "lost",
	open: true,
	missed: 0,
};

describe("attemptsOf", () => {
	const running: Job = { ...FRESH, state: "IN_PROGRESS", attempt: 2, worker: "w2", startedAt: 30 };

	it("D39: a job that waits has those of its history", () => {
		expect(attemptsOf(FRESH, [])).toEqual([]);
		expect(attemptsOf({ ...FRESH, attempt: 1 }, [LOST])).toEqual([
			{ attempt: 1, worker: "w1", startedAt: 10, endedAt: 20, end: "lost", open: true },
		]);
	});

	it("D39: the present one is running", () => {
		expect(attemptsOf(running, [LOST]).at(-1)).toEqual({
			attempt: 2,
			worker: "w2",
			startedAt: 30,
			end: "running",
			open: true,
		});
	});

	it("D39: the last one ended as the job did", () => {
		for (const [state, end] of [
			["COMPLETED", "completed"],
			["FAILED", "failed"],
		] as const) {
			expect(attemptsOf({ ...running, state, endedAt: 40 }, []).at(-1)).toEqual({
				attempt: 2,
				worker: "w2",
				startedAt: 30,
				endedAt: 40,
				end,
				open: false,
			});
		}
	});

	it("D39: one that stands in the history is returned once", () => {
		const cancelled: Attempt = { ...LOST, attempt: 2, worker: "w2", end: "cancelled" };
		expect(attemptsOf({ ...running, state: "CANCELLED", endedAt: 40 }, [cancelled])).toHaveLength(1);
	});

	it("D16: one that began with the lost one before it continues that", () => {
		const late: Job = { ...running, worker: "w1", startedAt: 10, state: "COMPLETED", endedAt: 40 };
		expect(attemptsOf(late, [LOST]).map(({ continues }) => continues)).toEqual([undefined, 1]);
		const undelivered = { ...LOST, worker: "w2", startedAt: LOST.endedAt, end: "released" } as const;
		expect(attemptsOf(late, [LOST, undelivered]).at(-1)).toMatchObject({ continues: 1 });
		expect(attemptsOf({ ...late, worker: "w2" }, [LOST]).at(-1)).not.toHaveProperty("continues");
		expect(attemptsOf(late, [{ ...LOST, end: "released" }]).at(-1)).not.toHaveProperty("continues");
	});

	it.each([
		[{ end: "cancelled", open: true }, "unconfirmed"],
		[{ end: "timed_out", open: true }, "unconfirmed"],
		[{ end: "cancelled", open: false }, "confirmed"],
		[{ end: "timed_out", open: false, killed: true }, "killed"],
		[{ end: "lost", open: false, killed: true }, undefined],
		[{ end: "released", open: true }, undefined],
	] as const)("D18: of %j the step that ended the run is %s", (end, stop) => {
		expect(attemptsOf(FRESH, [{ ...LOST, ...end }])[0]?.stop).toBe(stop);
	});
});

describe("waitReason", () => {
	const sample: WaitSample = {
		endpoint: "ep",
		paused: false,
		external: false,
		workersMax: 3,
		idle: [],
		busy: [],
		starting: [],
		fenced: [],
	};
	const cases: [string, Partial<WaitSample>, string][] = [
		["paused comes before all else", { paused: true, workersMax: 0, busy: ["w1"] }, "paused"],
		["no worker may start", { workersMax: 0 }, "no_worker_allowed"],
		["workersMax binds only launched workers", { workersMax: 0, external: true, busy: ["w1"] }, "workers_busy"],
		[
			"every worker may still run an old attempt",
			{ idle: ["w1"], busy: ["w2"], fenced: ["w1", "w2", "w9"] },
			"old_attempt_running",
		],
		["one of the workers is free of old attempts", { busy: ["w1", "w2"], fenced: ["w1"] }, "workers_busy"],
		["all are busy while another starts", { busy: ["w1"], starting: ["w2"] }, "workers_busy"],
		["one is free", { idle: ["w1"], busy: ["w2"] }, "worker_starting"],
		["one starts", { starting: ["w1"], crashing: "code 1" }, "worker_starting"],
		["they end before they work", { crashing: "code 1" }, "workers_crashing"],
		["nobody attached", { external: true }, "no_worker"],
		["nobody attached, whatever its priority", { external: true, onlyLowPriority: true }, "no_worker"],
		["no GPU is free", { withoutGpu: "All are taken." }, "no_gpu_free"],
		["no GPU is free for one more", { withoutGpu: "All are taken.", busy: ["w1"] }, "workers_busy"],
		["low priority starts none", { onlyLowPriority: true }, "low_priority"],
		["low priority, and one is starting anyway", { onlyLowPriority: true, starting: ["w1"] }, "worker_starting"],
		["nothing yet", {}, "worker_starting"],
	];

	it.each([
		[0, "All 2 workers are busy."],
		[1, "All 2 workers are busy; 1 waiting job was submitted before."],
		[100, "All 2 workers are busy; 100 waiting jobs were submitted before."],
		[101, "All 2 workers are busy; over 100 waiting jobs were submitted before."],
	])("D29: behind %i jobs", (ahead, message) => {
		expect(waitReason({ ...sample, busy: ["w1", "w2"], ahead }).message).toBe(message);
	});

	it.each(cases)("D29: %s", (_, given, code) => {
		const reason = waitReason({ ...sample, ...given });
		expect(reason.code).toBe(code);
		expect(reason.message).toMatch(/^[A-Z].*[.\d]$/s);
	});

	it("D29: every code has a case", () => {
		expect(new Set(cases.map(([, , code]) => code))).toEqual(new Set(REASON_CODES));
	});

	it("D29: the last exit is in the sentence", () => {
		expect(waitReason({ ...sample, crashing: "it ended with code 3" }).message).toContain("code 3");
	});
});
