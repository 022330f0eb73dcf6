/** Section 4: `/requests`, the jobs of an endpoint page by page (D12). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { endWith, expectError, handWorker, submitted } from "../hand-worker.ts";

const clock = manualClock();
let service: TestService;
const ids: string[] = [];

beforeAll(async () => {
	const limits = { requests: { per10s: "off" } };
	service = await startService({
		endpoints: { ep: { limits }, empty: { limits }, other: { limits } },
		clock,
	});
	const worker = await handWorker(service, "ep");
	for (let count = 0; count < 25; count += 1) ids.unshift(await submitted(service, "ep"));
	await submitted(service, "other");
	const oldestFirst = ids.toReversed();
	for (const id of oldestFirst.slice(0, 3)) {
		await worker.takeThis(id);
		await worker.done(id, { output: { secret: "not in lists" } });
	}
	await worker.takeThis(oldestFirst[3]!);
	await worker.done(oldestFirst[3]!, { error: "broke" });
	await worker.takeThis(oldestFirst[4]!);
});
afterAll(() => endWith(service, clock));

const list = (q: string, endpoint = "ep"): ReturnType<typeof call> => call(service.url, `/v2/${endpoint}/requests${q}`);
const idsOf = (answer: Awaited<ReturnType<typeof call>>): string[] =>
	answer.json.requests.map(({ id }: { id: string }) => id);

describe("/requests", () => {
	it("D12: job objects without output, the newest first, 20 to a page, and the way to the next", async () => {
		const first = await list("");
		expect(first.status).toBe(200);
		expect(Object.keys(first.json)).toEqual(["requests", "next"]);
		expect(idsOf(first)).toEqual(ids.slice(0, 20));
		const second = await list(`?cursor=${encodeURIComponent(first.json.next)}`);
		expect(idsOf(second)).toEqual(ids.slice(20));
		expect(second.json.next).toBeNull();
		expect(first.text + second.text).not.toContain("not in lists");
		expect(second.json.requests).toContainEqual({
			id: ids.at(-4),
			status: "FAILED",
			delayTime: 0,
			executionTime: 0,
			error: "broke",
			workerId: expect.any(String),
		});
		expect(second.json.requests.at(-1)).toEqual({
			id: ids.at(-1),
			status: "COMPLETED",
			delayTime: 0,
			executionTime: 0,
			workerId: expect.any(String),
		});
	});

	it.each([1, 7, 24, 25, 100])("D12: with pages of %d every job comes once", async (limit) => {
		const seen: string[] = [];
		for (let next: string | null = ""; next !== null; ) {
			const page = await list(`?limit=${limit}${next === "" ? "" : `&cursor=${encodeURIComponent(next)}`}`);
			expect(idsOf(page).length).toBeLessThanOrEqual(limit);
			seen.push(...idsOf(page));
			next = page.json.next;
		}
		expect(seen).toEqual(ids);
	});

	it.each([
		["IN_QUEUE", 20],
		["IN_PROGRESS", 1],
		["COMPLETED", 3],
		["FAILED", 1],
		["CANCELLED", 0],
		["TIMED_OUT", 0],
	])("D12: status=%s gives those %d", async (state, count) => {
		const answer = await list(`?status=${state}&limit=100`);
		expect(answer.json.requests).toHaveLength(count);
		for (const job of answer.json.requests) expect(job.status).toBe(state);
		expect(answer.json.next).toBeNull();
	});

	it("D12: a job that comes while pages are turned moves none of the others", async () => {
		const first = await list("?limit=10", "other");
		await submitted(service, "other");
		expect(idsOf(first)).toHaveLength(1);
		expect(idsOf(await list("?limit=1", "other"))).not.toEqual(idsOf(first));
	});

	it("D12: nothing there is an empty list", async () => {
		expect((await list("", "empty")).text).toBe('{"requests":[],"next":null}');
	});

	it.each([
		["limit", "0"],
		["limit", "101"],
		["limit", "many"],
		["limit", "1.5"],
		["status", "RUNNING"],
		["status", ""],
		["status", "completed"],
		["cursor", ""],
		["cursor", "nonsense"],
		["cursor", "-1"],
		["cursor", "x".repeat(500)],
	])("D12: %s=%j is 400 with the bound", async (name, value) => {
		expectError(await list(`?${name}=${encodeURIComponent(value)}`), 400, "bad_query", [name]);
	});

	it("D9: expired jobs are not listed", async () => {
		const id = await submitted(service, "empty");
		await call(service.url, `/v2/empty/cancel/${id}`, { method: "POST" });
		expect(idsOf(await list("", "empty"))).toEqual([id]);
		await clock.advance(1_800_000);
		expect(idsOf(await list("", "empty"))).toEqual([]);
	});
});
