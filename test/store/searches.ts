/** Cases: what a list of jobs finds, shows of inputs and counts (D39). */
import { expect, it } from "vitest";
import { MOST_READ, MOST_SEARCHED, PREVIEW_CHARACTERS } from "../../src/kernel/core/jobs/job-search.ts";
import { type JsonBlocks, LARGE_BYTES, stringOf } from "../../src/kernel/lib/json/json-text.ts";
import type { Bed } from "./index.ts";
import { oneOfEach } from "./lists.ts";
import { alone, type Listed, RETAIN, siteOf, T0, TTL } from "./site.ts";

/** A large text. */
const blocks = (text: string): JsonBlocks => [Uint8Array.from(Buffer.from(text))];

export function searchCases({ store, open }: Bed): void {
	it("D39: list › a search finds a part of the id, the worker, the error or the input", async () => {
		const site = siteOf(store());
		const user = await site.running({ worker: "GPU-box", input: '{"metadata": {"user": "Ada"}}' });
		const failed = await site.running({ worker: "w2" });
		await site.report(failed.id, { worker: "w2", on: "fail", error: "Out of MEMORY: 7" });
		const large = await site.add({ input: blocks(`{"note":"Zürich"${" ".repeat(LARGE_BYTES)}}`) });
		await site.add({ input: blocks(`{"a":"${"x".repeat(LARGE_BYTES)}"}`) });
		const found = (search: string, filter: Listed = {}): Promise<string[]> => site.listIds({ ...filter, search });
		expect(await found(user.id.slice(-12))).toEqual([user.id]);
		expect(await found("gpu-BOX")).toEqual([user.id]);
		expect(await found('"user":"ada"')).toEqual([user.id]);
		expect(await found('"USER": "ada"')).toEqual([user.id]);
		expect(await found("out of memory")).toEqual([failed.id]);
		expect(await found("Zürich")).toEqual([large.id]);
		expect(await found("ZÜRICH")).toEqual([]);
		expect(await found("out of memory", { states: ["FAILED"] })).toEqual([failed.id]);
		expect(await found("out of memory", { states: ["COMPLETED"] })).toEqual([]);
		expect(await found("gpu", { states: ["IN_PROGRESS"] })).toEqual([user.id]);
		expect(await found("gpu", { states: ["IN_QUEUE"] })).toEqual([]);
		expect(await found("%")).toEqual([]);
	});

	it("D39: list › a page of a search reads a part of the jobs and says how far it got", () =>
		alone(open, async (site) => {
			const { id } = await site.add({ input: '{"rare":1}' });
			await Promise.all(Array.from({ length: MOST_SEARCHED }, (_, n) => site.insert({ now: T0 + 1000 + n })));
			const now = T0 + 9000;
			const first = await site.list({ search: "rare", now });
			expect(first).toMatchObject({ jobs: [], searchedTo: T0 + 1000, next: expect.any(String) });
			const { cursor } = { cursor: first.next };
			expect(await site.list({ search: "rare", cursor, now })).toMatchObject({
				jobs: [{ job: { id } }],
			});
			const large = JSON.stringify({ a: "x".repeat(LARGE_BYTES - 100) });
			await Promise.all(Array.from({ length: 400 }, () => site.insert({ input: large, now })));
			const page = await site.list({ search: "rare", now });
			expect(page.searchedTo).toBe(now);
		}));

	it("D39: list › heads are the beginnings of inputs, also of large ones; erased jobs have none", async () => {
		const site = siteOf(store());
		const text = `{"prompt":"${"y".repeat(2 * LARGE_BYTES)}"}`;
		await site.add({ input: '{"n":1.0}' });
		await site.add({ input: blocks(text) });
		const heads = async (given: Listed): Promise<(string | undefined)[]> =>
			(await site.list(given)).jobs.map(
				({ inputHead }) => inputHead && stringOf(inputHead).slice(0, PREVIEW_CHARACTERS),
			);
		expect(await heads({ heads: true })).toEqual([text.slice(0, PREVIEW_CHARACTERS), '{"n":1.0}']);
		expect(await heads({})).toEqual([undefined, undefined]);
		expect(await heads({ heads: true, erased: true, now: T0 + TTL + RETAIN })).toEqual([undefined, undefined]);
	});

	it("D39: list › counts what matches, of the newest jobs", () =>
		alone(open, async (site) => {
			const counted = async (given: Listed) => (await site.list({ ...given, count: true, limit: 1 })).matching;
			expect(await counted({})).toEqual({ count: 0, more: false });
			await oneOfEach(site);
			expect(await counted({})).toEqual({ count: 6, more: false });
			expect(await counted({ states: ["COMPLETED", "FAILED", "FAILED"] })).toEqual({
				count: 2,
				more: false,
			});
			expect(await counted({ states: ["IN_QUEUE", "IN_PROGRESS"] })).toEqual({
				count: 2,
				more: false,
			});
			expect(await counted({ states: ["IN_PROGRESS", "FAILED"], worker: "w1" })).toEqual({
				count: 2,
				more: false,
			});
			expect(await counted({ from: T0 + 1 })).toEqual({ count: 0, more: false });
			await site.purge();
			expect(await counted({})).toEqual({ count: 5, more: false });
			await Promise.all(Array.from({ length: MOST_READ }, () => site.insert()));
			expect(await counted({})).toEqual({ count: MOST_READ, more: true });
			expect(await counted({ states: ["COMPLETED"] })).toEqual({ count: 1, more: false });
		}));
}
