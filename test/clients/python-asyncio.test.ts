/**
 * RunPod's asyncio Python SDK, scripted, against the service at both bases: at `/v2` it is known by
 * its `X-Request-ID` (protocol A.3, A.10; D1, D3, D7).
 */
import { describe, expect, it } from "vitest";
import { KEY } from "../support/service.ts";
import { stopsOf } from "../support/sdk-worker-bench.ts";
import { all, arrived, stepping } from "./arrivals.ts";
import { b, open, useEndpoint, worker } from "./endpoint.ts";
import { type AsyncioEndpoint, type AsyncioJob, pythonAsyncio } from "./python-asyncio-client.ts";
import { workload } from "./workload.ts";

useEndpoint();

const nothing = (): void => {};
const NO_STATUS = { name: "KeyError", message: "'status'" };
const NO_ID = { name: "KeyError", message: "'id'" };

describe.each(["/v2", "/sdk/v2"])("at %s", (prefix) => {
	/** A client of the endpoint whose pauses are these steps. */
	function client({
		steps = [],
		...q
	}: {
		steps?: (() => unknown)[];
		key?: string;
		endpoint?: string;
	} = {}): AsyncioEndpoint & { slept: readonly number[] } {
		const { pause, slept } = stepping(...steps);
		const made = pythonAsyncio({
			base: b.url + prefix,
			endpoint: b.ep,
			key: KEY,
			clock: b.clock,
			pause,
			...q,
		});
		open.push(made);
		return { ...made, slept };
	}

	const lines = ({ sent }: AsyncioEndpoint): string[] =>
		sent.map(({ method, url }) => `${method} ${url.slice(url.indexOf(`/${b.ep}/`) + b.ep.length + 2)}`);

	it("A.3, A.10: the script sends what the traces show; X-Request-ID goes with the calls of a job only", async () => {
		const endpoint = client();
		const job = await endpoint.run({ p: 1 });
		await job.status();
		await job.cancel();
		await endpoint.health();
		expect(lines(endpoint)).toEqual(["POST run", `GET status/${job.id}`, `POST cancel/${job.id}`, "GET health"]);
		const [run, status, cancel, health] = endpoint.sent;
		expect(run!.body).toBe('{"input": {"p": 1}}');
		expect(status!.headers).toEqual({
			"Content-Type": "application/json",
			Authorization: `Bearer ${KEY}`,
			"X-Request-ID": job.id,
			Accept: "*/*",
			"Accept-Encoding": "gzip, deflate",
			"User-Agent": "Python/3.11 aiohttp/3.8.4",
		});
		expect(cancel!.headers).toMatchObject({ "Content-Length": "0", "X-Request-ID": job.id });
		for (const { headers } of [run!, health!]) expect(headers).not.toHaveProperty("X-Request-ID");
	});

	it.each([{ p: 1 }, { input: { p: 1 } }, {}])("A.3, spec 1: run(%j) hands just that to the worker", async (input) => {
		const { id } = await client().run(input);
		expect(JSON.parse((await worker.take()).text)).toEqual({ id, input });
	});

	describe("output", () => {
		it("spec 4: polls each second and asks again after the end", async () => {
			const endpoint = client({
				steps: [() => b.takes(worker, job.id), () => worker.done(job.id, { output: [1] })],
			});
			const job: AsyncioJob = await endpoint.run({ p: 1 });
			expect(await job.output(60)).toEqual([1]);
			expect(endpoint.slept).toEqual([1000, 1000]);
			expect(lines(endpoint)).toEqual(["POST run", ...Array.from({ length: 4 }, () => `GET status/${job.id}`)]);
			expect([await job.status(), await job.output()]).toEqual(["COMPLETED", [1]]);
			expect(endpoint.sent).toHaveLength(5);
		});

		it("A.3: with its default timeout it is a TimeoutError without a request, until the output is known", async () => {
			const endpoint = client();
			const job = await endpoint.run({ p: 1 });
			await b.takes(worker, job.id);
			await worker.done(job.id, { output: 1 });
			await expect(job.output()).rejects.toMatchObject({ name: "TimeoutError" });
			expect(endpoint.sent).toHaveLength(1);
			expect([await job.status(), await job.output()]).toEqual(["COMPLETED", 1]);
		});

		it("A.3: a wait that is over is a TimeoutError; the job goes on", async () => {
			const job = await client({
				steps: [() => b.clock.advance(5000), nothing, nothing, nothing],
			}).run({ p: 1 });
			await expect(job.output(5)).rejects.toMatchObject({ name: "TimeoutError" });
			expect(await b.status(job.id)).toMatchObject({ status: "IN_QUEUE" });
		});

		it("A.10: a failed job has no output and raises nothing", async () => {
			const job = await client().run({ p: 1 });
			await b.takes(worker, job.id);
			await worker.done(job.id, { error: "x" });
			expect(await job.output(5)).toBeNull();
			expect(await job.status()).toBe("FAILED");
		});

		it("D3, D9: a result that expires while it is polled for is KeyError 'status'", async () => {
			const expires = async (): Promise<void> => {
				await worker.done(job.id, { output: 1 });
				await b.clock.advance(30 * 60_000);
			};
			const job: AsyncioJob = await client({ steps: [nothing, expires] }).run({ p: 1 });
			await b.takes(worker, job.id);
			await expect(job.output(86_400)).rejects.toMatchObject(NO_STATUS);
		});
	});

	describe("stream", () => {
		const said = (output: unknown) => (): Promise<unknown> => worker.chunk(job.id, { output });
		const done = (): Promise<unknown> => worker.done(job.id, { output: [] });
		let job: AsyncioJob;

		async function running(...steps: (() => unknown)[]): Promise<ReturnType<typeof client>> {
			const endpoint = client({ steps });
			job = await endpoint.run({ p: 1 });
			await b.takes(worker, job.id);
			return endpoint;
		}

		it("A.7, D7: a job that ends during it gives each chunk once, in order; the end is asked for again", async () => {
			const endpoint = await running(
				said({ text: "a" }),
				() => said("b")().then(said(3)),
				() => said("last")().then(done),
				nothing,
			);
			expect(await all(job.stream())).toEqual([{ text: "a" }, "b", 3, "last"]);
			expect(endpoint.slept).toEqual([1000, 1000, 1000, 1000]);
			expect(lines(endpoint).slice(1)).toEqual(Array.from({ length: 4 }, () => `GET stream/${job.id}`));
			expect(endpoint.sent.at(-1)!.headers).toMatchObject({ "X-Request-ID": job.id });
		});

		it("D7: a job that ended before gives all chunks and then the end", async () => {
			await running(nothing, nothing);
			for (const output of [1, 2, 3]) await said(output)();
			await done();
			expect(await all(job.stream())).toEqual([1, 2, 3]);
		});

		it("D7: a job that ends when all chunks were read ends the stream with the next answer", async () => {
			await running(said(1), done);
			expect(await all(job.stream())).toEqual([1]);
		});

		it("D7: chunks come while a read is held", async () => {
			await running(nothing, done);
			const held = arrived(b, /stream/);
			const read = all(job.stream());
			await held;
			await said("now")();
			expect(await read).toEqual(["now"]);
		});

		it("A.3, A.7, D3: a cancelled job does not end it; the 404 of the expired result does", async () => {
			const endpoint = await running(
				said(1),
				() => job.cancel(),
				nothing,
				nothing,
				() => b.clock.advance(30 * 60_000),
			);
			const got: unknown[] = [];
			const read = async (): Promise<void> => {
				for await (const output of job.stream()) got.push(output);
			};
			await expect(read()).rejects.toMatchObject(NO_STATUS);
			expect(got).toEqual([1]);
			expect(endpoint.slept).toHaveLength(5);
		});
	});

	describe("cancel, health, purge_queue", () => {
		it("D10: a waiting job is cancelled, and again", async () => {
			const job = await client().run({ p: 1 });
			for (let round = 0; round < 2; round += 1)
				expect(await job.cancel()).toEqual({ id: job.id, status: "CANCELLED" });
			expect(await job.status()).toBe("CANCELLED");
		});

		it("D18: a running job is cancelled without waiting for its worker, which is notified to stop", async () => {
			const job = await client().run({ p: 1 });
			await b.takes(worker, job.id);
			expect(await job.cancel()).toEqual({ id: job.id, status: "CANCELLED" });
			expect(stopsOf(await worker.stop())).toEqual([job.id]);
		});

		it("D13: health counts jobs and workers", async () => {
			await client().run({ p: 1 });
			expect(await client().health()).toMatchObject({
				jobs: { completed: 0, failed: 0, inProgress: 0, inQueue: 1, retried: 0 },
				workers: { running: 0 },
			});
		});

		it("D11: purge_queue removes what waits and says how much", async () => {
			const endpoint = client();
			const { id } = await endpoint.run({ p: 1 });
			expect(await endpoint.purgeQueue()).toEqual({ removed: 1, status: "completed" });
			await expect(endpoint.job(id).status()).rejects.toMatchObject(NO_STATUS);
		});
	});

	describe("errors, whose status it never reads", () => {
		it("D3, A.10: without a key run lacks 'id', job calls lack 'status'; others return the error body", async () => {
			const endpoint = client({ key: "wrong", steps: [nothing] });
			const job = endpoint.job("0");
			await expect(endpoint.run({ p: 1 })).rejects.toMatchObject(NO_ID);
			for (const call of [job.status(), all(job.stream())]) await expect(call).rejects.toMatchObject(NO_STATUS);
			for (const call of [job.cancel(), endpoint.health(), endpoint.purgeQueue()])
				expect(await call).toEqual({ error: expect.any(String), code: "unauthorized" });
		});

		it("D3, A.10: so too with an unknown endpoint and an unknown job", async () => {
			const elsewhere = client({ endpoint: "none" });
			await expect(elsewhere.run({ p: 1 })).rejects.toMatchObject(NO_ID);
			expect(await elsewhere.health()).toEqual({
				error: expect.any(String),
				code: "endpoint_not_found",
			});
			const job = client({ steps: [nothing] }).job("none");
			await expect(job.status()).rejects.toMatchObject(NO_STATUS);
			await expect(job.output(5)).rejects.toMatchObject(NO_STATUS);
			await expect(all(job.stream())).rejects.toMatchObject(NO_STATUS);
			expect(await job.cancel()).toEqual({ error: expect.any(String), code: "job_not_found" });
		});

		it("D3, D23: 400 and 429 on run lack 'id'", async () => {
			await expect(client().run([1])).rejects.toMatchObject(NO_ID);
			await b.fresh({ limits: { queue: 0 } });
			await client().run({ p: 1 });
			await expect(client().run({ p: 1 })).rejects.toMatchObject(NO_ID);
		});

		it("D1, A.3: every answer says that it is JSON", async () => {
			const { run, job } = client({ key: "wrong" });
			await expect(run({})).rejects.not.toMatchObject({ name: "ContentTypeError" });
			// The path of no route at all.
			await expect(job("a/b").status()).rejects.toMatchObject(NO_STATUS);
		});
	});

	it("A.3, A.10: with a worker that runs freely: results, failures and streams", async () => {
		await b.sdk({ handler: workload });
		let ended = b.next("job.settled");
		const echo = await client().run({ p: 1 });
		await ended;
		expect(await echo.output(60)).toEqual({ echo: { p: 1 } });
		ended = b.next("job.settled");
		const failed = await client().run({ fail: true });
		await ended;
		expect([await failed.output(60), await failed.status()]).toEqual([null, "FAILED"]);
		ended = b.next("job.settled");
		const job = await client({ steps: [() => ended, nothing] }).run({ words: ["a", "b", "c"] });
		expect(await all(job.stream())).toEqual(["a", "b", "c"]);
	});
});
