/** Spans of a job as its record gives them: parents, links, attempts, retries. */
import { expect, it } from "vitest";
import { type Attempt, type Job, newJob } from "../../kernel/core/jobs/job.ts";
import { attemptContext, jobSpans, submissionContext } from "./job-spans.ts";
import { traceText } from "../../kernel/core/trace.ts";

const ID = "01a219fa-57fa-7bcd-ad08-6ce6e2fa40c4";
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENT = { traceId: TRACE, spanId: "00f067aa0ba902b7", isSampled: true };

function job(change: Partial<Job>): Job {
	const submission = { id: ID, endpoint: "ep", operation: "run", lowPriority: false, ttlMs: 1e6 } as const;
	return {
		...newJob({ ...submission, executionTimeoutMs: 1e6, leaseMs: 8000, retainMs: 1, recordMs: 1 }, 1000),
		...change,
	};
}

const lost: Attempt = { attempt: 1, worker: "w1", startedAt: 1500, endedAt: 2000, end: "lost", open: false, missed: 2 };

/** `name of parent`, with the names of the spans that it is below. */
function tree(spans: ReturnType<typeof jobSpans>): string[] {
	const byId = new Map(spans.map((span) => [span.spanId, span.name]));
	return spans.map(({ name, parentId, start, end, error, link }) =>
		[
			`${name} ${start}-${end}`,
			`below ${parentId === undefined ? "none" : (byId.get(parentId) ?? parentId)}`,
			...(link === undefined ? [] : [`for ${byId.get(link.spanId)}`]),
			...(error === undefined ? [] : [error]),
		].join(", "),
	);
}

const times = { wall: (at: number): number => at, startOf: () => undefined };

it("D52: submission, wait and run of a job that was lost once, in the trace of its client", () => {
	const ended = job({
		...{ trace: traceText(CLIENT), state: "COMPLETED", attempt: 2, worker: "w2", release: 3, losses: 1 },
		...{ queuedAt: 2000, startedAt: 2600, endedAt: 4000 },
	});
	const spans = jobSpans(ended, [lost], times);
	expect(tree(spans)).toEqual([
		`publish ep 1000-1000, below ${CLIENT.spanId}`,
		"wait ep 1000-1500, below publish ep",
		"process ep 1500-2000, below publish ep, for publish ep, lost",
		"wait ep 2000-2600, below publish ep",
		"process ep 2600-4000, below publish ep, for publish ep",
	]);
	expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
	expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(5);
	expect(spans.at(-1)!.attributes).toMatchObject({
		"messaging.message.id": ID,
		"sluice.attempt": 2,
		"sluice.release": 3,
	});
	expect(attemptContext(ended)).toEqual({ ...CLIENT, spanId: spans.at(-1)!.spanId });
	expect(submissionContext(ended)!.spanId).toBe(spans[0]!.spanId);
});

it("D52: without a client's trace the job's id is the trace", () => {
	const ended = job({ state: "FAILED", attempt: 1, worker: "w", startedAt: 1200, endedAt: 1300 });
	const spans = jobSpans(ended, [], times);
	expect(tree(spans)).toEqual([
		"publish ep 1000-1000, below none",
		"wait ep 1000-1200, below publish ep",
		"process ep 1200-1300, below publish ep, for publish ep, failed",
	]);
	expect(spans[0]!.traceId).toBe(ID.replaceAll("-", ""));
	expect(attemptContext({ ...ended, id: `sync-${ID}` })!.traceId).toBe(spans[0]!.traceId);
});

it("D52: a job that ended in the queue has a wait that failed; one that runs has no spans yet", () => {
	expect(tree(jobSpans(job({ state: "TIMED_OUT", endedAt: 9000 }), [], times))).toEqual([
		"publish ep 1000-1000, below none",
		"wait ep 1000-9000, below publish ep, timed_out",
	]);
	expect(jobSpans(job({ state: "IN_PROGRESS", attempt: 1, worker: "w", startedAt: 1200 }), [], times)).toEqual([]);
});

it("D52: a wait that saw the end of its worker's start has a link to it, an earlier or later one has none", () => {
	const ended = job({ state: "COMPLETED", attempt: 1, worker: "w", startedAt: 1200, endedAt: 1300 });
	const start = { traceId: "a".repeat(32), spanId: "b".repeat(16) };
	const linksWith = (at: number) =>
		jobSpans(ended, [], {
			...times,
			startOf: (worker) => (worker === "w" ? { ...start, at } : undefined),
		}).map(({ name, link }) => [name, link?.spanId]);
	const [publish, wait, process] = linksWith(1100);
	expect([publish, wait, process?.[0]]).toEqual([["publish ep", undefined], ["wait ep", start.spanId], "process ep"]);
	for (const at of [900, 1000, 1250]) expect(linksWith(at)[1]).toEqual(["wait ep", undefined]);
});

it("D52: after a retry only what came since", () => {
	const failed: Attempt = { ...lost, end: "failed" };
	const ended = job({
		...{ state: "COMPLETED", attempt: 2, worker: "w2", retriedAt: 5000 },
		...{ queuedAt: 5000, startedAt: 5100, endedAt: 6000 },
	});
	expect(tree(jobSpans(ended, [failed], times)).map((each) => each.replace(/ [0-9a-f]{16}/, " publish"))).toEqual([
		"wait ep 5000-5100, below publish",
		"process ep 5100-6000, below publish, for undefined",
	]);
	const exhausted = job({ state: "CANCELLED", attempt: 1, retriedAt: 5000, queuedAt: 5000, endedAt: 7000 });
	expect(tree(jobSpans(exhausted, [lost], times)).map((each) => each.replace(/ [0-9a-f]{16}/, " publish"))).toEqual([
		"wait ep 5000-7000, below publish, cancelled",
	]);
	const overrun: Attempt = { ...lost, end: "timed_out" };
	const late = job({ state: "TIMED_OUT", attempt: 1, worker: "w1", startedAt: 1500, endedAt: 2000 });
	expect(tree(jobSpans(late, [overrun], times))).toHaveLength(3);
});
