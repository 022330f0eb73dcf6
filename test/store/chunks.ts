/** Cases: streams, their cursor and reservations (D7). */
import { expect, it } from "vitest";
import type { Bed } from "./index.ts";
import { LEASE, RETAIN, type Site, siteOf, T0 } from "./site.ts";

const chunk = (n: number): string => `{"output":${n},"metrics":{}}`;
const chunksOf = (...numbers: number[]): string[] => numbers.map(chunk);

function streamOf(site: Site, id: string) {
	const { endpoint } = site;
	const { chunks } = site.store;
	return {
		append: (texts: string[], given: { worker?: string; attempt?: number; unlessLast?: boolean; now?: number } = {}) =>
			chunks.append({
				endpoint,
				id,
				worker: "w1",
				chunks: texts,
				unlessLast: false,
				now: T0,
				...given,
			}),
		read: (from: number, given: { maxBytes?: number; now?: number } = {}) =>
			chunks.read({ endpoint, id, from, maxBytes: 1_000_000, now: T0, ...given }),
		reserve: (reader: string, given: { maxBytes?: number; now?: number } = {}) =>
			chunks.reserve({ endpoint, id, reader, maxBytes: 1_000_000, now: T0, ...given }),
		deliver: (reader: string, delivered = true) => chunks.deliver({ endpoint, id, reader, delivered }),
	};
}

export function chunkCases({ store }: Bed): void {
	async function streaming() {
		const site = siteOf(store());
		const { id } = await site.running();
		return { site, id, stream: streamOf(site, id) };
	}

	it("append › keeps order; read › from any number, moving nothing", async () => {
		const { site, id, stream } = await streaming();
		expect(await stream.append(chunksOf(0, 1))).toMatchObject({ ok: true, repeat: false });
		await stream.append(chunksOf(2));
		expect(await stream.read(0)).toEqual({
			state: "IN_PROGRESS",
			from: 0,
			next: 3,
			chunks: chunksOf(0, 1, 2),
			more: false,
		});
		expect(await stream.read(2)).toMatchObject({ from: 2, next: 3, chunks: chunksOf(2) });
		expect(await stream.read(3)).toEqual({
			state: "IN_PROGRESS",
			from: 3,
			next: 3,
			chunks: [],
			more: false,
		});
		await site.report(id);
		expect(await stream.read(1)).toMatchObject({ state: "COMPLETED", chunks: chunksOf(1, 2) });
		expect(await streamOf(site, "no-such-id").read(0)).toBeUndefined();
	});

	it("append › only from the worker that holds the job; renews the lease", async () => {
		const { site, id, stream } = await streaming();
		expect(await stream.append(chunksOf(0), { worker: "w2" })).toEqual({
			ok: false,
			why: "missing",
		});
		await stream.append(chunksOf(0), { now: T0 + 15_000 });
		expect(await site.get(id, T0 + 15_000)).toMatchObject({
			job: { leaseUntil: T0 + 15_000 + LEASE, state: "IN_PROGRESS" },
		});
		await site.report(id, { now: T0 + 15_000 });
		expect(await stream.append(chunksOf(1), { now: T0 + 15_000 })).toEqual({
			ok: false,
			why: "stale",
		});
		expect(await streamOf(site, "no-such-id").append(chunksOf(1))).toEqual({
			ok: false,
			why: "missing",
		});
	});

	it("D7: append › of a post that names its attempt only while the worker has that one", async () => {
		const { site, id, stream } = await streaming();
		expect(await stream.append(chunksOf(0), { attempt: 1 })).toMatchObject({ ok: true });
		expect(await stream.append(chunksOf(1), { attempt: 2 })).toEqual({ ok: false, why: "stale" });
		await site.move(id, "lose", { attempt: 1, over: true });
		expect(await site.takeIds({ now: T0 + 1 })).toEqual([id]);
		expect(await stream.append(chunksOf(2), { attempt: 1, now: T0 + 1 })).toEqual({ ok: false, why: "stale" });
		expect(await stream.append(chunksOf(3), { attempt: 2, now: T0 + 1 })).toMatchObject({ ok: true, attempt: 2 });
		expect(await stream.append(chunksOf(4), { now: T0 + 1 })).toMatchObject({ ok: true });
		expect((await stream.read(1))?.chunks).toEqual(chunksOf(3, 4));
	});

	it("D7: append › unlessLast drops a repeat of the last chunks, and only that", async () => {
		const { stream } = await streaming();
		await stream.append(chunksOf(0, 1));
		expect(await stream.append(chunksOf(0, 1), { unlessLast: true })).toMatchObject({
			ok: true,
			repeat: true,
		});
		expect(await stream.append(chunksOf(0), { unlessLast: true })).toMatchObject({
			ok: true,
			repeat: false,
		});
		expect(await stream.append(chunksOf(0))).toMatchObject({ ok: true, repeat: false });
		expect((await stream.read(0))?.chunks).toEqual(chunksOf(0, 1, 0, 0));
		expect(await stream.append(chunksOf(9, 9, 9, 9, 9), { unlessLast: true })).toMatchObject({
			repeat: false,
		});
	});

	it("D7: an answer holds at most maxBytes but at least one chunk, and reports more", async () => {
		const { site, id, stream } = await streaming();
		await stream.append(chunksOf(0, 1, 2));
		await site.report(id);
		const { length } = chunk(0);
		expect(await stream.read(0, { maxBytes: 1 })).toEqual({
			state: "COMPLETED",
			from: 0,
			next: 1,
			chunks: chunksOf(0),
			more: true,
		});
		expect(await stream.read(1, { maxBytes: length * 2 - 1 })).toMatchObject({
			next: 2,
			chunks: chunksOf(1),
			more: true,
		});
		expect(await stream.read(1, { maxBytes: length * 2 })).toMatchObject({
			next: 3,
			chunks: chunksOf(1, 2),
			more: false,
		});
		expect(await stream.reserve("r", { maxBytes: 1 })).toMatchObject({
			state: "COMPLETED",
			next: 1,
			more: true,
		});
	});

	it("D7: reserve › each chunk is delivered once, in order, to one reader after another", async () => {
		const { stream } = await streaming();
		await stream.append(chunksOf(0, 1));
		expect(await stream.reserve("a")).toEqual({
			state: "IN_PROGRESS",
			from: 0,
			next: 2,
			chunks: chunksOf(0, 1),
			more: false,
		});
		await stream.append(chunksOf(2));
		expect(await stream.reserve("b")).toMatchObject({ busy: true, chunks: [], more: true });
		await stream.deliver("b");
		expect(await stream.reserve("b")).toMatchObject({ busy: true, chunks: [], more: true });
		await stream.deliver("a");
		expect(await stream.reserve("b")).toMatchObject({ from: 2, next: 3, chunks: chunksOf(2) });
		await stream.deliver("b");
		expect(await stream.reserve("a")).toMatchObject({ chunks: [] });
		expect(await stream.reserve("b")).toMatchObject({ from: 3, next: 3, chunks: [] });
		expect((await stream.read(0))?.chunks).toHaveLength(3);
	});

	it("D7: reserve › what was not written is free again", async () => {
		const { stream } = await streaming();
		await stream.append(chunksOf(0));
		await stream.reserve("a");
		await stream.deliver("a", false);
		expect(await stream.reserve("b")).toMatchObject({ chunks: chunksOf(0) });
	});

	it("D7: a loss drops what was not delivered; numbers are never used again", async () => {
		const { site, id, stream } = await streaming();
		await stream.append(chunksOf(0, 1));
		await stream.reserve("a");
		await stream.deliver("a");
		await stream.append(chunksOf(2, 3));
		await site.move(id, "lose", { attempt: 1, over: true });
		expect(await stream.read(0)).toMatchObject({
			state: "IN_QUEUE",
			chunks: chunksOf(0, 1),
			more: false,
		});
		await site.take();
		await stream.append(chunksOf(70));
		expect(await stream.read(0)).toEqual({
			state: "IN_PROGRESS",
			from: 0,
			next: 2,
			chunks: chunksOf(0, 1),
			more: true,
		});
		expect(await stream.read(2)).toMatchObject({ from: 4, next: 5, chunks: chunksOf(70) });
		expect(await stream.reserve("a")).toMatchObject({ from: 4, next: 5, chunks: chunksOf(70) });
	});

	it("D7: a loss in the middle of a delivery leaves that range, and it is not delivered again", async () => {
		for (const delivered of [true, false]) {
			const { site, id, stream } = await streaming();
			await stream.append(chunksOf(0));
			await stream.reserve("a");
			await stream.append(chunksOf(1));
			await site.move(id, "lose", { attempt: 1, over: true });
			expect(await stream.reserve("b")).toMatchObject({ busy: true, chunks: [], more: true });
			expect(await stream.read(0)).toMatchObject({ chunks: chunksOf(0), more: false });
			await stream.deliver("a", delivered);
			expect(await stream.reserve("b")).toMatchObject({ chunks: [] });
			await site.take();
			await stream.append(chunksOf(50));
			expect(await stream.reserve("b")).toMatchObject({ from: 2, chunks: chunksOf(50) });
		}
	});

	it("D15: readers see a lease that ended as lost, without a sweep", async () => {
		const { stream } = await streaming();
		await stream.append(chunksOf(0));
		await stream.reserve("a");
		await stream.deliver("a");
		await stream.append(chunksOf(1));
		expect(await stream.read(0, { now: T0 + LEASE })).toMatchObject({
			state: "IN_QUEUE",
			chunks: chunksOf(0),
			more: false,
		});
		expect(await stream.reserve("a", { now: T0 + LEASE })).toMatchObject({
			state: "IN_QUEUE",
			chunks: [],
		});
	});

	it("D37: a retry clears chunks and cursor, not the numbers", async () => {
		const { site, id, stream } = await streaming();
		await stream.append(chunksOf(0, 1));
		await stream.reserve("a");
		await site.report(id, { on: "fail" });
		await site.move(id, "retry");
		await stream.deliver("a");
		expect(await stream.read(0)).toMatchObject({ state: "IN_QUEUE", chunks: [] });
		await site.take();
		await stream.append(chunksOf(60));
		expect(await stream.reserve("b")).toMatchObject({ from: 2, next: 3, chunks: chunksOf(60) });
	});

	it("D9: chunks expire with the result", async () => {
		const { site, id, stream } = await streaming();
		await stream.append(chunksOf(0));
		await site.report(id);
		expect(await stream.read(0, { now: T0 + RETAIN - 1 })).toMatchObject({ chunks: chunksOf(0) });
		expect(await stream.read(0, { now: T0 + RETAIN })).toBeUndefined();
		expect(await stream.reserve("a", { now: T0 + RETAIN })).toBeUndefined();
	});
}
