/** The timeline of a job, over any life it can have. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Attempt, type Job, newJob } from "./job.ts";
import { lossOf, resumedBy, transition } from "./job-transitions.ts";
import { isFinal, type JobEvent } from "./job-states.ts";
import { attemptsOf } from "./timeline.ts";
import { timelineOf } from "./timeline-events.ts";

const START = 1_800_000_000_000;

const SUBMISSION = {
	id: "j",
	endpoint: "ep",
	operation: "run",
	lowPriority: false,
	ttlMs: 1e9,
	executionTimeoutMs: 1e9,
	leaseMs: 20_000,
	retainMs: 1000,
	recordMs: 5000,
} as const;

/** A job's life so far: each event at its time, if it may happen then. */
function lived(events: readonly { on: JobEvent | "loss"; after: number }[]): {
	job: Job;
	history: Attempt[];
	happened: { on: JobEvent; at: number }[];
} {
	let job = newJob(SUBMISSION, START);
	let at = START;
	const history: Attempt[] = [];
	const happened: { on: JobEvent; at: number }[] = [];
	for (const { on: wanted, after } of events) {
		const on = wanted === "loss" ? lossOf(job) : wanted;
		at += after;
		const next = transition(job, on, {
			now: on === "expire" ? (job.endedAt ?? 0) + job.retainMs : at,
			worker: `w${history.length}`,
		});
		if (!next || next.remove) continue;
		if (on === "expire") at = Math.max(at, (job.endedAt ?? 0) + job.retainMs);
		job = next.job;
		if (next.closed) history.push(next.closed);
		happened.push({ on, at });
	}
	return { job, history, happened };
}

function linesOf(...events: (JobEvent | "loss")[]): string[] {
	const { job, history } = lived(events.map((on) => ({ on, after: 10 })));
	return timelineOf(job, attemptsOf(job, history), () => undefined).map(
		({ event, at, attempt }) => `${at - START} ${event}${attempt === undefined ? "" : ` ${attempt}`}`,
	);
}

describe("timelineOf", () => {
	it.each<[(JobEvent | "loss")[], string[]]>([
		[[], ["0 submitted"]],
		[["claim"], ["0 submitted", "10 started 1"]],
		[
			["claim", "complete"],
			["0 submitted", "10 started 1", "20 completed 1"],
		],
		[
			["claim", "loss"],
			["0 submitted", "10 started 1", "20 lost 1"],
		],
		[
			["claim", "loss", "claim", "release", "claim", "fail"],
			["0 submitted", "10 started 1", "20 lost 1", "30 started 2", "40 released 2", "50 started 3", "60 failed 3"],
		],
		[
			["claim", "fail", "retry"],
			["0 submitted", "10 started 1", "20 failed 1", "30 retried"],
		],
		[
			["claim", "fail", "retry", "claim", "complete"],
			["0 submitted", "10 started 1", "20 failed 1", "30 retried", "40 started 2", "50 completed 2"],
		],
		[
			["claim", "fail", "retry", "claim", "loss", "claim"],
			["0 submitted", "10 started 1", "20 failed 1", "30 retried", "40 started 2", "50 lost 2", "60 started 3"],
		],
		[
			["claim", "overrun", "retry", "claim"],
			["0 submitted", "10 started 1", "20 timed_out 1", "30 retried", "40 started 2"],
		],
		[["lapse"], ["0 submitted", "10 timed_out"]],
		[
			["lapse", "retry", "claim"],
			["0 submitted", "20 retried", "30 started 1"],
		],
		[["cancel"], ["0 submitted", "10 cancelled"]],
		[
			["claim", "cancel"],
			["0 submitted", "10 started 1", "20 cancelled 1"],
		],
		[
			["claim", "loss", "cancel"],
			["0 submitted", "10 started 1", "20 lost 1", "30 cancelled"],
		],
		[
			["claim", "loss", "claim", "loss", "claim", "loss"],
			[
				"0 submitted",
				"10 started 1",
				"20 lost 1",
				"30 started 2",
				"40 lost 2",
				"50 started 3",
				"60 lost 3",
				"60 failed",
			],
		],
		[
			["claim", "complete", "expire"],
			["0 submitted", "10 started 1", "20 completed 1", "1020 expired"],
		],
	])("D39: %j is shown as %j", (events, lines) => {
		expect(linesOf(...events)).toEqual(lines);
	});

	it("D16: a late result is shown where it arrived, with the attempt that went on", () => {
		const { job, history } = lived(["claim", "loss"].map((on) => ({ on: on as "claim" | "loss", after: 10 })));
		const resumed = resumedBy({ job, nextChunk: 0 }, history, { worker: "w0", now: START + 30 })!;
		const going = transition(job, "resume", resumed)!.job;
		const { job: ended } = transition(going, "complete", { now: START + 30 })!;
		const lines = timelineOf(ended, attemptsOf(ended, history), () => undefined);
		expect(lines.map(({ event, at }) => [at - START, event])).toEqual([
			[0, "submitted"],
			[10, "started"],
			[20, "lost"],
			[30, "completed"],
		]);
		expect(lines.at(-1)?.message).toBe(
			"Worker w0 reported its result (attempt 2, in which the lost attempt 1 went on).",
		);
	});

	it("D39: is sorted by time, whatever the clock did", () => {
		const event = fc.constantFrom<JobEvent | "loss">("claim", "complete", "fail", "loss", "release", "retry");
		fc.assert(
			fc.property(
				fc.array(fc.record({ on: event, after: fc.integer({ min: -5000, max: 5000 }) }), {
					maxLength: 12,
				}),
				(events) => {
					const { job, history } = lived(events);
					const times = timelineOf(job, attemptsOf(job, history), () => undefined).map(({ at }) => at);
					expect(times).toEqual(times.toSorted((a, b) => a - b));
				},
			),
		);
	});

	it("D39: begins with the submission, has every start and the end", () => {
		const event = fc.constantFrom<JobEvent | "loss">(
			"claim",
			"claim",
			"complete",
			"fail",
			"fail",
			"overrun",
			"lapse",
			"loss",
			"loss",
			"release",
			"cancel",
			"retry",
			"retry",
			"expire",
		);
		fc.assert(
			fc.property(
				fc.array(fc.record({ on: event, after: fc.integer({ min: 1, max: 5000 }) }), {
					maxLength: 25,
				}),
				(events) => {
					const { job, history, happened } = lived(events);
					const timeline = timelineOf(job, attemptsOf(job, history), () => undefined);
					expect(timeline.map(({ at }) => at)).toEqual(timeline.map(({ at }) => at).toSorted((a, b) => a - b));
					expect(timeline[0]).toMatchObject({ at: START, event: "submitted" });
					expect(timeline.filter((each) => each.event === "started").map(({ at }) => at)).toEqual(
						happened.filter(({ on }) => on === "claim").map(({ at }) => at),
					);
					for (const on of ["loss", "release"] as const) {
						const wanted = happened
							.filter((each) => (on === "loss" ? each.on === "lose" || each.on === "exhaust" : each.on === on))
							.map(({ at }) => at);
						expect(
							timeline.filter((each) => each.event === (on === "loss" ? "lost" : "released")).map(({ at }) => at),
						).toEqual(wanted);
					}
					const last = timeline.filter((each) => each.event !== "expired").at(-1)!;
					if (isFinal(job.state)) expect(last).toMatchObject({ at: job.endedAt, event: job.state.toLowerCase() });
					const retry = happened.findLast(({ on }) => on === "retry");
					const returned = happened.findLast(({ on }) => on === "lose" || on === "release");
					if (retry && retry.at > (returned?.at ?? 0))
						expect(timeline).toContainEqual(expect.objectContaining({ at: retry.at, event: "retried" }));
					expect(timeline.every(({ message }) => /^[A-Z].*\.$/.test(message))).toBe(true);
				},
			),
			{ numRuns: 500 },
		);
	});
});
