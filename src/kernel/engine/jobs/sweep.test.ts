/** The pace of the sweep: what it does not wait for, and how results expire. */
import { describe, expect, it, onTestFinished } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { sweep } from "./sweep.ts";

interface Due {
	nextDueAt?: number;
	expiryDueAt?: number;
}

/** A sweep over a store that answers so at `at` ms; `calls`: when it was called, ms. */
function swept(answer: (at: number, calls: number) => Due) {
	const clock = manualClock(1_800_000_000_000);
	const start = clock.now();
	const calls: number[] = [];
	const settle = async (q: { now: number; limit: number; expiries?: number }) => {
		const at = q.now - start;
		calls.push(at);
		expect(q.expiries).toBeLessThan(q.limit);
		const { nextDueAt = Infinity, expiryDueAt = Infinity } = answer(at, calls.length);
		return { settled: 0, nextDueAt: start + nextDueAt, expiryDueAt: start + expiryDueAt };
	};
	const sweeper = sweep({
		clock,
		now: clock.now,
		events: { emit: (name: string, fault: unknown) => expect.fail(`${name} ${String(fault)}`) },
		store: { jobs: { settle } },
		cluster: { leads: () => true },
	} as unknown as Parameters<typeof sweep>[0]);
	onTestFinished(() => sweeper.stop());
	sweeper.start();
	return { clock, calls };
}

describe("sweep", () => {
	it("D9: removes expired results in steps with pauses, so that other calls get their turn", async () => {
		const { clock, calls } = swept((at) => ({ expiryDueAt: at - 60_000 }));
		await clock.advance(350);
		expect(calls).toEqual([0, 100, 200, 300]);
	});

	it("D9: does not pause when the oldest result should have been removed ten minutes ago", async () => {
		const { clock, calls } = swept((at, n) => ({ expiryDueAt: at - (n > 5 ? 600_000 : 600_001) }));
		await clock.advance(99);
		expect(calls).toEqual([0, 0, 0, 0, 0, 0]);
	});

	it("D15: a passed deadline does not wait for results that expire", async () => {
		const { clock, calls } = swept((at) => ({
			nextDueAt: at < 30 ? 30 : 5000,
			expiryDueAt: at - 1,
		}));
		await clock.advance(130);
		expect(calls).toEqual([0, 30, 130]);
	});

	it("D15: sleeps until something is due, at most a second", async () => {
		const { clock, calls } = swept((at) => ({ expiryDueAt: at + 700 }));
		await clock.advance(700);
		expect(calls).toEqual([0, 700]);
		const idle = swept(() => ({}));
		await idle.clock.advance(1500);
		expect(idle.calls).toEqual([0, 1000]);
	});
});
