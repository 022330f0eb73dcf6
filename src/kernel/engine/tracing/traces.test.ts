/** What a job can link to: the last start or wake of a worker (D52). */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { given } from "../../../../test/support/given.ts";
import type { Span } from "../../core/tracing/span.ts";
import { eventBus } from "../../events.ts";
import { workerRegistry } from "../workers/worker-registry.ts";
import { createTraces } from "./traces.ts";

it("D52: a wake is a trace of its own, and what jobs link to from then on", () => {
	const registry = workerRegistry(eventBus());
	const spans: Span[] = [];
	const traces = createTraces(
		given({
			...{ registry, random: randomBytes, calendar: { of: (at: number) => at } },
			tracer: { samples: () => false, record: (span: Span) => spans.push(span), close: async () => {} },
		}),
	);
	const worker = registry.meet({ id: "w", endpoint: "e", launcher: "process", ready: true, now: 0 });
	for (const [name, from, until] of [
		["start", 10, 20],
		["wake", 50, 60],
	] as const) {
		traces.started({ endpoint: "e", worker: "w", outcome: "ready", phases: [[name, from, until]] });
		const { traceId, spanId, ...span } = spans.at(-1)!;
		expect(span).toMatchObject({ name: `${name} e`, start: from, end: until });
		expect(worker.began).toEqual({ traceId, spanId, at: until });
	}
	expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2);
});
