/** Spans of a worker's start by its times: phases, parents, where it failed. */
import { expect, it } from "vitest";
import { startSpans, type WorkerStart } from "./start-spans.ts";

const ids = { traceId: "a".repeat(32), spanId: "root" };

function tree(start: Pick<WorkerStart, "outcome" | "placedAt" | "endedAt"> & Partial<WorkerStart>): string[] {
	let number = 0;
	const spans = startSpans(
		{ endpoint: "ep", worker: "ep-1", createdAt: 10, ...start },
		{ ids, newSpanId: () => `span${++number}`, wall: (at: number) => at },
	);
	expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([ids.traceId]));
	expect(new Set(spans.map(({ attributes }) => attributes["messaging.client.id"]))).toEqual(new Set(["ep-1"]));
	const nameOf = (id: string | undefined): string => spans.find(({ spanId }) => spanId === id)?.name ?? "none";
	return spans.map(
		({ name, start: from, end, parentId, error = "" }) => `${name} ${from}-${end} below ${nameOf(parentId)} ${error}`,
	);
}

it("D52: the phases of a start are below it, the pull below the placement", () => {
	expect(tree({ outcome: "ready", placedAt: 50, pull: { from: 20, until: 40 }, warmingAt: 80, endedAt: 90 })).toEqual([
		"start ep 10-90 below none ",
		"placement ep 10-50 below start ep ",
		"image_pull ep 20-40 below placement ep ",
		"load ep 50-80 below start ep ",
		"warm_up ep 80-90 below start ep ",
	]);
});

it("D52: a failed start has its error where it stopped, a stopped one has none", () => {
	expect(tree({ outcome: "failed", fault: "crashed", placedAt: 20, endedAt: 30 })).toEqual([
		"start ep 10-30 below none crashed",
		"placement ep 10-20 below start ep ",
		"load ep 20-30 below start ep crashed",
	]);
	expect(tree({ outcome: "failed", placedAt: 30, pull: { from: 11, until: 30 }, endedAt: 30 })).toEqual([
		"start ep 10-30 below none exited",
		"placement ep 10-30 below start ep ",
		"image_pull ep 11-30 below placement ep exited",
	]);
	expect(tree({ outcome: "stopped", placedAt: 30, endedAt: 30 })).toEqual([
		"start ep 10-30 below none ",
		"placement ep 10-30 below start ep ",
	]);
});
