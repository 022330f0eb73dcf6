import { describe, expect, it } from "vitest";
import { budgetLimits, budgetMeters } from "../../core/budgets.ts";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { memoryShares, type Owner } from "./shares.ts";

const key = (id: string): Owner => ({ kind: "key", id });
const worker = (id: string): Owner => ({ kind: "worker", id });
const stays = () => new AbortController().signal;

/** Shares of 1,200 bytes: clients have 600. */
function shares() {
	const clock = manualClock();
	const meter = budgetMeters({ ...budgetLimits(), memory: 1200 }).memory;
	return { clock, meter, ...memoryShares({ meter, clock }) };
}

describe("the budget of bytes in flight", () => {
	it("D41: one key holds at most as much as remains free for others", async () => {
		const { take, clock } = shares();
		expect(take(key("a"), 300, stays)).toBeUndefined();
		const more = take(key("a"), 1, stays)!;
		expect(take(key("b"), 150, stays)).toBeUndefined();
		expect(take(key("c"), 75, stays)).toBeUndefined();
		const refused = more.catch((error: unknown) => error);
		await clock.advance(5000);
		expect(await refused).toMatchObject({ code: "memory_share", retryAfter: 5 });
	});

	it("D41: a first amount only has to fit; over all clients together it is memory_spent", async () => {
		const { take, clock, meter } = shares();
		expect(take(key("a"), 600, stays)).toBeUndefined();
		const refused = take(key("b"), 1, stays)!.catch((error: unknown) => error);
		await clock.advance(5000);
		expect(await refused).toMatchObject({ code: "memory_spent", retryAfter: 5 });
		expect([meter.used, meter.spent]).toEqual([600, 1]);
	});

	it("D41: workers have the other half, and one report is always let in", async () => {
		const { take, give } = shares();
		expect(take(key("a"), 600, stays)).toBeUndefined();
		expect(take(worker("v"), 1000, stays)).toBeUndefined();
		give(worker("v"), 1000);
		expect(take(worker("v"), 300, stays)).toBeUndefined();
		expect(take(worker("w"), 300, stays)).toBeUndefined();
	});

	it("D41: what does not fit gets its turn when others give back, and no worker overtakes another one", async () => {
		const { take, give } = shares();
		expect(take(worker("u"), 700, stays)).toBeUndefined();
		const order: string[] = [];
		const large = take(worker("v"), 900, stays)!.then(() => order.push("large"));
		const small = take(worker("w"), 100, stays)!.then(() => order.push("small"));
		give(worker("u"), 700);
		await Promise.all([large, small]);
		expect(order).toEqual(["large", "small"]);
	});

	it("D41: a caller that has left takes nothing", async () => {
		const { take, give, meter } = shares();
		expect(take(key("a"), 600, stays)).toBeUndefined();
		const left = new AbortController();
		const waiting = take(key("b"), 100, () => left.signal);
		left.abort();
		expect(await waiting).toBe(false);
		give(key("a"), 600);
		expect(meter.used).toBe(0);
	});
});
