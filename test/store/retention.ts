/** Cases: the retention of a result, shortened by who reads it (D9). */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { alone, LEASE, RECORD, RETAIN, siteOf, T0, TTL } from "./site.ts";

export function retentionCases({ store, open }: Bed): void {
	it("D9: counts from the end of the job, whether it is asked for before or after", async () => {
		const site = siteOf(store());
		const [before, after] = [await site.running(), await site.running()];
		await site.retain(before.id, 5000);
		for (const { id } of [before, after]) await site.report(id, { output: "1", now: T0 + 100 });
		expect(await site.retain(after.id, 5000, T0 + 200)).toMatchObject({
			job: { retainMs: 5000, dueAt: T0 + 5100 },
			output: "1",
		});
		for (const { id } of [before, after]) {
			expect(await site.get(id, T0 + 5099)).toMatchObject({ output: "1" });
			expect(await site.get(id, T0 + 5100)).toBeUndefined();
		}
	});

	it("D9: never lengthens", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.report(id, { output: "1" });
		expect(await site.retain(id, RETAIN + 1)).toMatchObject({ job: { retainMs: RETAIN } });
		await site.retain(id, 5000);
		expect(await site.retain(id, 6000)).toMatchObject({ job: { retainMs: 5000 } });
		expect(await site.get(id, T0 + 5000)).toBeUndefined();
	});

	it("D9: when that moment has passed, this answer is the last one", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		await site.report(id, { on: "fail", output: "1", error: "no" });
		expect(await site.retain(id, 50, T0 + 50)).toMatchObject({
			job: { state: "FAILED", erased: false },
			output: "1",
			error: "no",
		});
		expect(await site.get(id, T0 + 50)).toBeUndefined();
		expect(await site.retain(id, 50, T0 + 50)).toBeUndefined();
		expect(await site.record(id, T0 + 50)).toMatchObject({
			job: { state: "FAILED", erased: true },
		});
		expect(await site.record(id, T0 + RECORD)).toBeUndefined();
	});

	it("D9: a waiting or running job goes on as before", async () => {
		const site = siteOf(store());
		const waiting = await site.add();
		expect(await site.retain(waiting.id, 0)).toEqual({ job: { ...waiting, retainMs: 0 } });
		expect(await site.takeIds()).toEqual([waiting.id]);
		await store().jobs.progress({
			endpoint: site.endpoint,
			id: waiting.id,
			worker: "w1",
			value: '"half"',
			now: T0,
		});
		expect(await site.retain(waiting.id, 0)).toMatchObject({
			job: { state: "IN_PROGRESS", dueAt: T0 + LEASE },
			output: '"half"',
		});
	});

	it("D9, D15: sees what has passed, and is missing for what was erased", async () => {
		const site = siteOf(store());
		const { id } = await site.add();
		expect(await site.retain(id, 5000, T0 + TTL)).toMatchObject({
			job: { state: "TIMED_OUT", dueAt: T0 + TTL + 5000 },
			error: expect.stringContaining(`${TTL} ms`) as string,
		});
		expect(await site.retain(id, 5000, T0 + TTL + 5000)).toBeUndefined();
		expect(await site.retain("no-such-id", 5000)).toBeUndefined();
	});

	it("D9: settle is due at the new moment", () =>
		alone(open, async (site) => {
			const { id } = await site.running();
			await site.report(id);
			await site.retain(id, 5000);
			expect(await site.settle(T0 + 1)).toEqual({ settled: 0, nextDueAt: T0 + 5000 });
			expect(await site.settle(T0 + 5000)).toEqual({ settled: 1, nextDueAt: T0 + RECORD });
		}));

	it("D9, D15: passed deadlines are settled before results that expired earlier, which are bounded", () =>
		alone(open, async (site) => {
			for (let n = 0; n < 3; n += 1) {
				const { id } = await site.running();
				await site.report(id);
				await site.retain(id, 1000 + n);
			}
			const { id } = await site.add();
			const now = T0 + TTL;
			expect(await site.settle(now, 1, 1)).toEqual({
				settled: 1,
				nextDueAt: undefined,
				expiryDueAt: T0 + 1000,
			});
			expect(await site.state(id)).toBe("TIMED_OUT");
			expect(await site.settle(now, 10, 2)).toMatchObject({ settled: 2, expiryDueAt: T0 + 1002 });
			expect(await site.settle(now, 10, 2)).toMatchObject({
				settled: 1,
				expiryDueAt: now + RETAIN,
			});
		}));
}
