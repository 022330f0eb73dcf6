/** The job object in each state, and its two times. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Job, newJob } from "./job.ts";
import { transition } from "./job-transitions.ts";
import { JOB_STATES } from "./job-states.ts";
import { delayTime, executionTime, jobView, statusView } from "./job-view.ts";

const T = 1000;
const WAITING = newJob(
	{
		id: "j",
		endpoint: "e",
		operation: "run",
		lowPriority: false,
		ttlMs: 10_000,
		executionTimeoutMs: 60_000,
		leaseMs: 20_000,
		retainMs: 30_000,
		recordMs: 100_000,
	},
	T,
);
const RUNNING = transition(WAITING, "claim", { now: T + 70, worker: "w" })!.job;
const at = (on: "complete" | "fail" | "cancel" | "overrun"): Job => transition(RUNNING, on, { now: T + 200 })!.job;

function view(job: Job, now: number, texts: { output?: string; error?: string } = {}): Record<string, unknown> {
	return JSON.parse(jobView({ job, ...texts }, now));
}

describe("jobView", () => {
	it("D6: exact members in each state", () => {
		expect(view(WAITING, T + 50)).toEqual({
			id: "j",
			status: "IN_QUEUE",
			delayTime: 50,
			executionTime: 0,
		});
		expect(view(RUNNING, T + 100)).toEqual({
			id: "j",
			status: "IN_PROGRESS",
			delayTime: 70,
			executionTime: 30,
			workerId: "w",
		});
		expect(view(RUNNING, T + 100, { output: '{"step":1}' })).toMatchObject({ output: { step: 1 } });
		expect(view(at("complete"), T + 999, { output: "[1]" })).toEqual({
			id: "j",
			status: "COMPLETED",
			delayTime: 70,
			executionTime: 130,
			output: [1],
			workerId: "w",
		});
		expect(view(at("complete"), T + 999)).not.toHaveProperty("output");
		expect(view(at("fail"), T + 999, { error: "no", output: "7" })).toEqual({
			id: "j",
			status: "FAILED",
			delayTime: 70,
			executionTime: 130,
			output: 7,
			error: "no",
			workerId: "w",
		});
		expect(view(at("overrun"), T + 999, { error: "late", output: "1" })).toEqual({
			id: "j",
			status: "TIMED_OUT",
			delayTime: 70,
			executionTime: 130,
			error: "late",
			workerId: "w",
		});
		expect(view(at("cancel"), T + 999, { output: "1" })).toEqual({
			id: "j",
			status: "CANCELLED",
			delayTime: 70,
			executionTime: 130,
			workerId: "w",
		});
	});

	it("D6: a job that ended in the queue has waited until its end and has no worker", () => {
		expect(view(transition(WAITING, "lapse", { now: T + 10_000 })!.job, T + 90_000, { error: "late" })).toEqual({
			id: "j",
			status: "TIMED_OUT",
			delayTime: 10_000,
			executionTime: 0,
			error: "late",
		});
	});

	it("D6: both times belong to the last attempt; retries stands only above 0", () => {
		const back = transition(RUNNING, "lose", { now: T + 500 })!.job;
		expect(view(back, T + 530)).toEqual({
			id: "j",
			status: "IN_QUEUE",
			delayTime: 30,
			executionTime: 0,
			retries: 1,
		});
		const again = transition(back, "claim", { now: T + 540, worker: "v" })!.job;
		expect(view(again, T + 550)).toMatchObject({
			delayTime: 40,
			executionTime: 10,
			retries: 1,
			workerId: "v",
		});
	});

	it("D5: the output stands byte for byte", () => {
		const output = '{"b":1.0,"a":123456789012345678901,"a":"\\u00e9"}';
		expect(jobView({ job: at("complete"), output }, T)).toContain(`"output":${output},`);
	});

	it("D6: the error is always text, whatever it holds, on one line", () => {
		const error = 'a "quote"\nand \u2028 more \ud800';
		const text = jobView({ job: at("fail"), error }, T);
		expect(JSON.parse(text)).toMatchObject({ error });
		expect(text).not.toContain("\n");
	});

	it("D6: times are integers and never negative, whatever the clock does", () => {
		const time = fc.double({ min: -1e6, max: 1e13, noNaN: true });
		fc.assert(
			fc.property(
				fc.constantFrom(...JOB_STATES),
				time,
				fc.option(time, { nil: undefined }),
				fc.option(time, { nil: undefined }),
				time,
				(state, queuedAt, startedAt, endedAt, now) => {
					const job: Job = { ...WAITING, state, queuedAt, startedAt, endedAt };
					for (const value of [delayTime(job, now), executionTime(job, now)]) {
						expect(Number.isInteger(value)).toBe(true);
						expect(value).toBeGreaterThanOrEqual(0);
					}
				},
			),
		);
	});

	it("spec 2.8: the short answer has id and status alone", () => {
		expect(JSON.parse(statusView("j", "CANCELLED"))).toEqual({ id: "j", status: "CANCELLED" });
	});
});
