/** What a job can link to: the last start or wake of a worker that is still there (D52). */
import { expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import type { Span } from "../../core/tracing/span.ts";
import { eventBus } from "../../events.ts";
import { workerRegistry } from "../workers/worker-registry.ts";
import { startTraces } from "./start-traces.ts";

it("D52: a wake is a trace of its own, and what jobs link to from then on", () => {
	const clock = manualClock();
	const registry = workerRegistry(eventBus());
	const spans: Span[] = [];
	let number = 0;
	const traces = startTraces({
		...{ registry, wall: (at: number) => at },
		tracer: { samples: () => false, record: (span) => spans.push(span), close: async () => {} },
		newId: (digits) => String(++number).padStart(digits, "0"),
	});
	registry.meet({ id: "w", endpoint: "e", launcher: "process", ready: true, now: clock.now() });
	const worker = { endpoint: "e", id: "w" };
	expect(traces.of(worker)).toBeUndefined();
	for (const [name, from, until] of [
		["start", 10, 20],
		["wake", 50, 60],
	] as const) {
		traces.ended({ endpoint: "e", worker: "w", outcome: "ready", phases: [[name, from, until]] });
		const { traceId, spanId, ...span } = spans.at(-1)!;
		expect(span).toMatchObject({ name: `${name} e`, start: from, end: until });
		expect(traces.of(worker)).toEqual({ traceId, spanId, at: until });
	}
	expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2);
	registry.forget(registry.get(worker)!);
	expect(traces.of(worker)).toBeUndefined();
});
