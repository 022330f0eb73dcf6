/**
 * RunPod's synchronous Python SDK, scripted, against the service at `/sdk/v2` (protocol A.2,
 * A.10; D1, D3, D7, D8).
 */
import { describe, expect, it } from "vitest";
import { KEY } from "../support/service.ts";
import { all, arrived } from "./arrivals.ts";
import { b, useEndpoint, worker } from "./endpoint.ts";
import { client, nothing, times } from "./python-sync-endpoint.ts";
import type { PythonEndpoint, PythonJob } from "./python-sync-client.ts";
import { workload } from "./workload.ts";

useEndpoint();

const lines = ({ sent }: PythonEndpoint): string[] =>
	sent.map(({ method, url }) => `${method} ${url.replace(/^.*\/v2\/[^/]+\//, "")}`);

describe("requests", () => {
	it("A.2, A.10: the script sends what the traces show", async () => {
		const endpoint = client({ steps: times(1) });
		const job = await endpoint.run({ input: { p: "é" }, policy: { ttl: 20_000 } });
		await job.status();
		await job.cancel();
		await endpoint.health();
		expect(lines(endpoint)).toEqual(["POST run", `GET status/${job.id}`, `POST cancel/${job.id}`, "GET health"]);
		const [run, status, cancel] = endpoint.sent;
		expect(run).toMatchObject({
			body: '{"input": {"p": "\\u00e9"}, "policy": {"ttl": 20000}}',
			timeoutMs: 10_000,
		});
		expect(status!.headers).toEqual({
			"User-Agent": "python-requests/2.28.1",
			"Accept-Encoding": "gzip, deflate",
			Accept: "*/*",
			Connection: "keep-alive",
			"Content-Type": "application/json",
			Authorization: `Bearer ${KEY}`,
		});
		expect(cancel).toMatchObject({
			headers: { "Content-Length": "0", "Content-Type": "application/json" },
			timeoutMs: 3000,
		});
		expect(cancel!.body).toBeUndefined();
	});

	it.each<[object, object, object]>([
		[{ p: 1 }, { p: 1 }, {}],
		[{ input: {} }, { input: {} }, {}],
		[{}, {}, {}],
		[{ input: {}, policy: { ttl: 20_000 } }, { input: {}, policy: { ttl: 20_000 } }, {}],
		[{ input: { p: 1 }, s3Config: { accessId: "a" } }, { p: 1 }, { s3Config: { accessId: "a" } }],
	])("A.2, spec 1: run(%j) hands %j to the worker, and %j beside it", async (body, input, beside) => {
		const { id } = await client().run({ ...body });
		expect(JSON.parse((await worker.take()).text)).toEqual({ id, input, ...beside });
	});
});

describe("run, status, output", () => {
	it("spec 4: a job is followed from the queue to its output, asked each second", async () => {
		const endpoint = client({
			steps: [
				() => b.takes(worker, job.id),
				() => worker.done(job.id, { status: "IN_PROGRESS", output: { step: 1 } }),
				() => worker.done(job.id, { output: { answer: [1] } }),
			],
		});
		const job = await endpoint.run({ p: 1 });
		expect(await job.status()).toBe("IN_QUEUE");
		expect(await job.output(60)).toEqual({ answer: [1] });
		expect(endpoint.slept).toEqual([1000, 1000, 1000]);
		const before = endpoint.sent.length;
		expect([await job.status(), await job.output()]).toEqual(["COMPLETED", { answer: [1] }]);
		expect(endpoint.sent).toHaveLength(before);
	});

	it("D6: output() of a waiting job is None, of a running one its progress", async () => {
		const job = await client().run({ p: 1 });
		expect(await job.output()).toBeNull();
		await b.takes(worker, job.id);
		await worker.done(job.id, { status: "IN_PROGRESS", output: { step: 1 } });
		expect(await job.output()).toEqual({ step: 1 });
	});

	it("A.10: a failed job has no output and raises nothing", async () => {
		const job: PythonJob = await client({
			steps: times(1, () => worker.done(job.id, { error: "no such model" })),
		}).run({ p: 1 });
		await b.takes(worker, job.id);
		expect(await job.output(5)).toBeNull();
		expect(await job.status()).toBe("FAILED");
	});

	it("A.2: a wait that is over is a TimeoutError; the job goes on", async () => {
		const job = await client({ steps: times(3) }).run({ p: 1 });
		await expect(job.output(3)).rejects.toMatchObject({ name: "TimeoutError" });
		expect(await b.status(job.id)).toMatchObject({ status: "IN_QUEUE" });
	});

	it("D9: a result that expires while it is polled for is HTTPError 404", async () => {
		const expires = async (): Promise<void> => {
			await worker.done(job.id, { output: 1 });
			await b.clock.advance(30 * 60_000);
		};
		const job: PythonJob = await client({ steps: [nothing, expires] }).run({ p: 1 });
		await b.takes(worker, job.id);
		await expect(job.output(60)).rejects.toMatchObject({
			name: "HTTPError",
			message: "404 Not Found",
		});
	});
});

describe("run_sync", () => {
	it.each<[string, object, unknown]>([
		["output", { output: { a: 1 } }, { a: 1 }],
		["no output", {}, null],
		["a failure", { error: "x" }, null],
	])("A.2: a job that ends in time gives its output: %s", async (_, report, output) => {
		const endpoint = client();
		const queued = b.next("job.queued");
		const answer = endpoint.runSync({ p: 1 });
		const { id } = await queued;
		await b.takes(worker, id);
		await worker.done(id, report);
		expect(await answer).toEqual(output);
		expect(lines(endpoint)).toEqual(["POST runsync"]);
		expect(endpoint.sent[0]).toMatchObject({ timeoutMs: 86_400_000 });
	});

	it("D8: after 90 s it gets the job as it stands and polls on by /status", async () => {
		const [asked, queued] = [arrived(b, /POST .*runsync$/), b.next("job.queued")];
		const ended = (): Promise<unknown> => b.takes(worker, id).then(() => worker.done(id, { output: "late" }));
		const endpoint = client({ steps: [nothing, ended] });
		const answer = endpoint.runSync({ p: 1 });
		const [{ id }] = await Promise.all([queued, asked]);
		await b.clock.advance(90_000);
		expect(await answer).toBe("late");
		expect(lines(endpoint)).toEqual(["POST runsync", ...times(3).map(() => `GET status/${id}`)]);
		expect(endpoint.slept).toEqual([1000, 1000]);
	});

	it("A.2: polled for its timeout after that it is a TimeoutError", async () => {
		const asked = arrived(b, /POST .*runsync$/);
		const endpoint = client({ steps: times(100) });
		const answer = endpoint.runSync({ p: 1 }, 100);
		answer.catch(nothing);
		await Promise.all([asked, b.next("job.queued")]);
		await b.clock.advance(90_000);
		await expect(answer).rejects.toMatchObject({ name: "TimeoutError" });
		expect(endpoint.slept).toHaveLength(100);
	});

	it("D11, A.2: a job that is purged meanwhile is HTTPError 404: CANCELLED does not end the polling", async () => {
		const queued = b.next("job.queued");
		const endpoint = client();
		const answer = endpoint.runSync({ p: 1 });
		answer.catch(nothing);
		const { id } = await queued;
		await client().purgeQueue();
		await expect(answer).rejects.toMatchObject({ name: "HTTPError", message: "404 Not Found" });
		expect(lines(endpoint)).toEqual(["POST runsync", `GET status/${id}`]);
	});

	it("D8: a timeout below the 90 s is a ReadTimeout, sent once; the job goes on", async () => {
		const [asked, queued] = [arrived(b, /POST .*runsync$/), b.next("job.queued")];
		const endpoint = client();
		const answer = endpoint.runSync({ p: 1 }, 60);
		answer.catch(nothing);
		const [{ id }] = await Promise.all([queued, asked]);
		await b.clock.advance(60_000);
		await expect(answer).rejects.toMatchObject({ name: "ReadTimeout" });
		expect(endpoint.sent).toHaveLength(1);
		await b.takes(worker, id);
		await worker.done(id, { output: 1 });
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED" });
	});
});

describe("stream", () => {
	const said = (output: unknown) => (): Promise<unknown> => worker.chunk(job.id, { output });
	const done = (): Promise<unknown> => worker.done(job.id, { output: [] });
	let job: PythonJob;

	/** A running job whose stream is read in pauses of these steps. */
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
		expect(lines(endpoint).slice(1)).toEqual(times(4).map(() => `GET stream/${job.id}`));
		expect(await job.status()).toBe("COMPLETED");
	});

	it("D7: a job that ended before gives all chunks in one answer and then the end", async () => {
		await running(nothing, nothing);
		for (const output of [1, 2, 3]) await said(output)();
		await done();
		expect(await all(job.stream())).toEqual([1, 2, 3]);
	});

	it("D7: a job that ends when all chunks were read ends the stream with the next answer", async () => {
		await running(said(1), done);
		expect(await all(job.stream())).toEqual([1]);
	});

	it("D7: a job without chunks ends it at once, also when it failed", async () => {
		await running(() => worker.done(job.id, { error: "x" }));
		expect(await all(job.stream())).toEqual([]);
	});

	it("D7, A.7: a read that finds nothing is answered before the 10 s of the SDK are over", async () => {
		const endpoint = await running(nothing, said("late"), done);
		const held = arrived(b, /stream/);
		const read = all(job.stream());
		read.catch(nothing);
		await held;
		await b.clock.advance(9_999);
		expect(await read).toEqual(["late"]);
		expect(lines(endpoint)).toHaveLength(4);
	});

	it("A.2, A.7: of a cancelled job it does not end; the end is the 404 of the expired result", async () => {
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
		await expect(read()).rejects.toMatchObject({ name: "HTTPError", message: "404 Not Found" });
		expect(got).toEqual([1]);
		expect(endpoint.slept).toHaveLength(5);
	});

	it("D7: at /v2 the stream is the array of the specification, which the SDK cannot read", async () => {
		await running();
		await said(1)();
		const { job: at } = client({ base: `${b.url}/v2`, steps: times(1) });
		await expect(all(at(job.id).stream())).rejects.toMatchObject({
			name: "TypeError",
			message: "list indices must be integers or slices, not str",
		});
	});
});
it("A.2, A.10: with a worker that runs freely: results, failures and streams", async () => {
	await b.sdk({ handler: workload });
	expect(await client().runSync({ p: 1 })).toEqual({ echo: { p: 1 } });
	expect(await client().runSync({ fail: true })).toBeNull();
	const ended = b.next("job.settled");
	const job = await client({ steps: [() => ended, nothing] }).run({ words: ["a", "b", "c"] });
	expect(await all(job.stream())).toEqual(["a", "b", "c"]);
	expect([await job.status(), await job.output()]).toEqual(["COMPLETED", []]);
});
