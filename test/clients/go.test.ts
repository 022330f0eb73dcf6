/**
 * RunPod's Go SDK, scripted, against the service at both bases: at `/v2` it is known by POST
 * (protocol A.5, A.10; D1, D6, D7, D8).
 */
import { describe, expect, it } from "vitest";
import { KEY } from "../support/service.ts";
import { stopsOf } from "../support/sdk-worker-bench.ts";
import { all, arrived } from "./arrivals.ts";
import { b, open, useEndpoint, worker } from "./endpoint.ts";
import { goClient, type GoEndpoint } from "./go-client.ts";
import { workload } from "./workload.ts";

useEndpoint();

const INPUT = { input: { p: 1 } };

describe.each(["/v2", "/sdk/v2"])("at %s", (prefix) => {
	function client(q: { key?: string; endpoint?: string } = {}): GoEndpoint {
		const made = goClient({ base: b.url + prefix, endpoint: b.ep, key: KEY, clock: b.clock, ...q });
		open.push(made);
		return made;
	}

	const lines = ({ sent }: GoEndpoint): string[] =>
		sent.map(({ method, url }) => `${method} ${url.slice(url.indexOf(`/${b.ep}/`) + b.ep.length + 2)}`);

	/** Submits and hands out a job. */
	async function running(go = client()): Promise<string> {
		const { id } = await go.run(INPUT);
		await b.takes(worker, id);
		return id;
	}

	it("A.5, A.10: the script sends what the traces show", async () => {
		const go = client();
		const { id } = await go.run({ input: { p: "<1>" } });
		await go.status(id);
		await go.cancel(id);
		await go.health();
		expect(lines(go)).toEqual(["POST run", `POST status/${id}`, `POST cancel/${id}`, "GET health"]);
		const [run, status] = go.sent;
		expect(run).toMatchObject({ body: '{"input":{"p":"\\u003c1\\u003e"}}', timeoutMs: 3000 });
		expect(status!.headers).toEqual({
			"User-Agent": "Go-http-client/1.1",
			"Content-Length": "0",
			Authorization: `Bearer ${KEY}`,
			"Content-Type": "application/json",
			"Accept-Encoding": "gzip",
		});
	});

	it("spec 2.3: policy, s3Config, webhook and the undocumented webhookV2 and objectPath are taken", async () => {
		const { id, status } = await client().run({
			...INPUT,
			policy: { ttl: 20_000, executionTimeout: 6000 },
			s3Config: { accessId: "a", objectPath: "b/c" },
			webhook: "https://example.com/hook",
			webhookV2: "https://example.com/2",
		});
		expect(status).toBe("IN_QUEUE");
		expect(JSON.parse((await worker.take()).text)).toMatchObject({
			id,
			...INPUT,
			s3Config: { accessId: "a", objectPath: "b/c" },
		});
	});

	describe("every state decodes", () => {
		it("D6: waiting, running with progress, completed", async () => {
			const go = client();
			const { id } = await go.run(INPUT);
			await b.clock.advance(1234);
			expect(await go.status(id)).toEqual({
				id,
				status: "IN_QUEUE",
				delayTime: 1234,
				executionTime: 0,
			});
			await b.takes(worker, id);
			await worker.done(id, { status: "IN_PROGRESS", output: { step: 0.5 } });
			expect(await go.status(id)).toEqual({
				id,
				status: "IN_PROGRESS",
				delayTime: 1234,
				executionTime: 0,
				output: { step: 0.5 },
			});
			await b.clock.advance(777);
			await worker.done(id, { output: [1.5] });
			expect(await go.status(id)).toEqual({
				id,
				status: "COMPLETED",
				delayTime: 1234,
				executionTime: 777,
				output: [1.5],
			});
		});

		it.each<[string, unknown]>([
			["a string", "no such model"],
			["an object", { message: "x", code: null }],
			["a number", 5],
			["an array", [1]],
			["true", true],
		])("D6: failed with %s as error: a string", async (_, error) => {
			const go = client();
			const id = await running(go);
			await worker.done(id, { error });
			const job = await go.status(id);
			expect(job).toMatchObject({ status: "FAILED", error: expect.any(String) });
			if (typeof error === "string") expect(job["error"]).toBe(error);
		});

		it("D15: timed out in the queue, and running", async () => {
			const go = client();
			const { id } = await go.run({ ...INPUT, policy: { ttl: 10_000 } });
			await b.clock.advance(10_000);
			expect(await go.status(id)).toMatchObject({
				status: "TIMED_OUT",
				error: expect.any(String),
				delayTime: 10_000,
			});
			const { id: long } = await go.run({ ...INPUT, policy: { executionTimeout: 6000 } });
			await b.takes(worker, long);
			await b.clock.advance(6000);
			expect(await go.status(long)).toMatchObject({
				status: "TIMED_OUT",
				error: expect.any(String),
				executionTime: 6000,
			});
		});

		it("D16: lost and queued again, with retries", async () => {
			const go = client();
			const id = await running(go);
			await b.pass(21_000);
			expect(await go.status(id)).toMatchObject({ status: "IN_QUEUE", retries: 1 });
		});
	});

	describe("RunSync and StatusSync", () => {
		it("spec 4: a job that ends in time is one call", async () => {
			const go = client();
			const queued = b.next("job.queued");
			const answer = go.runSync(INPUT);
			const { id } = await queued;
			await b.takes(worker, id);
			await worker.done(id, { output: { a: 1 } });
			expect(await answer).toEqual({
				id,
				status: "COMPLETED",
				delayTime: 0,
				executionTime: 0,
				output: { a: 1 },
			});
			expect(lines(go)).toEqual(["POST runsync?wait=90000"]);
		});

		it("D8: a job that takes longer than the wait is polled by POST status-sync, each within wait + 2 s", async () => {
			const go = client();
			const [asked, queued] = [arrived(b, /POST .*runsync/), b.next("job.queued")];
			const answer = go.runSync(INPUT, 90);
			const [{ id }] = await Promise.all([queued, asked]);
			const again = arrived(b, /POST .*status-sync/);
			await b.clock.advance(90_000);
			await again;
			await b.takes(worker, id);
			await worker.done(id, { output: 1 });
			expect(await answer).toMatchObject({ id, status: "COMPLETED", output: 1 });
			expect(lines(go)).toEqual(["POST runsync?wait=90000", `POST status-sync/${id}?wait=90000`]);
		});

		it("A.5: its whole time is its timeout + 3 s, then it gives up; the job goes on", async () => {
			const go = client();
			const { id } = await go.run(INPUT);
			let held = arrived(b, /POST .*status-sync/);
			const answer = go.statusSync(id, 5);
			answer.catch(() => {});
			await held;
			held = arrived(b, /POST .*status-sync/);
			await b.clock.advance(5000);
			await held;
			await b.clock.advance(3000);
			await expect(answer).rejects.toThrow("ctx timeout reached");
			expect(lines(go).slice(1)).toEqual([`POST status-sync/${id}?wait=5000`, `POST status-sync/${id}?wait=5000`]);
			expect(await go.status(id)).toMatchObject({ status: "IN_QUEUE" });
		});

		it("A.5, D6: only a job that has ended has an error, which would end the wait", async () => {
			const go = client();
			const id = await running(go);
			await worker.done(id, { status: "IN_PROGRESS", output: 1 });
			const [held, again] = [arrived(b, /POST .*status-sync/), arrived(b, /POST .*status-sync/, 2)];
			const answer = go.statusSync(id, 5);
			await held;
			await b.clock.advance(5000);
			await again;
			await worker.done(id, { error: "broke" });
			expect(await answer).toMatchObject({ status: "FAILED", error: "broke" });
		});

		it("D10: a cancelled job ends the wait without an error", async () => {
			const go = client();
			const id = await running(go);
			const held = arrived(b, /POST .*status-sync/);
			const answer = go.statusSync(id);
			await held;
			await client().cancel(id);
			expect(await answer).toEqual({ id, status: "CANCELLED", delayTime: 0, executionTime: 0 });
		});

		it("D11: a job that is purged while RunSync waits is CANCELLED with an error", async () => {
			const queued = b.next("job.queued");
			const answer = client().runSync(INPUT);
			answer.catch(() => {});
			const { id } = await queued;
			expect(await client().purgeQueue()).toEqual({ removed: 1, status: "completed" });
			expect(await answer).toMatchObject({ id, status: "CANCELLED", error: expect.any(String) });
		});
	});

	describe("Stream", () => {
		const outputs = (items: Record<string, unknown>[]): unknown[] => items.map(({ output }) => output);

		it("D7: a job that ended before: all chunks with the final state, one call", async () => {
			const go = client();
			const id = await running(go);
			for (const output of [{ text: "a" }, "b", null]) await worker.chunk(id, { output });
			await worker.done(id, { output: [] });
			expect(await all(go.stream(id))).toEqual([{ text: "a" }, "b", null].map((output) => ({ output, metrics: {} })));
			expect(lines(go)).toEqual(["POST run", `POST stream/${id}?wait=90000`]);
		});

		it("D7: a job that ends during it: each chunk once, in order, the last with the final state", async () => {
			const go = client();
			const id = await running(go);
			const stream = go.stream(id);
			const got: unknown[] = [];
			for (const output of [1, 2, 3]) {
				const held = arrived(b, /POST .*stream/);
				const next = stream.next();
				await held;
				await worker.chunk(id, { output });
				got.push((await next).value);
			}
			await worker.chunk(id, { output: 4 });
			await worker.done(id, { output: [] });
			got.push(...(await all(stream)));
			expect(outputs(got as Record<string, unknown>[])).toEqual([1, 2, 3, 4]);
		});

		it("D7: a job that ends after all was read ends the held call", async () => {
			const go = client();
			const id = await running(go);
			await worker.chunk(id, { output: 1 });
			const held = arrived(b, /POST .*stream/, 2);
			const read = all(go.stream(id));
			await held;
			await client().cancel(id);
			expect(outputs((await read) as Record<string, unknown>[])).toEqual([1]);
		});

		it("D7, A.5: an empty wait is answered within the SDK's patience of wait + 2 s", async () => {
			const go = client();
			const id = await running(go);
			const held = arrived(b, /POST .*stream/);
			const read = all(go.stream(id, 4));
			read.catch(() => {});
			await held;
			const again = arrived(b, /POST .*stream/);
			await b.clock.advance(5999);
			await again;
			await worker.done(id, { output: [] });
			expect(await read).toEqual([]);
			expect(lines(go).slice(1)).toEqual([`POST stream/${id}?wait=4000`, `POST stream/${id}?wait=4000`]);
		});
	});

	describe("Cancel, Health, PurgeQueue", () => {
		it("D10, D18: cancel of a waiting and of a running job", async () => {
			const go = client();
			const { id: waiting } = await go.run(INPUT);
			expect(await go.cancel(waiting)).toEqual({ id: waiting, status: "CANCELLED" });
			const id = await running(go);
			expect(await go.cancel(id)).toEqual({ id, status: "CANCELLED" });
			expect(stopsOf(await worker.stop())).toEqual([id]);
		});

		it("D13: health has every member of its type", async () => {
			const go = client();
			await running(go);
			expect(await go.health()).toEqual({
				jobs: { inProgress: 1, inQueue: 0, completed: 0, failed: 0, retried: 0 },
				workers: { running: 1, idle: 0, initializing: 0, ready: 0, throttled: 0 },
			});
		});

		it("spec 2.8: purge-queue has both members of its type", async () => {
			const go = client();
			await go.run(INPUT);
			expect(await go.purgeQueue()).toEqual({ removed: 1, status: "completed" });
		});
	});

	describe("errors", () => {
		it("A.10: a wrong key is `response status 401 Unauthorized` for every call", async () => {
			const go = client({ key: "wrong" });
			const calls = [
				go.run(INPUT),
				go.runSync(INPUT),
				go.status("0"),
				go.statusSync("0"),
				all(go.stream("0")),
				go.cancel("0"),
				go.health(),
				go.purgeQueue(),
			];
			for (const result of await Promise.allSettled(calls))
				expect(result).toMatchObject({ reason: { message: "response status 401 Unauthorized" } });
		});

		it("A.10: an unknown endpoint and an unknown job are 404", async () => {
			const [elsewhere, go] = [client({ endpoint: "none" }), client()];
			const calls = [
				elsewhere.run(INPUT),
				elsewhere.runSync(INPUT),
				elsewhere.health(),
				elsewhere.purgeQueue(),
				go.status("none"),
				go.statusSync("none"),
				all(go.stream("none")),
				go.cancel("none"),
			];
			for (const result of await Promise.allSettled(calls))
				expect(result).toMatchObject({ reason: { message: "response status 404 Not Found" } });
		});

		it("A.5, D4: an empty input is left out by the SDK, so it is 400", async () => {
			await expect(client().run({ input: {} })).rejects.toThrow("response status 400 Bad Request");
		});

		it("D23: a full queue is 429", async () => {
			await b.fresh({ limits: { queue: 0 } });
			await client().run(INPUT);
			for (const result of await Promise.allSettled([client().run(INPUT), client().runSync(INPUT)]))
				expect(result).toMatchObject({
					reason: { message: "response status 429 Too Many Requests" },
				});
		});

		it("D9: a result that has expired is 404", async () => {
			const go = client();
			const id = await running(go);
			await worker.done(id, { output: 1 });
			await b.clock.advance(30 * 60_000);
			await expect(go.statusSync(id)).rejects.toThrow("response status 404 Not Found");
		});
	});

	it("A.5, A.10: with a worker that runs freely: results, failures and streams", async () => {
		await b.sdk({ handler: workload });
		const go = client();
		expect(await go.runSync(INPUT)).toMatchObject({
			status: "COMPLETED",
			output: { echo: INPUT.input },
		});
		expect(await go.runSync({ input: { fail: true } })).toMatchObject({
			status: "FAILED",
			error: expect.stringContaining("no such model"),
		});
		const { id } = await go.run({ input: { words: ["a", "b", "c"] } });
		expect((await all(go.stream(id))).map((item) => item?.["output"])).toEqual(["a", "b", "c"]);
	});
});
