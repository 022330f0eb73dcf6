/** Cases: webhook deliveries, from the end of a job to their own (D21). */
import { asOne, stringOf } from "../../src/kernel/lib/json/json-text.ts";
import { expect, it } from "vitest";
import { DELIVERY_HISTORY } from "../../src/kernel/core/webhooks.ts";
import { jobView } from "../../src/kernel/core/jobs/job-view.ts";
import type { Signal, Store } from "../../src/kernel/store/contract/store.ts";
import type { Bed } from "./index.ts";
import { alone, LEASE, RETAIN, type Site, siteOf, T0, TIMEOUT, TTL } from "./site.ts";

const webhook = "https://example.org/hook";
export const HOLD = 30_000;

export const claim = (
	{ webhooks }: Store,
	given: { limit?: number; each?: number; skip?: string[]; now?: number } = {},
) => webhooks.claim({ limit: 100, each: 100, skip: [], holdMs: HOLD, now: T0, ...given });
const bodyOf = async ({ webhooks }: Store, id = ""): Promise<string> => stringOf((await webhooks.body({ id })) ?? "");
export const failed = (at: number) => ({ at, tookMs: 7, status: 500 });

/** A site with one delivery, made at `T0`; answers its id. */
export async function delivering(site: Site, given: { output?: string; webhook?: string } = {}): Promise<string> {
	const { id } = await site.running({ webhook, ...given });
	await site.report(id, { output: given.output ?? "1" });
	return `msg_${id}_0`;
}

export function webhookCases({ store, open }: Bed): void {
	it("D21: a job without a webhook makes none", () =>
		alone(open, async (site) => {
			await site.report((await site.running()).id);
			expect(await claim(site.store)).toEqual({ due: [] });
			expect(await site.store.webhooks.list({ limit: 9 })).toEqual({ deliveries: [] });
		}));

	it("D21: the end of a job makes one, with the body as /status shows it then", () =>
		alone(open, async (site) => {
			const { endpoint } = site;
			const { id } = await site.running({ webhook });
			await site.report(id, { output: '{"n": 1.0}', now: T0 + 5 });
			const shown = await site.get(id, T0 + 5);
			const row = {
				id: `msg_${id}_0`,
				endpoint,
				job: id,
				url: webhook,
				state: "pending",
				tries: [],
				used: 0,
				createdAt: T0 + 5,
			};
			const body = stringOf(asOne(jobView(shown!, T0 + 9)));
			expect(await site.store.webhooks.find({ id: row.id })).toEqual({
				...row,
				dueAt: T0 + 5,
				bytes: body.length,
			});
			const { due, nextDueAt } = await claim(site.store, { now: T0 + 6 });
			const ofJob = { operation: "run", inputBytes: 7 };
			expect(due).toEqual([{ ...row, dueAt: T0 + 6 + HOLD, bytes: body.length, body, ...ofJob }]);
			expect(await bodyOf(site.store, row.id)).toBe(
				`{"id":"${id}","status":"COMPLETED","delayTime":0,"executionTime":5,"output":{"n": 1.0},"workerId":"w1"}`,
			);
			expect(nextDueAt).toBe(T0 + 6 + HOLD);
		}));

	const ENDS: Record<
		string,
		(site: Site) => Promise<{ id: string; now: number; state: string; says: readonly string[] }>
	> = {
		"a report of a failure": async (site) => {
			const { id } = await site.running({ webhook });
			await site.report(id, { on: "fail", output: "[1]", error: "no" });
			return { id, now: T0, state: "FAILED", says: ['"output":[1]', '"error":"no"'] };
		},
		"a cancel while it waits": async (site) => {
			const { id } = await site.add({ webhook });
			await site.move(id, "cancel");
			return { id, now: T0, state: "CANCELLED", says: [] };
		},
		"a cancel while it runs": async (site) => {
			const { id } = await site.running({ webhook });
			await store().jobs.progress({
				endpoint: site.endpoint,
				id,
				worker: "w1",
				value: '"half"',
				now: T0,
			});
			await site.move(id, "cancel");
			return { id, now: T0, state: "CANCELLED", says: [] };
		},
		"a cancel of all": async (site) => {
			const { id } = await site.add({ webhook });
			await site.cancelAll();
			return { id, now: T0, state: "CANCELLED", says: [] };
		},
		"a lapsed wait": async (site) => {
			const { id } = await site.add({ webhook });
			await site.move(id, "cancel", { now: T0 + TTL + 9 });
			return { id, now: T0 + TTL, state: "TIMED_OUT", says: [`${TTL} ms`] };
		},
		"an overrun": async (site) => {
			const { id } = await site.running({ webhook, leaseMs: 600_000 });
			await site.counts(T0 + TIMEOUT + 9);
			return { id, now: T0 + TIMEOUT, state: "TIMED_OUT", says: [`${TIMEOUT} ms`] };
		},
		"the third loss": async (site) => {
			const { id } = await site.add({ webhook, ttlMs: 600_000 });
			for (let loss = 0; loss < 3; loss += 1) await site.take({ now: T0 + loss * LEASE, worker: `w${loss}` });
			await store().jobs.settle({ now: T0 + 3 * LEASE, limit: 1000 });
			return { id, now: T0 + 3 * LEASE, state: "FAILED", says: ["lost 3 times", '"retries":2'] };
		},
		"an end and its expiry noticed together": async (site) => {
			const { id } = await site.add({ webhook });
			await store().jobs.settle({ now: T0 + TTL + RETAIN, limit: 1000 });
			expect(await site.record(id, T0 + TTL + RETAIN)).toMatchObject({
				job: { erased: true, webhook: undefined },
			});
			return { id, now: T0 + TTL, state: "TIMED_OUT", says: [`${TTL} ms`] };
		},
	};

	it.each(Object.entries(ENDS))("D21: every final state makes one: %s", async (_, end) => {
		const site = siteOf(store());
		const { id, now, state, says } = await end(site);
		const { deliveries } = await store().webhooks.list({ endpoint: site.endpoint, limit: 9 });
		expect(deliveries).toMatchObject([{ job: id, url: webhook, state: "pending", createdAt: now, dueAt: now }]);
		const { due } = await claim(store(), { now: T0 + 10_000_000 });
		const body = await bodyOf(store(), due.find((delivery) => delivery.job === id)?.id);
		expect(JSON.parse(body)).toMatchObject({ id, status: state });
		for (const text of says) expect(body).toContain(text);
		if (says.length === 0) expect(body).not.toMatch(/"(output|error)"/);
	});

	it("D21, D37: a retried job makes another, under an id of its own; the first keeps its body", () =>
		alone(open, async (site) => {
			const { id } = await site.running({ webhook });
			await site.report(id, { on: "fail", error: "first" });
			await site.move(id, "retry");
			await site.take();
			await site.report(id, { output: "2" });
			const { due } = await claim(site.store);
			expect(due.map((delivery) => delivery.id)).toEqual([`msg_${id}_0`, `msg_${id}_1`]);
			expect(await bodyOf(site.store, due[0]?.id)).toContain('"error":"first"');
			expect(await bodyOf(site.store, due[1]?.id)).toContain('"output":2');
		}));

	it("D21: a loss, a release, a report that came too late make none", () =>
		alone(open, async (site) => {
			const { id } = await site.running({ webhook });
			await site.move(id, "lose", { attempt: 1 });
			await site.take({ worker: "w2" });
			await site.report(id);
			await site.move(id, "release", { attempt: 2 });
			expect(await claim(site.store)).toEqual({ due: [] });
		}));

	it("D21: the signal reports new ones, once for those of a step", () =>
		alone(open, async (site) => {
			const signals: Signal[] = [];
			await site.add({ webhook });
			await site.add({ webhook });
			site.store.onSignal((signal) => signals.push(signal));
			const deliveries = (): number => signals.filter(({ kind }) => kind === "delivery").length;
			await site.settle(T0 + TTL);
			expect(deliveries()).toBe(1);
			await site.move((await site.add({ webhook })).id, "cancel");
			expect(deliveries()).toBe(2);
			await site.move((await site.add()).id, "cancel");
			expect(deliveries()).toBe(2);
		}));

	it("claim › the longest due first, up to the limit; no other server gets them while they are held", () =>
		alone(open, async (site) => {
			const [one, two, three] = [await delivering(site), await delivering(site), await delivering(site)];
			const ids = async (given: { limit?: number; now?: number }) =>
				(await claim(site.store, given)).due.map(({ id }) => id);
			expect(await ids({ limit: 2 })).toEqual([one, two]);
			expect(await ids({ limit: 2, now: T0 + 1 })).toEqual([three]);
			expect(await claim(site.store, { now: T0 + 2 })).toEqual({ due: [], nextDueAt: T0 + HOLD });
			expect(await ids({ now: T0 + HOLD })).toEqual([one, two]);
			expect(await ids({ now: T0 + HOLD + 1 })).toEqual([three]);
		}));

	it("D5: a body of 20 MB passes", () =>
		alone(open, async (site) => {
			const output = JSON.stringify("0123456789".repeat(2_000_000));
			const id = await delivering(site, { output });
			expect((await site.store.webhooks.list({ limit: 9 })).deliveries).toMatchObject([{ id }]);
			expect((await bodyOf(site.store, (await claim(site.store)).due[0]!.id)).includes(output)).toBe(true);
		}));

	it("D21: tried › notes each try and what follows from it", () =>
		alone(open, async (site) => {
			const { webhooks } = site.store;
			const id = await delivering(site);
			await claim(site.store);
			await webhooks.tried({ id, tried: failed(T0 + 1), state: "pending", dueAt: T0 + 10_000 });
			expect(await webhooks.find({ id })).toMatchObject({
				state: "pending",
				used: 1,
				dueAt: T0 + 10_000,
				tries: [failed(T0 + 1)],
			});
			expect((await claim(site.store, { now: T0 + 9_999 })).due).toEqual([]);
			expect((await claim(site.store, { now: T0 + 10_000 })).due).toMatchObject([
				{ id, used: 1, tries: [failed(T0 + 1)] },
			]);
			const done = { at: T0 + 10_001, tookMs: 3, status: 200 };
			await webhooks.tried({ id, tried: done, state: "delivered" });
			const after = await webhooks.find({ id });
			expect(after).toMatchObject({ state: "delivered", used: 2, tries: [failed(T0 + 1), done] });
			expect(after?.dueAt).toBeUndefined();
			expect(await claim(site.store, { now: T0 + 1_000_000 })).toEqual({ due: [] });
		}));

	it("D21: tried › nothing for one that is over or unknown", () =>
		alone(open, async (site) => {
			const { webhooks } = site.store;
			const id = await delivering(site);
			await webhooks.tried({ id, tried: { at: T0, tookMs: 1, error: "refused" }, state: "failed" });
			const before = await webhooks.find({ id });
			await webhooks.tried({ id, tried: failed(T0), state: "pending", dueAt: T0 });
			await webhooks.tried({ id: "none", tried: failed(T0), state: "pending", dueAt: T0 });
			expect(await webhooks.find({ id })).toEqual(before);
			expect(before).toMatchObject({
				state: "failed",
				tries: [{ at: T0, tookMs: 1, error: "refused" }],
			});
		}));

	it("D21: redeliver › makes one that is over due again, with all its tries again and its history kept", () =>
		alone(open, async (site) => {
			const { webhooks } = site.store;
			const id = await delivering(site);
			const signals: Signal[] = [];
			site.store.onSignal((signal) => signals.push(signal));
			expect(await webhooks.redeliver({ id, now: T0 })).toBe("pending");
			expect(await webhooks.redeliver({ id: "none", now: T0 })).toBe("missing");
			expect(signals).toEqual([]);
			await webhooks.tried({ id, tried: failed(T0), state: "failed" });
			expect(await webhooks.redeliver({ id, now: T0 + 50 })).toBe("due");
			expect(signals).toEqual([{ kind: "delivery" }]);
			const { due } = await claim(site.store, { now: T0 + 50 });
			expect(due).toMatchObject([{ id, state: "pending", used: 0, tries: [failed(T0)], createdAt: T0 }]);
			await webhooks.tried({ id, tried: failed(T0 + 51), state: "delivered" });
			expect(await webhooks.find({ id })).toMatchObject({
				used: 1,
				tries: [failed(T0), failed(T0 + 51)],
			});
		}));

	it("D21: tried › keeps the last tries only", () =>
		alone(open, async (site) => {
			const { webhooks } = site.store;
			const id = await delivering(site);
			for (let n = 0; n <= DELIVERY_HISTORY; n += 1)
				await webhooks.tried({ id, tried: failed(T0 + n), state: "pending", dueAt: T0 });
			const found = await webhooks.find({ id });
			expect(found?.tries).toHaveLength(DELIVERY_HISTORY);
			expect(found?.tries.at(-1)).toEqual(failed(T0 + DELIVERY_HISTORY));
			expect(found?.used).toBe(DELIVERY_HISTORY + 1);
		}));

	it("D39: list › the last made first, by endpoint, job and state, in pages", () =>
		alone(open, async (site) => {
			const { webhooks } = site.store;
			const other = siteOf(site.store);
			const [a, b, c, d] = [
				await delivering(site),
				await delivering(other),
				await delivering(site),
				await delivering(site),
			];
			await webhooks.tried({ id: a, tried: failed(T0), state: "failed" });
			await webhooks.tried({ id: b, tried: failed(T0), state: "failed" });
			await webhooks.tried({ id: c, tried: failed(T0), state: "delivered" });
			const ids = async (q: Partial<Parameters<typeof webhooks.list>[0]>): Promise<string[]> =>
				(await webhooks.list({ limit: 9, ...q })).deliveries.map(({ id }) => id);
			const { endpoint } = site;
			expect(await ids({})).toEqual([d, c, b, a]);
			expect(await ids({ endpoint })).toEqual([d, c, a]);
			expect(await ids({ state: "failed" })).toEqual([b, a]);
			expect(await ids({ state: "pending" })).toEqual([d]);
			expect(await ids({ state: "delivered" })).toEqual([c]);
			expect(await ids({ state: "failed", endpoint })).toEqual([a]);
			expect(await ids({ state: "delivered", endpoint })).toEqual([c]);
			const job = a.slice(4, -2);
			expect([
				await ids({ job }),
				await ids({ job, endpoint, state: "failed" }),
				await ids({ job, state: "pending" }),
				await ids({ job, endpoint: other.endpoint }),
			]).toEqual([[a], [a], [], []]);
			const paged = [];
			for (let cursor: string | undefined, more = true; more; ) {
				const page = await webhooks.list({ limit: 2, cursor });
				paged.push(page.deliveries.map(({ id }) => id));
				cursor = page.next;
				more = cursor !== undefined;
			}
			expect(paged).toEqual([
				[d, c],
				[b, a],
			]);
		}));

	it("D21: expire › removes old ones that are over, some at a time, and no pending one", () =>
		alone(open, async (site) => {
			const { webhooks } = site.store;
			const ids = [await delivering(site), await delivering(site), await delivering(site)];
			const pending = await delivering(site);
			for (const id of ids) await webhooks.tried({ id, tried: failed(T0), state: "failed" });
			expect(await webhooks.expire({ before: T0, limit: 9 })).toBe(0);
			expect(await webhooks.expire({ before: T0 + 1, limit: 2 })).toBe(2);
			expect(await webhooks.expire({ before: T0 + 1, limit: 2 })).toBe(1);
			expect(await webhooks.expire({ before: T0 + 1, limit: 2 })).toBe(0);
			expect((await webhooks.list({ limit: 9 })).deliveries.map(({ id }) => id)).toEqual([pending]);
			expect(await webhooks.redeliver({ id: ids[0] ?? "", now: T0 })).toBe("missing");
		}));

	it("D9, D21: ?ttl=0 drops the body of a finished delivery at once, of a pending one at its end", () =>
		alone(open, async (site) => {
			const { webhooks } = site.store;
			const [done, pending, kept] = [
				await delivering(site),
				await delivering(site, { output: JSON.stringify("x".repeat(200_000)) }),
				await delivering(site),
			];
			await webhooks.tried({ id: done, tried: failed(T0), state: "delivered" });
			const { endpoint } = site;
			for (const id of [done, pending])
				await site.store.jobs.retain({ endpoint, id: id.slice(4, -2), retainMs: 0, now: T0 });
			await site.settle(T0);
			expect(await webhooks.body({ id: done })).toBeUndefined();
			expect(await bodyOf(site.store, pending)).toContain("xxx");
			await webhooks.tried({ id: pending, tried: failed(T0), state: "failed" });
			expect(await webhooks.body({ id: pending })).toBeUndefined();
			await webhooks.tried({ id: kept, tried: failed(T0), state: "failed" });
			expect(await bodyOf(site.store, kept)).toContain('"output":1');
		}));

	it("D5, D9, D21: the input of the job is read byte for byte until it is erased", () =>
		alone(open, async (site) => {
			const { webhooks, jobs } = site.store;
			const small = '{"n": 1.0}';
			const large = JSON.stringify("x".repeat(200_000));
			const ids: string[] = [];
			for (const input of [small, large]) {
				const { id } = await site.running({ webhook, input });
				await site.report(id);
				ids.push(id);
			}
			const deliveries = ids.map((id) => `msg_${id}_0`);
			const inputs = async () =>
				Promise.all(
					deliveries.map(async (id) => {
						const input = await webhooks.input({ id });
						return input && stringOf(input);
					}),
				);
			const sizes = async (now: number) => (await claim(site.store, { now })).due.map(({ inputBytes }) => inputBytes);
			expect(await sizes(T0)).toEqual([small.length, large.length]);
			expect(await inputs()).toEqual([small, large]);
			for (const id of ids) await jobs.retain({ endpoint: site.endpoint, id, retainMs: 0, now: T0 });
			await site.settle(T0);
			expect(await sizes(T0 + HOLD)).toEqual([0, 0]);
			expect(await inputs()).toEqual([undefined, undefined]);
			expect(await webhooks.input({ id: "msg_none_0" })).toBeUndefined();
		}));

	it("D21: outlives the result and its record", () =>
		alone(open, async (site) => {
			const id = await delivering(site);
			await site.settle(T0 + 10_000_000);
			await site.settle(T0 + 10_000_000);
			expect((await claim(site.store, { now: T0 + 10_000_000 })).due).toMatchObject([{ id }]);
			expect(await bodyOf(site.store, id)).toContain('"output":1');
		}));
}
