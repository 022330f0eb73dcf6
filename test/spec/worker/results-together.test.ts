/**
 * Results of several jobs in one post (docs/decisions/0020): each is kept, refused or held as it
 * would be alone.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SdkProtocol } from "../../support/sdk-protocol.ts";
import { call } from "../../support/service.ts";
import { bench, type Bench, EP } from "../../support/sdk-worker-bench.ts";

let b: Bench;
let worker: SdkProtocol;
beforeAll(async () => {
	b = await bench();
	worker = await b.worker();
});
afterAll(() => b?.end());

/** Jobs in the worker's hands. */
async function running(count: number): Promise<string[]> {
	const ids: string[] = [];
	for (let n = 0; n < count; n += 1) {
		const id = await b.submit({ input: { n } });
		await b.takes(worker, id);
		ids.push(id);
	}
	return ids;
}

async function post(
	text: string,
	token: string = worker.env["RUNPOD_AI_API_KEY"]!,
): Promise<{ status: number; json: any }> {
	return await call(b.url, `/worker/${EP}/job-done-batch/${worker.id}?gpu=none`, {
		text,
		headers: { authorization: token },
	});
}

const line = (id: string, body: object): string => JSON.stringify({ id, ...body });

describe("D16, D19: results of several jobs in one post", () => {
	it("a line for each, answered in their order; each job has its own end", async () => {
		const [done, failed, goes] = (await running(3)) as [string, string, string];
		const answer = await post(
			[
				line(done, { output: { a: 1 } }),
				line(failed, { error: "broke" }),
				line(goes, { output: 5, status: "IN_PROGRESS" }),
			].join("\n"),
		);
		expect(answer).toMatchObject({ status: 200, json: [200, 200, 200] });
		expect(await b.status(done)).toMatchObject({
			status: "COMPLETED",
			output: { a: 1 },
			workerId: worker.id,
		});
		expect(await b.status(failed)).toMatchObject({ status: "FAILED", error: "broke" });
		expect(await b.status(goes)).toMatchObject({ status: "IN_PROGRESS", output: 5 });
		expect(await post(line(goes, { output: 6 }))).toMatchObject({ status: 200, json: [200] });
		expect(await b.status(goes)).toMatchObject({ status: "COMPLETED", output: 6 });
	});

	it("D5: an output stays as it was posted", async () => {
		const ids = await running(2);
		const output = '{"seed":18446744073709551615, "x":1.0,"a":"\\ud83d\\ude00","a":"ä😀"}';
		const large = `"${"ä".repeat(40_000)}"`;
		await post(`{"id":"${ids[0]}","output":${output}}\r\n\n{"output":${large},"id":"${ids[1]}"}\n`);
		expect((await call(b.url, `/v2/${EP}/status/${ids[0]}`)).text).toContain(`"output":${output}`);
		expect((await call(b.url, `/v2/${EP}/status/${ids[1]}`)).text).toContain(`"output":${large}`);
	});

	it("D16: a result of a job that it does not hold is 200 and ignored; a bad line is 400; others count", async () => {
		const [id] = (await running(1)) as [string];
		const ended = (await running(1))[0]!;
		await worker.done(ended, { output: 1 });
		const answer = await post(
			[
				line("unknown", { output: 1 }),
				line(ended, { output: 2 }),
				'{"output":1}',
				"no JSON",
				'{"id":7,"output":1}',
				"[]",
				line(id, { output: 3 }),
			].join("\n"),
		);
		expect(answer).toMatchObject({ status: 200, json: [200, 200, 400, 400, 400, 400, 200] });
		expect(await b.status(ended)).toMatchObject({ status: "COMPLETED", output: 1 });
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED", output: 3 });
	});

	it("D2, D3, D26: too many lines, too large a body, a wrong token", async () => {
		const lines = (count: number): string => Array.from({ length: count }, () => line("unknown", {})).join("\n");
		expect(await post(lines(128))).toMatchObject({ status: 200 });
		expect(await post(lines(129))).toMatchObject({
			status: 400,
			json: { error: expect.stringContaining("at most 128 lines") },
		});
		expect(await post("x".repeat(1024 * 1024 + 1))).toMatchObject({ status: 413 });
		expect(await post(lines(1), "wrong")).toMatchObject({ status: 401 });
		expect(await post("")).toMatchObject({ status: 200, json: [] });
	});

	it("D3: lines without end, with nothing in them, or with brackets only", async () => {
		expect(await post("\n".repeat(1024 * 1024))).toMatchObject({ status: 200, json: [] });
		expect(await post("1\n".repeat(512 * 1024))).toMatchObject({ status: 400 });
		expect(await post("[".repeat(1024 * 1024))).toMatchObject({ status: 200, json: [400] });
		expect(await post(`${line("unknown", {})}\n\n`)).toMatchObject({ status: 200, json: [200] });
	});

	it("D16: ids that no job can have are of no job, in the same post as others and alone", async () => {
		const [id] = (await running(1)) as [string];
		const odd = ["\0", "\ud800", "a/b", "", "x".repeat(100_000), "__proto__"];
		expect(await post([...odd, id].map((each) => line(each, { output: 1 })).join("\n"))).toMatchObject({
			status: 200,
			json: [...odd, id].map(() => 200),
		});
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED" });
		for (const status of ["IN_PROGRESS", "anything"])
			expect((await worker.done("%00", { output: 1, status })).status).toBe(200);
		expect((await worker.chunk("%00", { output: 1 })).status).toBe(200);
		expect(b.of("request.failed")).toEqual([]);
	});

	it("D16: of two results of a job in one post the first counts; progress beside it comes first", async () => {
		const [twice, goes] = (await running(2)) as [string, string];
		const lines = [
			line(twice, { output: 1 }),
			line(twice, { output: 2 }),
			line(goes, { status: "IN_PROGRESS", output: 1 }),
			line(goes, { output: 2 }),
			line(goes, { status: "IN_PROGRESS", output: 3 }),
		];
		expect(await post(lines.join("\n"))).toMatchObject({
			status: 200,
			json: [200, 200, 200, 200, 200],
		});
		expect(await b.status(twice)).toMatchObject({ status: "COMPLETED", output: 1 });
		expect(await b.status(goes)).toMatchObject({ status: "COMPLETED", output: 2 });
	});

	it("a take of several jobs says how many results may come together, one of a single job does not", async () => {
		const other = await b.worker();
		for (const [operation, header] of [
			["job-take-batch", "128"],
			["job-take", null],
		] as const) {
			await b.submit({ input: {} });
			const answer = await fetch(
				`${b.url}/worker/${EP}/${operation}/${other.id}?gpu=none&batch_size=4&job_in_progress=1`,
				{ headers: { authorization: other.env["RUNPOD_AI_API_KEY"]! } },
			);
			expect([answer.status, answer.headers.get("sluice-job-done-batch")]).toEqual([200, header]);
		}
	});
});
