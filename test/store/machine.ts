/**
 * Cases: every event on every state, accepted or refused as the table of `core/machine.ts` says.
 */
import { describe, expect, it } from "vitest";
import { type Counts, countsOf } from "../../src/kernel/core/jobs/job-transitions.ts";
import {
	allowed,
	JOB_STATES,
	type JobEvent,
	type JobState,
	next,
	RULES,
} from "../../src/kernel/core/jobs/job-states.ts";
import type { Bed } from "./index.ts";
import { type Site, siteOf, T0 } from "./site.ts";

/** Long enough that nothing but the event under test happens. */
const LONG = 10_000_000;

/** Brings a new job into a state; it was handed to `w1` unless it waits. */
const BRING: Record<JobState, (site: Site) => Promise<string>> = {
	IN_QUEUE: async (site) => (await site.add({ ttlMs: LONG })).id,
	IN_PROGRESS: async (site) => (await site.running({ leaseMs: LONG, executionTimeoutMs: LONG })).id,
	COMPLETED: async (site) => ended(site, (id) => site.report(id)),
	FAILED: async (site) => ended(site, (id) => site.report(id, { on: "fail" })),
	CANCELLED: async (site) => ended(site, (id) => site.move(id, "cancel")),
	TIMED_OUT: async (site) => (await site.running({ leaseMs: LONG, executionTimeoutMs: 6000, now: T0 - 6000 })).id,
};

async function ended(site: Site, end: (id: string) => Promise<unknown>): Promise<string> {
	const { id } = await site.running({ leaseMs: LONG });
	await end(id);
	return id;
}

const NOTHING: Readonly<Counts> = {
	inQueue: 0,
	inProgress: 0,
	completed: 0,
	failed: 0,
	retried: 0,
};

/** How a caller brings an event about; answers whether it happened. */
const CALL: Partial<Record<JobEvent, (site: Site, id: string) => Promise<boolean>>> = {
	claim: async (site, id) => (await site.takeIds({ worker: "w2", limit: 9 })).includes(id),
	complete: async (site, id) => (await site.report(id)).ok,
	fail: async (site, id) => (await site.report(id, { on: "fail" })).ok,
	cancel: async (site, id) => (await site.move(id, "cancel")).ok,
	release: async (site, id) => (await site.move(id, "release", { attempt: 1 })).ok,
	lose: async (site, id) => (await site.move(id, "lose", { attempt: 1 })).ok,
	retry: async (site, id) => (await site.move(id, "retry")).ok,
	purge: async (site) => (await site.purge()) === 1,
};

/** Events that need time or losses: see the cases of deadlines and of late reports. */
const ELSEWHERE: readonly JobEvent[] = ["resume", "overrun", "lapse", "exhaust", "expire", "forget"];

export function machineCases({ store }: Bed): void {
	it("each event of the table has a case", () => {
		expect([...Object.keys(CALL), ...ELSEWHERE].toSorted()).toEqual(RULES.map(({ on }) => on).toSorted());
	});

	for (const [on, call] of Object.entries(CALL) as [JobEvent, (site: Site, id: string) => Promise<boolean>][]) {
		describe(`${on}`, () => {
			it.each(
				JOB_STATES.map((state) => ({
					state,
					verdict: allowed(state, on) ? `leads to ${next(state, on) ?? "nothing"}` : "is refused",
				})),
			)("in $state $verdict", async ({ state }) => {
				const site = siteOf(store());
				const id = await BRING[state](site);
				expect(await site.state(id)).toBe(state);
				const before = await site.counts();
				expect(await call(site, id)).toBe(allowed(state, on));
				expect(await site.state(id)).toBe(allowed(state, on) ? next(state, on) : state);
				const after = await site.counts();
				const change = allowed(state, on) ? countsOf(on, state, next(state, on) ?? state) : NOTHING;
				expect(after).toEqual(
					Object.fromEntries(Object.entries(before).map(([key, count]) => [key, count + change[key as keyof Counts]])),
				);
			});
		});
	}

	it.each(JOB_STATES)("a refused move reports the state %s", async (state) => {
		const site = siteOf(store());
		const id = await BRING[state](site);
		const on = allowed(state, "retry") ? "release" : "retry";
		const attempt = state === "IN_QUEUE" ? 0 : 1;
		expect(await site.move(id, on, { attempt })).toEqual({ ok: false, why: "state", state });
	});
}
