/** Cases: signals report moves made in passing (contract rule 8). */
import { expect, it } from "vitest";
import type { Signal } from "../../src/kernel/store/contract/store.ts";
import type { Bed } from "./index.ts";
import { alone, LEASE, type Site, siteOf, T0, TIMEOUT, TTL } from "./site.ts";

/** The signals of an endpoint while `act` runs. */
async function heard(site: Site, act: () => Promise<unknown>): Promise<Signal[]> {
	const signals: Signal[] = [];
	const stop = site.store.onSignal(
		(signal) => void ("endpoint" in signal && signal.endpoint === site.endpoint && signals.push(signal)),
	);
	await act();
	stop();
	return signals;
}

export function signalCases({ store, open }: Bed): void {
	it("a lapse that any method meets is announced as settled, once", async () => {
		const site = siteOf(store());
		const { endpoint } = site;
		const { id } = await site.add();
		expect(await heard(site, () => site.move(id, "cancel", { now: T0 + TTL }))).toEqual([
			{ kind: "settled", endpoint, id, state: "TIMED_OUT" },
		]);
		expect(await heard(site, () => site.move(id, "cancel", { now: T0 + TTL }))).toEqual([]);
	});

	it("an overrun is announced as settled, and its worker is to stop", async () => {
		const site = siteOf(store());
		const { endpoint } = site;
		const { id } = await site.running({ leaseMs: 600_000 });
		const signals = await heard(site, () => site.report(id, { now: T0 + TIMEOUT }));
		expect(signals).toHaveLength(2);
		expect(signals).toEqual(
			expect.arrayContaining([
				{ kind: "settled", endpoint, id, state: "TIMED_OUT" },
				{ kind: "stop", endpoint, id, worker: "w1" },
			]),
		);
	});

	it("a lease that ended is announced as queued", async () => {
		const site = siteOf(store());
		const { endpoint } = site;
		const { id } = await site.running();
		expect(await heard(site, () => site.report(id, { now: T0 + LEASE }))).toContainEqual({
			kind: "queued",
			endpoint,
			id,
			worker: "w1",
			silent: "w1",
		});
	});

	it("what a caller did itself is not announced", async () => {
		const site = siteOf(store());
		const signals = await heard(site, async () => {
			const { id } = await site.running();
			await site.move(id, "release", { attempt: 1, over: true });
			await site.take();
			await site.report(id, { on: "return", workerEnd: "the server does not answer" });
			await site.take();
			await site.report(id, { on: "fail" });
			await site.move(id, "retry");
			await site.move(id, "cancel");
		});
		expect(signals).toEqual([]);
	});

	it("D18, D39: cancelAll announces each end, and the stop of each run", async () => {
		const site = siteOf(store());
		const { endpoint } = site;
		const running = await site.running();
		const waiting = await site.add();
		const signals = await heard(site, () => site.cancelAll());
		expect(signals).toHaveLength(3);
		expect(signals).toEqual(
			expect.arrayContaining([
				{ kind: "settled", endpoint, id: running.id, state: "CANCELLED" },
				{ kind: "stop", endpoint, id: running.id, worker: "w1" },
				{ kind: "settled", endpoint, id: waiting.id, state: "CANCELLED" },
			]),
		);
	});

	it("reads announce nothing", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		expect(await heard(site, () => Promise.all([site.get(id, T0 + TTL), site.record(id, T0 + TTL)]))).toEqual([]);
	});

	it("the third loss by pings is announced as settled: the answer cannot say", async () => {
		const site = siteOf(store());
		const { endpoint } = site;
		const { id } = await site.running();
		for (let loss = 1; loss < 3; loss += 1) {
			await site.move(id, "lose", { attempt: loss, over: true });
			await site.take();
		}
		expect(await heard(site, () => site.idle({ before: T0 + 1, dead: true }))).toContainEqual({
			kind: "settled",
			endpoint,
			id,
			state: "FAILED",
		});
	});

	it("settle announces what it settles, to every listener, until it is removed", () =>
		alone(open, async (site) => {
			const { endpoint } = site;
			await site.running({ leaseMs: 30_000 });
			const { id } = await site.add();
			const twice: Signal[] = [];
			const stop = site.store.onSignal((signal) => twice.push(signal));
			const signals = await heard(site, () => site.settle(T0 + LEASE * 4));
			expect(signals).toContainEqual({ kind: "settled", endpoint, id, state: "TIMED_OUT" });
			expect(twice).toEqual(signals);
			stop();
			await site.add({ ttlMs: 10_000 });
			await site.settle(T0 + LEASE * 4);
			expect(twice).toEqual(signals);
		}));
}
