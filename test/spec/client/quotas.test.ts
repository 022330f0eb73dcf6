/** Quotas in bytes: of an endpoint, of a stream, of the store (D43). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { untilTrue } from "../../support/until.ts";
import { expectError, handWorker, statusOf, submitted } from "../hand-worker.ts";

const MB = 2 ** 20;
let service: TestService;
beforeAll(async () => {
	const limits = { storedMb: 1 };
	service = await startService({
		endpoints: {
			full: { limits },
			synchronous: { limits },
			openai: { limits },
			other: { limits },
			off: { limits: "off" },
			stream: { limits: { streamMb: 1 } },
			long: { limits: { streamMb: "off" } },
		},
		settings: { budgets: { stored: 64 * MB } },
	});
});
afterAll(() => service.end());

const large = { input: { text: "x".repeat(600_000) } };

it("D43: a submission beyond limits.storedMb is 429 with stored, size and limit; others are not", async () => {
	const id = await submitted(service, "full", large);
	const answer = await call(service.url, "/v2/full/run", { body: large });
	const { error } = expectError(answer, 429, "quota_full");
	expect(error).toContain("has 0.6 MB of inputs, results and chunks in the store; this input has 0.6 MB");
	expect(error).toContain("and limits.storedMb is 1.0 MB");
	expect(answer.headers.get("retry-after")).toBe("5");
	await submitted(service, "full", { input: {} });
	await submitted(service, "other", large);
	for (let count = 0; count < 3; count += 1) await submitted(service, "off", large);
	await call(service.url, `/v2/full/cancel/${id}`, { method: "POST" });
	await call(service.url, `/v2/full/status/${id}?ttl=0`);
	await submitted(service, "full", large);
});

it("D43: a purge makes room, on /runsync and /openai, too", async () => {
	await submitted(service, "synchronous", large);
	const again = () => call(service.url, "/v2/synchronous/runsync?wait=1000", { body: large });
	expectError(await again(), 429, "quota_full");
	await call(service.url, "/v2/synchronous/purge-queue", { method: "POST" });
	await untilTrue(async () => (await again()).status === 200);
	await submitted(service, "openai", large);
	const chat = await call(service.url, "/v2/openai/openai/v1/chat/completions", {
		body: large.input,
	});
	expect(chat.status, chat.text).toBe(429);
	expect(chat.json.error.code).toBe("quota_full");
});

it("D43: a stream beyond limits.streamMb fails its job with the bound, and its run is stopped", async () => {
	const worker = await handWorker(service, "stream");
	const id = await submitted(service, "stream");
	await worker.takeThis(id);
	await worker.chunk(id, { output: "x".repeat(900_000) });
	const stop = call(service.url, `/worker/stream/job-stop/${worker.id}?gpu=none`, {
		headers: { authorization: worker.token },
	});
	await worker.chunk(id, { output: "y".repeat(900_000) });
	expect((await stop).text).toContain(id);
	const job = await statusOf(service, "stream", id);
	expect(job).toMatchObject({ status: "FAILED" });
	expect(job.error).toContain("more than 1.0 MB or 1000000 chunks");
	expect(job.error).toContain("raise limits.streamMb");
	const { json } = await call(service.url, `/v2/stream/stream/${id}?offset=0`);
	expect(json.map(({ output }: { output: string }) => output[0])).toEqual(["x"]);
});

it("D43: streamMb off sets no bound", async () => {
	const worker = await handWorker(service, "long");
	const id = await submitted(service, "long");
	await worker.takeThis(id);
	for (let count = 0; count < 3; count += 1) await worker.chunk(id, { output: "x".repeat(900_000) });
	await worker.done(id, { output: [] });
	expect(await statusOf(service, "long", id)).toMatchObject({ status: "COMPLETED" });
});

it("D43: beyond the budget of all endpoints submissions are 503, and the rest goes on", async () => {
	const worker = await handWorker(service, "off");
	const taken = await worker.take();
	const { stored } = service.engine.budgets;
	const held = stored.limit - stored.used;
	stored.hold(held);
	const answer = await call(service.url, "/v2/other/run", { body: { input: {} } });
	const { error } = expectError(answer, 503, "store_full");
	expect(error).toContain("the budget 'stored' is 64 MB");
	await worker.done(taken!.id, { output: "done" });
	expect(await statusOf(service, "off", taken!.id)).toMatchObject({ output: "done" });
	stored.give(held);
	await submitted(service, "other");
});

it("D43: /metrics has the bytes of each endpoint", async () => {
	const headers = { authorization: `Bearer ${KEY}` };
	const text = await (await fetch(`${service.url}/metrics`, { headers })).text();
	const bytes = /sluice_stored_bytes\{endpoint="off"\} (\d+)/.exec(text)?.[1];
	expect(Number(bytes)).toBeGreaterThan(1_800_000);
	expect(text).toContain('sluice_budget_limit{budget="stored"} 67108864');
});
