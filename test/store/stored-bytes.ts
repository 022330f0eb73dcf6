/** Cases: bytes that jobs have stored, and the bounds on them (D43). */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { LEASE, RECORD, RETAIN, type Site, siteOf, T0, TTL } from "./site.ts";

const text = (bytes: number): string => `"${"x".repeat(bytes - 2)}"`;

async function stored({ store, endpoint }: Site): Promise<number> {
	const all = await store.jobs.stored();
	return all.find((each) => each.endpoint === endpoint)?.bytes ?? 0;
}

function append(site: Site, id: string, chunks: string[], bound?: { bytes: number; chunks: number }) {
	const { endpoint } = site;
	const q = { endpoint, id, worker: "w1", chunks, unlessLast: false, bound, now: T0 };
	return site.store.chunks.append(q);
}

export function storedCases({ store }: Bed): void {
	it("D43: stored › inputs, chunks and results count until they expire", async () => {
		const site = siteOf(store());
		expect(await stored(site)).toBe(0);
		await site.add({ input: text(1000), ttlMs: 10 * TTL });
		expect(await stored(site)).toBe(1000);
		const { id } = await (async () => {
			const [first] = (await site.take()).jobs;
			return first!.job;
		})();
		await append(site, id, [text(100), text(50)]);
		expect(await stored(site)).toBe(1150);
		await site.report(id, { output: text(300) });
		expect(await stored(site)).toBe(1450);
		await site.store.jobs.settle({ now: T0 + RETAIN, limit: 100 });
		expect(await stored(site)).toBe(0);
		await site.store.jobs.settle({ now: T0 + RECORD, limit: 100 });
		expect(await stored(site)).toBe(0);
	});

	it("D43: stored › a retry keeps the input; a repeated chunk does not count again", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ input: text(1000) });
		await append(site, id, [text(100)]);
		const { endpoint } = site;
		const repeat = { endpoint, id, worker: "w1", chunks: [text(100)], unlessLast: true, now: T0 };
		await site.store.chunks.append(repeat);
		await site.report(id, { on: "fail", error: "broken" });
		expect(await stored(site)).toBe(1106);
		await site.move(id, "retry");
		expect(await stored(site)).toBe(1000);
	});

	it("D43: stored › a purge frees the bytes when its rows are removed", async () => {
		const site = siteOf(store());
		for (let count = 0; count < 5; count += 1) await site.add({ input: text(1000) });
		await site.store.jobs.purge({ endpoint: site.endpoint, now: T0 });
		await site.store.jobs.settle({ now: T0, limit: 2 });
		await site.store.jobs.settle({ now: T0, limit: 100 });
		expect(await stored(site)).toBe(0);
	});

	it("D43: stored › a lost attempt's chunks stay counted, at most until the job expires", async () => {
		const site = siteOf(store());
		const { id } = await site.running({ input: text(1000), ttlMs: 10 * TTL });
		await append(site, id, [text(100)]);
		await site.store.jobs.settle({ now: T0 + LEASE, limit: 100 });
		expect(await site.state(id, T0 + LEASE)).toBe("IN_QUEUE");
		expect(await stored(site)).toBe(1100);
		await site.move(id, "cancel", { now: T0 + LEASE });
		await site.store.jobs.settle({ now: T0 + LEASE + RETAIN, limit: 100 });
		expect(await stored(site)).toBe(0);
	});

	it("D43: insert › refuses what would be over the bound, with what is stored, and nothing else", async () => {
		const site = siteOf(store());
		const bound = { storedBound: 2500, input: text(1000) };
		await site.add(bound);
		await site.add(bound);
		expect(await site.insert(bound)).toEqual({ ok: false, why: "stored", stored: 2000 });
		expect((await site.insert({ ...bound, input: text(500) })).ok).toBe(true);
		expect((await siteOf(store()).insert(bound)).ok).toBe(true);
		expect((await site.insert({ input: text(5000) })).ok).toBe(true);
	});

	it("D43: insert › a repeat under its key is answered also beyond the bound", async () => {
		const site = siteOf(store());
		const idempotency = { key: "k", bodyHash: "h", keptMs: 1000 };
		const bound = { storedBound: 1500, input: text(1000), idempotency };
		const first = await site.add(bound);
		expect(await site.insert(bound)).toMatchObject({ ok: true, repeated: true, job: first });
	});

	it("D43: append › refuses chunks beyond the bytes or the number of a stream", async () => {
		const site = siteOf(store());
		const { id } = await site.running();
		const bytes = { bytes: 250, chunks: 100 };
		expect(await append(site, id, [text(100), text(100)], bytes)).toMatchObject({ ok: true });
		expect(await append(site, id, [text(100)], bytes)).toEqual({ ok: false, why: "full" });
		const number = { bytes: 1000, chunks: 3 };
		expect(await append(site, id, [text(10), text(10)], number)).toEqual({
			ok: false,
			why: "full",
		});
		expect(await append(site, id, [text(10)], number)).toMatchObject({ ok: true });
		expect(await site.store.jobs.record({ endpoint: site.endpoint, id, now: T0 })).toMatchObject({
			chunks: { written: 3 },
		});
	});
}
