/** The loop: never two steps at once, its waits, nudges, stops and failures. */
import { describe, expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { loop } from "./loop.ts";

/** A loop whose steps end when the test says so, unless `free`. */
function sample({ wait = 100, free = true }: { wait?: number; free?: boolean } = {}) {
	const clock = manualClock();
	const steps: number[] = [];
	const errors: unknown[] = [];
	const ends: (() => void)[] = [];
	let inside = 0;
	let fail: Error | undefined;
	const service = loop({
		clock,
		retryMs: 7000,
		onError: (error) => errors.push(error),
		step: async () => {
			inside += 1;
			expect(inside).toBe(1);
			steps.push(clock.now());
			if (!free) await new Promise<void>((resolve) => ends.push(resolve));
			inside -= 1;
			if (fail) throw fail;
			return wait;
		},
	});
	const start = clock.now();
	return {
		clock,
		service,
		errors,
		times: () => steps.map((time) => time - start),
		endStep: () => ends.shift()!(),
		failWith: (error?: Error) => (fail = error),
	};
}

describe("loop", () => {
	it("steps at once, then as often as each step asks", async () => {
		const { clock, service, times } = sample();
		service.start();
		expect(times()).toEqual([0]);
		await clock.advance(250);
		expect(times()).toEqual([0, 100, 200]);
		await service.stop();
	});

	it("a nudge cuts the wait short", async () => {
		const { clock, service, times } = sample();
		service.start();
		await clock.advance(30);
		service.nudge();
		await clock.advance(10);
		expect(times()).toEqual([0, 30]);
		await clock.advance(100);
		expect(times()).toEqual([0, 30, 130]);
		await service.stop();
	});

	it("never runs two steps at once: nudges during a step are one more step right after it", async () => {
		const { clock, service, times, endStep } = sample({ free: false });
		service.start();
		await clock.advance(10);
		service.nudge();
		service.nudge();
		await clock.advance(10);
		expect(times()).toEqual([0]);
		endStep();
		await clock.advance(0);
		expect(times()).toEqual([0, 20]);
		endStep();
		await clock.advance(99);
		expect(times()).toEqual([0, 20]);
		await service.stop();
	});

	it("stop waits for the step in progress, and no step follows", async () => {
		const { clock, service, times, endStep } = sample({ free: false });
		service.start();
		let stopped = false;
		const stop = service.stop().then(() => (stopped = true));
		await clock.advance(1000);
		expect(stopped).toBe(false);
		endStep();
		await stop;
		await clock.advance(1000);
		service.nudge();
		await clock.advance(1000);
		expect(times()).toEqual([0]);
	});

	it("stop ends a wait at once; both calls may be repeated, and it starts again", async () => {
		const { clock, service, times } = sample();
		await service.stop();
		service.start();
		service.start();
		await clock.advance(50);
		expect(times()).toEqual([0]);
		await Promise.all([service.stop(), service.stop()]);
		service.start();
		await clock.advance(10);
		expect(times()).toEqual([0, 50]);
		await service.stop();
	});

	it("after a step that threw it waits retryMs and goes on", async () => {
		const { clock, service, times, errors, failWith } = sample();
		const fault = new Error("no");
		failWith(fault);
		service.start();
		await clock.advance(6999);
		expect(times()).toEqual([0]);
		failWith(undefined);
		await clock.advance(1);
		expect(times()).toEqual([0, 7000]);
		expect(errors).toEqual([fault]);
		await clock.advance(100);
		expect(times()).toEqual([0, 7000, 7100]);
		await service.stop();
	});
});
