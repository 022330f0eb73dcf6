import { expect, it } from "vitest";
import { holdsGpus, newWorker } from "./worker-registry.ts";
import {
	beginSleep,
	closeWorker,
	completeSleep,
	endWorker,
	isStopping,
	markRetiring,
	markStopping,
	recordCalled,
	withdrawRetiring,
	withdrawStop,
} from "./worker-transitions.ts";

const worker = (ready = true) => newWorker({ id: "w", endpoint: "e", launcher: "process", ready, gpus: [0], now: 0 });

it("D28: a worker that is to be stopped gets no jobs, its polls end; the last reason counts until it is kept", () => {
	const one = worker();
	let ended = 0;
	one.polls.add(() => (ended += 1));
	expect(markRetiring(one, "first")).toBe(true);
	expect(markRetiring(one, "second", "unhealthy")).toBe(true);
	expect(one).toMatchObject({ draining: true, retiring: "second", retiringCode: "unhealthy" });
	// A poll that it opened meanwhile, such as that for its cancelled jobs, goes on.
	expect(ended).toBe(1);
	expect(withdrawRetiring(one)).toBe(true);
	expect([one.draining, one.retiring, one.retiringCode]).toEqual([false, undefined, undefined]);
});

it("D34: one that is closed, such as of a deleted endpoint, is never kept; its stop is recorded once", () => {
	const one = worker();
	closeWorker(one, { text: "it is lost" });
	expect([withdrawRetiring(one), markRetiring(one, "why"), one.draining]).toEqual([false, false, true]);
	markStopping(one, { isSurplus: false, ending: { text: "it was stopped" } });
	expect([one.ending?.text, isStopping(one)]).toEqual(["it is lost", true]);
});

it("D27: a stop is withdrawn; one that anything but the surplus asked for stays so however often it is asked", () => {
	const one = worker();
	markStopping(one, { isSurplus: true, ending: { text: "it is idle" } });
	expect(one.isSurplus).toBe(true);
	withdrawStop(one);
	expect([one.draining, one.ending, one.isSurplus]).toEqual([false, undefined, undefined]);
	markStopping(one, { isSurplus: false });
	markStopping(one, { isSurplus: true });
	expect(one.isSurplus).toBe(false);
});

it("D28: it falls asleep while it is being stopped too, and then its GPUs are free; ready only by its call", () => {
	const one = worker(false);
	expect([beginSleep(one, 5), recordCalled(one, 10), beginSleep(one, 20)]).toEqual([false, true, true]);
	expect(one).toMatchObject({ readyAt: 10, idleSince: 10, sleep: { state: "falling_asleep", since: 20 } });
	markStopping(one, { isSurplus: false });
	expect(holdsGpus(one)).toBe(true);
	completeSleep(one, 30);
	expect([one.sleep, holdsGpus(one)]).toEqual([{ state: "asleep", since: 30 }, false]);
	expect([endWorker(one), endWorker(one), one.draining]).toEqual([true, false, true]);
});
