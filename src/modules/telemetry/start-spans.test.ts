/** Spans of a worker's start: phases, parents, where it failed. */
import { expect, it } from "vitest";
import type { Events } from "../../kernel/events.ts";
import { startSpans } from "./start-spans.ts";

const phases = [
	["start", 10, 90],
	["placement", 10, 50],
	["load", 50, 90],
] as const;

function tree(start: Pick<Events["worker.timed"], "outcome" | "fault">): string[] {
	let number = 0;
	const spans = startSpans(
		{ endpoint: "ep", worker: "ep-1", phases, ...start },
		{ traceId: "t", spanId: "root", newSpanId: () => `span${++number}`, wall: (at: number) => at },
	);
	expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set(["t"]));
	expect(new Set(spans.map(({ attributes }) => attributes["messaging.client.id"]))).toEqual(new Set(["ep-1"]));
	return spans.map(
		({ name, start: from, end, spanId, parentId, error = "" }) =>
			`${spanId} ${name} ${from}-${end} below ${parentId} ${error}`,
	);
}

it("D52: the phases of a start are below it; a failed one has its error where it stopped", () => {
	const ready = [
		"root start ep 10-90 below undefined ",
		"span1 placement ep 10-50 below root ",
		"span2 load ep 50-90 below root ",
	];
	for (const outcome of ["ready", "stopped"] as const) expect(tree({ outcome })).toEqual(ready);
	const failed = (code: string) => [`${ready[0]}${code}`, ready[1], `${ready[2]}${code}`];
	expect(tree({ outcome: "failed", fault: "crashed" })).toEqual(failed("crashed"));
	expect(tree({ outcome: "failed" })).toEqual(failed("exited"));
});
