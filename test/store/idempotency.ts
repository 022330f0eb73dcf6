/** Cases: submissions under a key (D14). */
import { expect, it } from "vitest";
import type { Idempotency } from "../../src/kernel/store/contract/jobs.ts";
import type { Bed } from "./index.ts";
import { alone, LEASE, RECORD, RETAIN, siteOf, T0, TTL } from "./site.ts";

/** How long keys are kept here, ms. */
const KEPT = 10_000_000;

const keyOf = (given: Partial<Idempotency> = {}): Idempotency => ({
	key: "k",
	bodyHash: "a".repeat(64),
	keptMs: KEPT,
	...given,
});

export function idempotencyCases({ store, open }: Bed): void {
	it("D14: the same key and body give the same job as it stands, once in the queue", async () => {
		const site = siteOf(store());
		const { id } = await site.add({ idempotency: keyOf() });
		expect(await site.insert({ idempotency: keyOf() })).toEqual({
			ok: true,
			repeated: true,
			job: (await site.get(id))?.job,
		});
		await site.take();
		await site.report(id, { output: "1", now: T0 + 5 });
		const again = await site.insert({ idempotency: keyOf(), now: T0 + 9 });
		expect(again).toEqual({ ok: true, repeated: true, job: (await site.get(id))?.job });
		expect(again).toMatchObject({
			job: { id, state: "COMPLETED", endedAt: T0 + 5, submittedAt: T0 },
		});
		expect(await site.counts()).toMatchObject({ inQueue: 0, completed: 1 });
	});

	it("D14: two at once share one job", async () => {
		const site = siteOf(store());
		const answers = await Promise.all(Array.from({ length: 5 }, () => site.insert({ idempotency: keyOf() })));
		expect(new Set(answers.map((answer) => answer.ok && answer.job.id)).size).toBe(1);
		expect(answers.map((answer) => answer.ok && answer.repeated === true)).toEqual([false, true, true, true, true]);
		expect(await site.counts()).toMatchObject({ inQueue: 1 });
	});

	it("D14: another body under the key is refused, the job untouched", async () => {
		const site = siteOf(store());
		await site.add({ idempotency: keyOf() });
		expect(await site.insert({ idempotency: keyOf({ bodyHash: "b" }) })).toEqual({
			ok: false,
			why: "key_reused",
		});
		expect(await site.counts()).toMatchObject({ inQueue: 1 });
	});

	it("D14: the key counts per endpoint and operation", async () => {
		const site = siteOf(store());
		const other = siteOf(store());
		const ids = new Set<string>();
		for (const operation of ["run", "runsync"] as const) {
			ids.add((await site.add({ operation, idempotency: keyOf() })).id);
			ids.add((await other.add({ operation, idempotency: keyOf() })).id);
		}
		ids.add((await site.add({ idempotency: keyOf({ key: "K" }) })).id);
		ids.add((await site.add()).id);
		expect(ids.size).toBe(6);
	});

	it("D14: a key is forgotten after its time, and may then be used for another body", async () => {
		const site = siteOf(store());
		const first = await site.add({ idempotency: keyOf({ keptMs: 5000 }) });
		expect(await site.insert({ now: T0 + 4999, idempotency: keyOf() })).toMatchObject({
			repeated: true,
			job: { id: first.id },
		});
		const second = await site.add({ now: T0 + 5000, idempotency: keyOf({ bodyHash: "b" }) });
		expect(second.id).not.toBe(first.id);
		expect(await site.insert({ now: T0 + 5001, idempotency: keyOf({ bodyHash: "b" }) })).toMatchObject({
			repeated: true,
			job: { id: second.id },
		});
	});

	it("D14, D23: a known key decides before the bound; a refused submission keeps no key", async () => {
		const site = siteOf(store());
		const { id } = await site.add({ idempotency: keyOf() });
		expect(await site.insert({ queueBound: 0, idempotency: keyOf() })).toMatchObject({
			ok: true,
			job: { id },
		});
		expect(await site.insert({ queueBound: 0, idempotency: keyOf({ bodyHash: "b" }) })).toEqual({
			ok: false,
			why: "key_reused",
		});
		expect(await site.insert({ queueBound: 0, idempotency: keyOf({ key: "other" }) })).toEqual({
			ok: false,
			why: "full",
		});
		expect(await site.insert({ idempotency: keyOf({ key: "other", bodyHash: "b" }) })).toMatchObject({ ok: true });
	});

	it("D14, D15: the job is returned as its deadlines leave it, without a sweep", async () => {
		const site = siteOf(store());
		const { id } = await site.add({ idempotency: keyOf() });
		expect(await site.insert({ now: T0 + TTL, idempotency: keyOf() })).toMatchObject({
			repeated: true,
			job: { id, state: "TIMED_OUT", endedAt: T0 + TTL },
		});
		const elsewhere = siteOf(store());
		const other = await elsewhere.running({ idempotency: keyOf() });
		expect(await elsewhere.insert({ now: T0 + LEASE, idempotency: keyOf() })).toMatchObject({
			job: { id: other.id, state: "IN_QUEUE", losses: 1 },
		});
	});

	it("D14: of an expired job the last state is returned while there is a record; it never runs again", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ idempotency: keyOf() });
		await site.report(id, { on: "fail" });
		const at = (now: number) => site.insert({ now, idempotency: keyOf() });
		expect(await at(T0 + RETAIN - 1)).toMatchObject({ repeated: true });
		expect(await at(T0 + RETAIN)).toEqual({ ok: false, why: "key_expired", state: "FAILED" });
		expect(await at(T0 + RECORD)).toEqual({ ok: false, why: "key_expired" });
		await store().jobs.settle({ now: T0 + RECORD, limit: 1000 });
		expect(await at(T0 + RECORD)).toEqual({ ok: false, why: "key_expired" });
		expect(await site.insert({ now: T0 + RECORD, idempotency: keyOf({ bodyHash: "b" }) })).toEqual({
			ok: false,
			why: "key_reused",
		});
	});

	it("D14, D11: of a purged job nothing is returned, before and after its row is removed", () =>
		alone(open, async (site) => {
			await site.add({ idempotency: keyOf() });
			await site.purge();
			for (let round = 0; round < 2; round += 1) {
				expect(await site.insert({ idempotency: keyOf() })).toEqual({
					ok: false,
					why: "key_expired",
				});
				await site.settle(T0);
			}
			expect(await site.counts()).toMatchObject({ inQueue: 0 });
		}));

	it("D14: a submission that fails keeps no key", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		await expect(site.insert({ id, idempotency: keyOf() })).rejects.toThrow(Error);
		expect(await site.insert({ idempotency: keyOf({ bodyHash: "b" }) })).toMatchObject({
			ok: true,
		});
	});

	it("D14: settle › removes old keys up to its limit, and is due when the next one is old", () =>
		alone(open, async (site) => {
			for (const [n, keptMs] of [1000, 1000, 1000, 3000].entries())
				await site.add({ idempotency: keyOf({ key: `k${n}`, keptMs }) });
			expect(await site.settle(T0)).toEqual({ settled: 0, nextDueAt: T0 + 1000 });
			expect(await site.settle(T0 + 1000, 2)).toEqual({ settled: 0, nextDueAt: T0 + 1000 });
			expect(await site.settle(T0 + 1000, 2)).toEqual({ settled: 0, nextDueAt: T0 + 3000 });
			expect(await site.insert({ now: T0 + 1001, idempotency: keyOf({ key: "k3" }) })).toMatchObject({
				repeated: true,
			});
			expect(await site.settle(T0 + 3000)).toEqual({ settled: 0, nextDueAt: T0 + TTL });
		}));
}
