/** What the module records: starts of workers, and jobs that link to them (D52). */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { given } from "../../../test/support/given.ts";
import { newJob } from "../../kernel/core/jobs/job.ts";
import { eventBus } from "../../kernel/events.ts";
import { workerRegistry } from "../../kernel/engine/workers/worker-registry.ts";
import type { Span } from "./span.ts";
import { createTraces } from "./traces.ts";

function bed() {
	const events = eventBus();
	const registry = workerRegistry(events);
	const spans: Span[] = [];
	const reads: string[] = [];
	const traces = createTraces(
		given({
			...{ registry, events, random: randomBytes, calendar: { of: (at: number) => at, now: () => 7 }, now: () => 7 },
			tracer: { samples: () => false, record: (span: Span) => spans.push(span), close: async () => {} },
			background: { run: (_: string, work: Promise<void>) => void work },
			store: { jobs: { get: async ({ id }: { id: string }) => void reads.push(id), attempts: async () => [] } },
		}),
	);
	return { events, registry, spans, reads, traces };
}

function failedJob(id: string) {
	const submission = { id, endpoint: "e", operation: "run", lowPriority: false, ttlMs: 1e6 } as const;
	const job = newJob({ ...submission, executionTimeoutMs: 1e6, leaseMs: 8000, retainMs: 1, recordMs: 1 }, 40);
	return { ...job, state: "FAILED" as const, attempt: 1, worker: "w", startedAt: 70, endedAt: 80 };
}

it("D52: a start or wake is a trace of its own, and what jobs link to from then on", async () => {
	const { events, registry, spans, traces } = bed();
	registry.meet({ id: "w", endpoint: "e", launcher: "process", ready: true, now: 0 });
	for (const [name, from, until] of [
		["start", 10, 20],
		["wake", 50, 60],
	] as const) {
		events.emit("worker.timed", { endpoint: "e", worker: "w", outcome: "ready", phases: [[name, from, until]] });
		expect(spans.at(-1)).toMatchObject({ name: `${name} e`, start: from, end: until });
	}
	const [start, wake] = spans;
	expect(start!.traceId).not.toBe(wake!.traceId);
	traces.ended(failedJob("01a219fa-57fa-7bcd-ad08-6ce6e2fa40c4"));
	const wait = spans.find(({ name }) => name === "wait e");
	expect(wait?.link).toMatchObject({ traceId: wake!.traceId, spanId: wake!.spanId });
});

it("D52: the record of a failed job is read only where no report at this server ended it", () => {
	const { events, reads } = bed();
	const failed = { endpoint: "e", state: "FAILED" } as const;
	events.emit("job.settled", { ...failed, id: "reported", worker: "w" });
	events.emit("job.settled", { ...failed, id: "elsewhere", elsewhere: true });
	events.emit("job.settled", { endpoint: "e", id: "cancelled", state: "CANCELLED" });
	events.emit("job.settled", { ...failed, id: "expired" });
	expect(reads).toEqual(["expired"]);
});
