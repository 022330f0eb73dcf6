/**
 * What is counted between two writes: minutes wait until they are written, hours grow, and nothing
 * is written twice or lost on the way.
 */
import { expect, it } from "vitest";
import { HOUR_MS, MINUTE_MS, type StepMs } from "../../core/metrics/metric-buckets.ts";
import { eventBus } from "../../events.ts";
import { type CountedEndpoint, metricCounters, type MetricCounters } from "./metric-counters.ts";

const T0 = 500 * HOUR_MS;

function bed(): {
	counting: MetricCounters;
	at: (ms: number) => void;
	submit: (endpoint?: string) => void;
} {
	const events = eventBus();
	let now = T0;
	const counting = metricCounters({ events, now: () => now });
	counting.turn();
	return {
		counting,
		at: (ms) => void (now = T0 + ms),
		submit: (endpoint = "ep") => events.emit("job.queued", { endpoint, id: "j" }),
	};
}

/** Submissions to `ep` by the minute after the beginning, or by hour. */
function submitted(counted: readonly CountedEndpoint[], step: StepMs): Record<number, number> {
	return Object.fromEntries(
		counted
			.filter((each) => each.step === step)
			.map(({ at, tallies: all }) => [(at - T0) / step, all.get("ep")?.counts.submitted ?? 0]),
	);
}

it("a minute that is over waits to be written, with its hour; what was written does not come again", () => {
	const { counting, at, submit } = bed();
	submit();
	expect(counting.unwritten()).toEqual([]);
	at(MINUTE_MS);
	submit();
	submit();
	const first = counting.unwritten();
	expect([submitted(first, MINUTE_MS), submitted(first, HOUR_MS)]).toEqual([{ 0: 1 }, { 0: 1 }]);
	at(2 * MINUTE_MS);
	counting.turn();
	counting.written(first);
	const second = counting.unwritten();
	expect([submitted(second, MINUTE_MS), submitted(second, HOUR_MS)]).toEqual([{ 1: 2 }, { 0: 3 }]);
	counting.written(second);
	expect(counting.unwritten()).toEqual([]);
});

it("what cannot be written waits, and an hour that is over goes only with all its minutes", () => {
	const { counting, at, submit } = bed();
	for (let minute = 59; minute < 62; minute += 1) {
		at(minute * MINUTE_MS);
		submit();
	}
	const early = counting.unwritten();
	expect(submitted(early, HOUR_MS)).toEqual({ 0: 1, 1: 1 });
	counting.written(early.filter(({ step }) => step === MINUTE_MS));
	expect(submitted(counting.held(HOUR_MS), HOUR_MS)).toEqual({ 0: 1, 1: 2 });
	counting.written(early);
	expect(submitted(counting.held(HOUR_MS), HOUR_MS)).toEqual({ 1: 2 });
	expect(submitted(counting.held(MINUTE_MS), MINUTE_MS)).toEqual({ 61: 1 });
});

it("minutes that cannot be written are bounded; their hours keep what they counted", () => {
	const { counting, at, submit } = bed();
	for (let minute = 0; minute < 300; minute += 1) {
		at(minute * MINUTE_MS);
		submit();
	}
	counting.end();
	const all = counting.unwritten();
	expect(all.filter(({ step }) => step === MINUTE_MS)).toHaveLength(120);
	expect(submitted(all, HOUR_MS)).toEqual({ 0: 60, 1: 60, 2: 60, 3: 60, 4: 60 });
	expect(counting.totals().get("ep")?.counts.submitted).toBe(300);
});
