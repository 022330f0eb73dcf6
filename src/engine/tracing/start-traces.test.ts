/** Which traces starts and wakes of workers have, and what a job can link to (D52). */
import { expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import type { Span } from "../../core/tracing/span.ts";
import { eventBus } from "../../events.ts";
import { workerRegistry } from "../workers/worker-registry.ts";
import { startTraces } from "./start-traces.ts";

it("D52: a wake is a trace of its own, and what jobs link to from then on", async () => {
	const clock = manualClock();
	const events = eventBus();
	const registry = workerRegistry(events);
	const spans: Span[] = [];
	let number = 0;
	const traces = startTraces({
		...{ events, registry, now: clock.now, wall: (at: number) => at },
		tracer: { samples: () => false, record: (span) => spans.push(span), close: async () => {} },
		newId: (digits) => String(++number).padStart(digits, "0"),
	});
	registry.meet({ id: "w", endpoint: "e", launcher: "process", ready: true, now: clock.now() });
	expect(traces.of("e", "w")).toBeUndefined();
	const [createdAt, placedAt, endedAt] = [clock.now(), clock.now(), clock.now()];
	traces.ended({ endpoint: "e", worker: "w", outcome: "ready", createdAt, placedAt, endedAt });
	expect(traces.of("e", "w")).toMatchObject({ at: endedAt, spanId: spans[0]!.spanId });
	await clock.advance(5000);
	events.emit("worker.woken", { endpoint: "e", worker: "w", ms: 1200 });
	const { traceId, spanId, ...wake } = spans.at(-1)!;
	expect(wake).toMatchObject({ name: "wake e", start: clock.now() - 1200, end: clock.now() });
	expect(traceId).not.toBe(spans[0]!.traceId);
	expect(traces.of("e", "w")).toEqual({ traceId, spanId, at: clock.now() });
	expect(traces.of("e", "unknown")).toBeUndefined();
});
