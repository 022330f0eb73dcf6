/** Several chunks in one post (docs/decisions/0042): stored in order, once, or ended by what is no chunk. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";
import { handWorker, type HandWorker, submitted } from "../hand-worker.ts";

let service: TestService;
let worker: HandWorker;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
	worker = await handWorker(service, "ep");
});
afterAll(() => service.end());

async function running(): Promise<string> {
	const id = await submitted(service, "ep");
	await worker.takeThis(id);
	return id;
}

async function post(id: string, lines: string[], first?: number, token = worker.token) {
	const query = first === undefined ? "" : `?chunk=${first}`;
	return await call(service.url, `/worker/ep/job-stream-batch/${worker.id}/${id}${query}`, {
		text: lines.join("\n"),
		headers: { authorization: token },
	});
}

const lines = (...outputs: unknown[]): string[] => outputs.map((output) => JSON.stringify({ output }));

async function stream(id: string): Promise<unknown[]> {
	const { json } = await call(service.url, `/v2/ep/stream/${id}?offset=0&wait=1000`);
	return (json as { output: unknown }[]).map(({ output }) => output);
}

describe("protocol B.5, D7: several chunks in one post", () => {
	it("are chunks of their own, in order", async () => {
		const id = await running();
		expect((await post(id, lines("a", { b: 1 }, null))).status).toBe(200);
		expect((await post(id, ['{"output":1.0,"metrics":{"n":2}}', "", "{}\r"])).status).toBe(200);
		expect(await stream(id)).toEqual(["a", { b: 1 }, null, 1, null]);
		expect((await call(service.url, `/v2/ep/stream/${id}?offset=3`)).text).toBe(
			'[{"output":1.0,"metrics":{"n":2}},{"output":null,"metrics":{}}]',
		);
		await worker.done(id, {});
	});

	it("offered with every job", async () => {
		const id = await submitted(service, "ep");
		const { headers } = await call(service.url, `/worker/ep/job-take/${worker.id}?gpu=none`, {
			headers: { authorization: worker.token },
		});
		expect(headers.get("sluice-job-stream-batch")).toBe("128");
		await worker.done(id, {});
	});

	it("a post that is repeated is stored once, by the number of its first chunk", async () => {
		const id = await running();
		await post(id, lines(0, 1, 2), 0);
		await post(id, lines(0, 1, 2), 0);
		await post(id, lines(2, 2), 3);
		await post(id, lines(2, 2), 3);
		expect(await stream(id)).toEqual([0, 1, 2, 2, 2]);
		for (const number of [4, 5])
			await call(service.url, `/worker/ep/job-stream/${worker.id}/${id}?chunk=${number}`, {
				body: { output: number },
				headers: { authorization: worker.token },
			});
		expect(await stream(id)).toEqual([0, 1, 2, 2, 2, 5]);
		await worker.done(id, {});
	});

	it("a line that is no chunk fails the job, after the chunks before it", async () => {
		for (const bad of ['{"output":', "[1]", '"text"']) {
			const id = await running();
			expect((await post(id, [...lines("kept"), bad, ...lines("not kept")])).status).toBe(200);
			expect(await stream(id)).toEqual(["kept"]);
			const { json } = await call(service.url, `/v2/ep/status/${id}`);
			expect(json).toMatchObject({ status: "FAILED", error: expect.stringContaining("JSON") });
		}
	});

	it("an empty post is none; more lines than 128 or another worker's token are refused", async () => {
		const id = await running();
		expect((await post(id, [])).status).toBe(200);
		expect((await post(id, lines(...Array.from({ length: 129 }, (_, n) => n)))).status).toBe(400);
		const other = await handWorker(service, "ep");
		expect((await post(id, lines(1), 0, other.token)).status).toBe(401);
		expect(await stream(id)).toEqual([]);
		await worker.done(id, {});
	});
});
