/** Pings beside a claim that the store answers late (D16). */
import { describe, expect, it } from "vitest";
import { manualClock } from "../../../../../test/support/manual-clock.ts";
import { eventBus } from "../../../events.ts";
import type { Claim } from "../../../store/contract/jobs.ts";
import type { WorkerStore } from "../../../store/contract/workers.ts";
import { workerRegistry } from "../../workers/worker-registry.ts";
import { Dispatch } from "./dispatch.ts";
import { ping } from "./ping.ts";

const LEASE_MS = 8000;
const INTERVAL_MS = 2000;

function sample() {
	const clock = manualClock();
	const events = eventBus();
	const worker = workerRegistry(events).meet({ id: "w", endpoint: "e", ready: true, now: clock.now() });
	const claim = Promise.withResolvers<Claim>();
	const bounds: number[] = [];
	const dispatch = new Dispatch({
		now: clock.now,
		events,
		paused: () => false,
		releaseOf: () => undefined,
		store: { jobs: { claim: () => claim.promise } },
	} as unknown as ConstructorParameters<typeof Dispatch>[0]);
	const store: Pick<WorkerStore, "ping"> = {
		async ping({ handedBefore }) {
			bounds.push(handedBefore);
			return { lost: [], over: [] };
		},
	};
	const d = {
		now: clock.now,
		events,
		cluster: { others: () => false },
		endpoints: { get: () => ({ leaseMs: LEASE_MS }) },
		retry: (call: (attempt: { held: boolean }) => unknown) => call({ held: false }),
		store: { workers: store },
		dispatch,
	} as unknown as Parameters<typeof ping>[0];
	return {
		clock,
		claim,
		take: () => void dispatch.take({ worker, limit: 1, ended: new Promise(() => {}) }),
		/** Pings without jobs. Returns the time before which a job that was handed out is lost. */
		async bound(): Promise<number> {
			await ping(d, { worker, said: { named: [] } });
			return bounds.at(-1)!;
		},
	};
}

describe("D16: a ping that names no job", () => {
	it("counts for jobs handed out an interval before", async () => {
		const { clock, bound } = sample();
		expect(await bound()).toBe(clock.now() - INTERVAL_MS + 1);
	});

	it("does not count for a claim that the store has not answered, or answered late, for 5 s", async () => {
		const { clock, claim, take, bound } = sample();
		const since = clock.now();
		take();
		await clock.advance(3000);
		expect(await bound()).toBe(since);
		claim.resolve({ jobs: [], fenced: false });
		await clock.advance(1);
		expect(await bound()).toBe(since);
		await clock.advance(5000);
		expect(await bound()).toBe(clock.now() - INTERVAL_MS + 1);
	});
});
