/** Phases and outcomes of starts of workers, from events and the registry (D40). */
import { expect, it } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { eventBus, type Events } from "../../events.ts";
import { sizeOfHistogram } from "../../lib/histogram.ts";
import { type Worker, workerRegistry } from "../workers/worker-registry.ts";
import { workerStarts } from "./worker-starts.ts";
import { completeWarmup, markStopping, setNotice, setWarmup } from "../workers/worker-transitions.ts";

function bed() {
	const clock = manualClock();
	const events = eventBus();
	const registry = workerRegistry(events);
	const began = clock.now();
	const over: Events["worker.timed"][] = [];
	const starts = workerStarts({ events, now: clock.now, registry });
	events.on("worker.timed", (start) => over.push(start));
	const meet = (id = "w"): Worker =>
		registry.meet({ id, endpoint: "e", launcher: "process", ready: false, now: clock.now() });
	const names = (id = "w"): { endpoint: string; worker: string } => ({ endpoint: "e", worker: id });
	return {
		clock,
		events,
		registry,
		starts,
		/** Starts and wakes that are over, with times in seconds since the first. */
		over: () =>
			over.map(({ worker, outcome, fault = "", phases }) => [
				worker,
				outcome + fault,
				...phases.map(([name, from, until]) => `${name} ${(from - began) / 1000}-${(until - began) / 1000}`),
			]),
		meet,
		launched: (id?: string) => events.emit("worker.launched", names(id)),
		waits: (reason: string, id?: string) => events.emit("worker.waiting", { ...names(id), reason, message: "" }),
		exits: (end: Partial<Events["worker.exited"]>, id?: string) =>
			events.emit("worker.exited", { ...names(id), code: undefined, signal: undefined, lastOutput: "", ...end }),
		/** Seconds by phase. */
		phases: () => Object.fromEntries(starts.phases.samples().map(([[, phase], { sum }]) => [phase, sum / 1000])),
		total: () => starts.total.samples().map(([, { sum }]) => sum / 1000),
		outcomes: () => Object.fromEntries(starts.outcomes.samples().map(([[, outcome], n]) => [outcome, n])),
		exitsBy: () => Object.fromEntries(starts.exits.samples().map(([[, why], n]) => [why, n])),
	};
}

it("D40: the phases of a start add up to it: the platform's wait, its pull, the load, the warm-up", async () => {
	const { clock, events, registry, meet, launched, waits, phases, total, outcomes, over } = bed();
	const worker = meet();
	setWarmup(worker, "{}");
	setNotice(worker, { state: "waiting", code: "starting", message: "" }, clock.now());
	await clock.advance(1000);
	launched();
	waits("unschedulable");
	await clock.advance(4000);
	waits("image_pull");
	await clock.advance(20_000);
	waits("starting");
	await clock.advance(2000);
	// Its platform reports that it runs.
	setNotice(worker, undefined, clock.now());
	await clock.advance(8000);
	events.emit("worker.warming", { endpoint: "e", worker: "w" });
	await clock.advance(3000);
	expect([phases(), outcomes()]).toEqual([{}, {}]);
	completeWarmup(worker);
	registry.seen(worker, clock.now());
	expect(phases()).toEqual({ placement: 7, image_pull: 20, load: 8, warm_up: 3 });
	expect([total(), outcomes()]).toEqual([[38], { ready: 1 }]);
	expect(over()).toEqual([
		["w", "ready", "start 0-38", "placement 0-27", "image_pull 5-25", "load 27-35", "warm_up 35-38"],
	]);
});

it("D40: one that calls before its platform reports it has no load; else it is placed once launched", async () => {
	const { clock, registry, meet, launched, waits, phases, total } = bed();
	const early = meet("early");
	await clock.advance(500);
	// It calls before its start is recorded.
	registry.seen(early, clock.now());
	await clock.advance(100);
	launched("early");
	expect([phases(), total()]).toEqual([{ placement: 0.5, load: 0 }, [0.5]]);
	const plain = meet("plain");
	await clock.advance(1000);
	launched("plain");
	await clock.advance(6000);
	registry.seen(plain, clock.now());
	expect(phases()).toEqual({ placement: 1.5, load: 6 });
	const pulled = meet();
	launched();
	waits("image_pull");
	setNotice(pulled, { state: "waiting", code: "image_pull", message: "" }, clock.now());
	await clock.advance(9000);
	registry.seen(pulled, clock.now());
	expect(phases()).toEqual({ placement: 1.5, load: 6, image_pull: 9 });
});

it("D52: a start that ends in a pull has no load; a notice about a ready worker is no start", async () => {
	const { clock, registry, meet, launched, waits, exits, over, outcomes } = bed();
	meet();
	launched();
	await clock.advance(1000);
	for (const reason of ["image_pull", "image_pull_failed", "image_pull"]) {
		waits(reason);
		await clock.advance(1000);
	}
	exits({ reason: { code: "image_pull", message: "", crash: true } });
	expect(over()).toEqual([["w", "failedimage_pull", "start 0-4", "placement 0-4", "image_pull 1-4"]]);
	const running = meet("running");
	launched("running");
	registry.seen(running, clock.now());
	waits("unreachable", "running");
	exits({ code: 1 }, "running");
	expect(outcomes()).toEqual({ failed: 1, ready: 1 });
	expect(over()).toHaveLength(2);
});

it("D40: a worker of an earlier run that was ready is no failed start when it ends", () => {
	const { registry, meet, waits, exits, outcomes } = bed();
	const adopted = meet();
	waits("starting");
	registry.seen(adopted, 0);
	exits({ code: 1 });
	meet("loading");
	waits("starting", "loading");
	exits({ code: 1 }, "loading");
	expect(outcomes()).toEqual({ failed: 1 });
});

it("D40, D52: a worker that ends before its start is recorded is a failed start", async () => {
	const { clock, registry, meet, launched, exits, outcomes, over } = bed();
	const worker = meet();
	await clock.advance(300);
	exits({ code: 7 });
	registry.forget(worker);
	launched();
	expect([outcomes(), over()]).toEqual([{ failed: 1 }, [["w", "failedcrashed", "start 0-0.3", "placement 0-0.3"]]]);
});

it("D40: ends before the first call are failed or stopped; ends have the code of their fault", async () => {
	const { events, starts, registry, meet, launched, exits, outcomes, exitsBy, over } = bed();
	const [crashed, stopped, late, evicted] = ["crashed", "stopped", "late", "evicted"].map(meet) as [
		Worker,
		Worker,
		Worker,
		Worker,
	];
	for (const { id } of [crashed, stopped, late, evicted]) launched(id);
	exits({ code: 1 }, "crashed");
	markStopping(stopped, { isSurplus: false, ending: { text: "it was stopped" } });
	exits({ code: 143 }, "stopped");
	markStopping(late, { isSurplus: false, ending: { text: "it was stopped", code: "init_timeout" } });
	exits({ signal: "SIGKILL" }, "late");
	registry.seen(evicted, 0);
	exits({ reason: { code: "evicted", message: "", crash: false } }, "evicted");
	exits({ code: 0 }, "evicted");
	exits({ code: 0 }, "unknown");
	expect(outcomes()).toEqual({ failed: 2, stopped: 1, ready: 1 });
	expect(exitsBy()).toEqual({ crashed: 1, stopped: 1, init_timeout: 1, evicted: 1, exited: 1 });
	// A worker of an earlier run of the service, which was taken over.
	registry.seen(meet("adopted"), 0);
	expect(outcomes()).toEqual({ failed: 2, stopped: 1, ready: 1 });
	events.emit("worker.woken", { endpoint: "e", worker: "evicted", ms: 1200 });
	expect(over().at(-1)).toEqual(["evicted", "ready", "wake -1.2-0"]);
	expect(starts.wakes.samples().map(([, wakes]) => [sizeOfHistogram(wakes), wakes.sum])).toEqual([[1, 1200]]);
	events.emit("endpoint.removed", { endpoint: "e" });
	expect([outcomes(), exitsBy(), starts.wakes.samples()]).toEqual([{}, {}, []]);
	expect(starts.outcomes.samples(["e"], ["ready", "failed"])).toEqual([
		[["e", "ready"], 0],
		[["e", "failed"], 0],
	]);
});
