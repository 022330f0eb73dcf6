/**
 * RunPod's JavaScript SDK from npm, unmodified, against the service at both bases: at `/v2` it is
 * known by its user agent (protocol A.4, A.10; D1, D6, D7, D8).
 */
import { advanceUntil } from "../support/manual-clock.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { KEY } from "../support/service.ts";
import { bench, type Bench, stopsOf } from "../support/sdk-worker-bench.ts";
import type { SdkProtocol } from "../support/sdk-protocol.ts";
import { all, arrivals, arrived } from "./arrivals.ts";
import { workload } from "./workload.ts";

// It keeps console.log when it is loaded, and prints each state it polls.
const { log } = console;
console.log = () => {};
const { default: runpodSdk } = await import("runpod-sdk");
console.log = log;

type Endpoint = NonNullable<ReturnType<ReturnType<typeof runpodSdk>["endpoint"]>>;

let b: Bench;
let worker: SdkProtocol;
let seen: ReturnType<typeof arrivals>;
beforeAll(async () => {
	b = await bench();
});
beforeEach(async () => {
	await b.fresh();
	worker = await b.worker();
	seen = arrivals(b.ep);
});
afterEach(() => seen.stop());
afterAll(() => b?.end());

const INPUT = { input: { p: 1 } };
const chunk = (output: unknown): object => ({ output, metrics: {} });
const TIMES = { delayTime: expect.any(Number), executionTime: expect.any(Number) };

describe.each(["/v2", "/sdk/v2"])("at %s", (prefix) => {
	/** The endpoint as the SDK gives it. */
	function sdk(q: { key?: string; endpoint?: string } = {}): Endpoint {
		return runpodSdk(q.key ?? KEY, { baseUrl: b.url + prefix }).endpoint(q.endpoint ?? b.ep)!;
	}

	/** What arrived beside the worker's calls, without the base. */
	const lines = (): string[] => seen.list.map(({ line }) => line.replace(`${prefix}/${b.ep}/`, ""));

	/** Submits and hands out a job. */
	async function running(): Promise<string> {
		const { id } = await sdk().run(INPUT);
		await b.takes(worker, id);
		return id;
	}

	it("A.10: it is the SDK of the traces", async () => {
		const { id } = await sdk().run(INPUT);
		await sdk().cancel(id);
		expect(lines()).toEqual(["POST run", `POST cancel/${id}`]);
		for (const { headers } of seen.list)
			expect(headers).toMatchObject({
				"user-agent": expect.stringMatching(/^RunPod-JS-SDK\/1\./),
				"content-type": "application/json",
				authorization: `Bearer ${KEY}`,
			});
		expect(seen.list[1]!.headers["content-length"]).toBe("2");
	});

	describe("run, status, statusSync", () => {
		it("spec 4: a job is followed from the queue to its end", async () => {
			const { id, status } = await sdk().run(INPUT);
			expect(status).toBe("IN_QUEUE");
			expect(await sdk().status(id)).toEqual({
				id,
				status: "IN_QUEUE",
				...TIMES,
				started: true,
				completed: false,
				succeeded: false,
			});
			await b.takes(worker, id);
			await worker.done(id, { status: "IN_PROGRESS", output: { step: 1 } });
			expect(await sdk().status(id)).toMatchObject({
				status: "IN_PROGRESS",
				output: { step: 1 },
				completed: false,
			});
			await worker.done(id, { output: [{ a: 1 }] });
			expect(await sdk().status(id)).toEqual({
				id,
				status: "COMPLETED",
				...TIMES,
				output: [{ a: 1 }],
				workerId: worker.id,
				started: true,
				completed: true,
				succeeded: true,
			});
		});

		it("D6: a failed job has its error, completed and not succeeded", async () => {
			const id = await running();
			await worker.done(id, { error: "no such model" });
			const job = {
				id,
				status: "FAILED",
				error: "no such model",
				started: true,
				completed: true,
				succeeded: false,
			};
			expect(await sdk().status(id)).toMatchObject(job);
			expect(await sdk().statusSync(id)).toMatchObject(job);
		});

		it("D8: statusSync waits for the end, and for as long as it says", async () => {
			const id = await running();
			const held = arrived(b, /status-sync/);
			const answer = sdk().statusSync(id, 7000);
			expect((await held).line).toMatch(/^GET .*\?wait=7000$/);
			await b.clock.advance(7000);
			expect(await answer).toMatchObject({ id, status: "IN_PROGRESS", completed: false });
			const again = arrived(b, /status-sync/);
			const end = sdk().statusSync(id);
			expect((await again).line).toMatch(/\?wait=90000$/);
			await worker.done(id, { output: 1 });
			expect(await end).toMatchObject({ id, status: "COMPLETED", output: 1, succeeded: true });
		});
	});

	describe("runSync", () => {
		it.each<[string, object, object]>([
			["output", { output: { a: 1 } }, { status: "COMPLETED", output: { a: 1 }, succeeded: true }],
			["a failure", { error: "x" }, { status: "FAILED", error: "x", succeeded: false }],
		])("spec 4: a job that ends in time is one call: %s", async (_, report, job) => {
			const queued = b.next("job.queued");
			const answer = sdk().runSync(INPUT);
			const { id } = await queued;
			await b.takes(worker, id);
			await worker.done(id, report);
			expect(await answer).toMatchObject({ id, ...TIMES, ...job, started: true, completed: true });
			expect(lines()).toEqual(["POST runsync?wait=90000"]);
		});

		it("D8: one that takes longer than the wait is asked for by status-sync until it ends", async () => {
			const [held, queued] = [arrived(b, /runsync/), b.next("job.queued")];
			const answer = sdk().runSync(INPUT, 60_000);
			const [{ id }] = await Promise.all([queued, held]);
			const again = arrived(b, /status-sync/);
			await b.clock.advance(60_000);
			await again;
			await b.takes(worker, id);
			await worker.done(id, { output: 1 });
			expect(await answer).toMatchObject({
				id,
				status: "COMPLETED",
				output: 1,
				completed: true,
				succeeded: true,
			});
			expect(lines()).toEqual([
				"POST runsync?wait=60000",
				expect.stringMatching(new RegExp(`^GET status-sync/${id}\\?wait=\\d+$`)),
			]);
		});

		it("A.4: it gives up after its timeout with the job as it stands, whose id leads on", async () => {
			const queued = b.next("job.queued");
			let over = false;
			const answer = sdk()
				.runSync(INPUT, 1)
				.finally(() => (over = true));
			const { id } = await queued;
			// Its timeout is of real time, its waits are of the service's: at least 1 s each.
			await advanceUntil(b.clock, () => over, 500);
			expect(await answer).toMatchObject({
				id,
				status: "IN_QUEUE",
				started: true,
				completed: false,
			});
			await b.takes(worker, id);
			await worker.done(id, { output: 1 });
			expect(await sdk().status(id)).toMatchObject({ status: "COMPLETED", output: 1 });
		});
	});

	describe("stream", () => {
		it("D7: of a job that ended before: all chunks with the final state, in one call", async () => {
			const id = await running();
			for (const output of [{ text: "a" }, "b", null]) await worker.chunk(id, { output });
			await worker.done(id, { output: [] });
			expect(await all(sdk().stream(id))).toEqual([chunk({ text: "a" }), chunk("b"), chunk(null)]);
			expect(lines()).toEqual(["POST run", `GET stream/${id}`]);
		});

		it("D7: of a job that ends during it: each chunk once, in order, as it comes", async () => {
			const id = await running();
			const stream = sdk().stream(id);
			for (const output of [1, 2, 3]) {
				const held = arrived(b, /stream/);
				const next = stream.next();
				await held;
				await worker.chunk(id, { output });
				expect(await next).toEqual({ done: false, value: chunk(output) });
			}
			await worker.chunk(id, { output: 4 });
			await worker.done(id, { output: [] });
			expect(await all(stream)).toEqual([chunk(4)]);
		});

		it.each(["done", "failed", "cancelled"])("D7: of a job that ends after all was read: %s", async (how) => {
			const id = await running();
			await worker.chunk(id, { output: 1 });
			const held = arrived(b, /stream/, 2);
			const read = all(sdk().stream(id));
			await held;
			if (how === "cancelled") await sdk().cancel(id);
			else await worker.done(id, how === "done" ? { output: [] } : { error: "x" });
			expect(await read).toEqual([chunk(1)]);
		});

		it("D7: an empty wait is held, not answered at once: the SDK asks again without a pause", async () => {
			const id = await running();
			const [held, again] = [arrived(b, /stream/), arrived(b, /stream/, 2)];
			const read = all(sdk().stream(id));
			await held;
			expect(lines()).toHaveLength(2);
			await b.clock.advance(5000);
			await again;
			expect(lines()).toHaveLength(3);
			await worker.done(id, { output: [] });
			expect(await read).toEqual([]);
		});

		it("D7: of more than one answer holds all chunks after the end, though it stops at a final state", async () => {
			const id = await running();
			const large = "x".repeat(900_000);
			for (let count = 0; count < 20; count += 1) await worker.chunk(id, `{"output":"${count} ${large}"}`);
			await worker.done(id, { output: [] });
			const got = (await all(sdk().stream(id))) as { output: string }[];
			expect(got.map(({ output }) => output.split(" ")[0])).toEqual(
				Array.from({ length: 20 }, (_, index) => String(index)),
			);
		});
	});

	describe("cancel, health, purgeQueue", () => {
		it("D10: a waiting job is cancelled, and again", async () => {
			const { id } = await sdk().run(INPUT);
			for (let round = 0; round < 2; round += 1) expect(await sdk().cancel(id)).toEqual({ id, status: "CANCELLED" });
			expect(await sdk().status(id)).toMatchObject({
				status: "CANCELLED",
				completed: true,
				succeeded: false,
			});
		});

		it("D18: a running job is cancelled without waiting for its worker, which is notified to stop", async () => {
			const id = await running();
			expect(await sdk().cancel(id)).toEqual({ id, status: "CANCELLED" });
			expect(stopsOf(await worker.stop())).toEqual([id]);
			expect(await sdk().cancel(id)).toEqual({ id, status: "CANCELLED" });
		});

		it("D13: health has every member of its type", async () => {
			await worker.done(await running(), { output: 1 });
			await worker.done(await running(), { error: "x" });
			await running();
			await sdk().run(INPUT);
			expect(await sdk().health()).toMatchObject({
				jobs: { completed: 1, failed: 1, inProgress: 1, inQueue: 1, retried: 0 },
				workers: { idle: 0, initializing: 0, ready: 0, running: 1, throttled: 0 },
			});
		});

		it("D11: purgeQueue removes what waits and says how much; what runs goes on", async () => {
			const id = await running();
			const waiting = [await sdk().run(INPUT), await sdk().run(INPUT)];
			expect(await sdk().purgeQueue()).toEqual({ removed: 2, status: "completed" });
			for (const job of waiting)
				await expect(sdk().status(job.id)).rejects.toMatchObject({ response: { status: 404 } });
			expect(await sdk().status(id)).toMatchObject({ status: "IN_PROGRESS" });
		});
	});
	it("A.6: while others wait and no time passes, every call with a timeout of 3 s is answered", async () => {
		const id = await running();
		const waits = 40;
		const held = arrived(b, /status-sync|stream/, 2 * waits);
		const waiting = Array.from({ length: waits }, () => [sdk().statusSync(id), all(sdk().stream(id))]).flat();
		await held;
		const { id: next } = await sdk().run(INPUT);
		expect(await sdk().status(next)).toMatchObject({ status: "IN_QUEUE" });
		expect(await sdk().health()).toMatchObject({ jobs: { inQueue: 1, inProgress: 1 } });
		expect(await sdk().cancel(next)).toEqual({ id: next, status: "CANCELLED" });
		expect(await sdk().cancel(id)).toEqual({ id, status: "CANCELLED" });
		await Promise.all(waiting);
	});

	it("spec 4, A.4: with a worker that runs freely: results, failures and streams side by side", async () => {
		await b.sdk({ concurrency: 4, handler: workload });
		const words = ["a", "b", "c"];
		const [echo, failed, streamed] = await Promise.all([
			sdk().runSync({ input: { p: 1 } }),
			sdk().runSync({ input: { fail: true } }),
			sdk()
				.run({ input: { words } })
				.then(({ id }) => all(sdk().stream(id))),
		]);
		expect(echo).toMatchObject({
			status: "COMPLETED",
			output: { echo: { p: 1 } },
			succeeded: true,
		});
		expect(failed).toMatchObject({
			status: "FAILED",
			error: expect.stringContaining("no such model"),
			succeeded: false,
		});
		expect(streamed).toEqual(words.map(chunk));
	});
});
