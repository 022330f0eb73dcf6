/** Cases: whose webhook deliveries are claimed, and receivers that fail (D21). */
import { expect, it } from "vitest";
import { FIRST_PAUSE_MS, PAUSE_AFTER } from "../../src/kernel/core/webhooks.ts";
import type { Signal, Store } from "../../src/kernel/store/contract/store.ts";
import type { Bed } from "./index.ts";
import { alone, siteOf, T0 } from "./site.ts";
import { claim, delivering, failed, HOLD } from "./webhooks.ts";

export function webhookReceiverCases({ open }: Bed): void {
	it("D21: claim › every endpoint gets its share, whatever is due for another", () =>
		alone(open, async (site) => {
			const others = [siteOf(site.store), siteOf(site.store)];
			for (let n = 0; n < 30; n += 1) await delivering(site);
			const late = [await delivering(others[0]!), await delivering(others[1]!)];
			const first = (await claim(site.store, { limit: 9 })).due;
			expect(first.filter(({ id }) => late.includes(id))).toHaveLength(2);
			expect(first).toHaveLength(5);
			expect((await claim(site.store, { each: 7 })).due).toHaveLength(7);
			const more = await delivering(others[0]!);
			const { due, nextDueAt } = await claim(site.store, { skip: [site.endpoint] });
			expect(due.map(({ id }) => id)).toEqual([more]);
			expect(nextDueAt).toBe(T0 + HOLD);
		}));

	it("D21: claim › with more endpoints than the limit, those that are due longest", () =>
		alone(open, async (site) => {
			const sites = [site, siteOf(site.store), siteOf(site.store)];
			const ids = [];
			for (const each of sites) ids.push(await delivering(each));
			const rounds = [];
			for (let n = 0; n < 3; n += 1) rounds.push((await claim(site.store, { limit: 1 })).due.map(({ id }) => id));
			expect(rounds.flat().toSorted()).toEqual(ids.toSorted());
		}));

	const attempt = (
		{ webhooks }: Store,
		id: string,
		given: {
			status?: number;
			state?: "pending" | "failed" | "delivered";
			now?: number;
		} = {},
	) => {
		const { status, state = "pending", now = T0 } = given;
		return webhooks.tried({ id, tried: { at: now, tookMs: 1, status }, state, dueAt: now, counts: { now } });
	};

	it("D21: a receiver that does not answer is paused, for one endpoint; what is due for it waits until the end", () =>
		alone(open, async (site) => {
			const other = siteOf(site.store);
			const [one, two, elsewhere] = [await delivering(site), await delivering(site), await delivering(other)];
			const apart = await delivering(site, { webhook: "https://other.example/" });
			await claim(site.store);
			for (let n = 1; n < PAUSE_AFTER; n += 1) expect((await attempt(site.store, one))?.pausedUntil).toBeUndefined();
			const paused = { unanswered: PAUSE_AFTER, pausedUntil: T0 + FIRST_PAUSE_MS };
			expect(await attempt(site.store, one)).toEqual(paused);
			const next = T0 + HOLD - 1;
			expect((await claim(site.store, { now: next })).due).toEqual([]);
			const ids = async (now: number) => (await claim(site.store, { now })).due.map(({ id }) => id);
			expect((await ids(T0 + HOLD)).toSorted()).toEqual([elsewhere, apart, one, two].toSorted());
		}));

	it("D21: an answer ends the pause: what was put off is due at once", () =>
		alone(open, async (site) => {
			const [one, two] = [await delivering(site), await delivering(site)];
			for (let n = 0; n < PAUSE_AFTER + 2; n += 1) await attempt(site.store, one);
			expect(await claim(site.store)).toEqual({ due: [], nextDueAt: T0 + 4 * FIRST_PAUSE_MS });
			const signals: Signal[] = [];
			site.store.onSignal((signal) => signals.push(signal));
			expect(await attempt(site.store, one, { status: 200, state: "delivered" })).toBeUndefined();
			expect(signals).toEqual([{ kind: "delivery" }]);
			expect((await claim(site.store)).due).toMatchObject([{ id: two }]);
		}));

	it("D21: after a success the others keep the time between attempts and their hold", () =>
		alone(open, async (site) => {
			const [waits, held, good] = [await delivering(site), await delivering(site), await delivering(site)];
			await claim(site.store);
			const dueAt = T0 + 10_000;
			const tried = failed(T0);
			const counts = { now: T0 };
			await site.store.webhooks.tried({ id: waits, tried, state: "pending", dueAt, counts });
			await attempt(site.store, good, { status: 200, state: "delivered" });
			expect(await claim(site.store, { now: dueAt - 1 })).toEqual({ due: [], nextDueAt: dueAt });
			expect((await claim(site.store, { now: dueAt })).due).toMatchObject([{ id: waits }]);
			expect((await claim(site.store, { now: T0 + HOLD })).due).toMatchObject([{ id: held }]);
		}));

	it("D21: an answer with any status pauses no receiver, and ends the count of attempts without one", () =>
		alone(open, async (site) => {
			const id = await delivering(site);
			for (let n = 1; n < PAUSE_AFTER; n += 1) await attempt(site.store, id);
			expect(await attempt(site.store, id, { status: 500 })).toBeUndefined();
			for (let n = 0; n < 2 * PAUSE_AFTER; n += 1) await attempt(site.store, id, { status: 500 });
			expect(await attempt(site.store, id)).toEqual({ unanswered: 1, pausedUntil: undefined });
			expect((await claim(site.store)).due).toMatchObject([{ id }]);
		}));

	it("D21: pending deliveries are counted by endpoint, up to a bound", () =>
		alone(open, async (site) => {
			const other = siteOf(site.store);
			for (let n = 0; n < 3; n += 1) await delivering(site);
			const done = await delivering(other);
			await delivering(other);
			await site.store.webhooks.tried({ id: done, tried: failed(T0), state: "failed" });
			const counts = new Map(
				(await site.store.webhooks.pending({ atMost: 2 })).map(({ endpoint, count }) => [endpoint, count]),
			);
			expect(counts).toEqual(
				new Map([
					[site.endpoint, 2],
					[other.endpoint, 1],
				]),
			);
		}));
}
