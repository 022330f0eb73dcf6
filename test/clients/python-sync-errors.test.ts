/**
 * RunPod's synchronous Python SDK, scripted: the errors that it raises, and the calls that are about
 * more than one job (protocol A.10; D10, D11, D13, D23, D24).
 */
import { describe, expect, it } from "vitest";
import { stopsOf } from "../support/sdk-worker-bench.ts";
import { all } from "./arrivals.ts";
import { b, useEndpoint, worker } from "./endpoint.ts";
import { client, times } from "./python-sync-endpoint.ts";

useEndpoint();

describe("cancel, health, purge_queue", () => {
	it("D10: a waiting job is cancelled at once, and again", async () => {
		const job = await client().run({ p: 1 });
		for (let round = 0; round < 2; round += 1) expect(await job.cancel()).toEqual({ id: job.id, status: "CANCELLED" });
		expect(await job.status()).toBe("CANCELLED");
		expect(await job.output(5)).toBeNull();
	});

	it("D18: a running job is cancelled without waiting for its worker, which is notified to stop", async () => {
		const job = await client().run({ p: 1 });
		await b.takes(worker, job.id);
		expect(await job.cancel()).toEqual({ id: job.id, status: "CANCELLED" });
		expect(stopsOf(await worker.stop())).toEqual([job.id]);
	});

	it("D13: health counts jobs and workers", async () => {
		const job = await client().run({ p: 1 });
		await b.takes(worker, job.id);
		expect(await client().health()).toEqual({
			jobs: { completed: 0, failed: 0, inProgress: 1, inQueue: 0, retried: 0 },
			workers: { idle: 0, initializing: 0, ready: 0, running: 1, throttled: 0, unhealthy: 0 },
		});
	});

	it("D11: purge_queue removes what waits and says how much; what runs goes on", async () => {
		const endpoint = client();
		const [running, ...waiting] = [
			await endpoint.run({ p: 1 }),
			await endpoint.run({ p: 2 }),
			await endpoint.run({ p: 3 }),
		];
		await b.takes(worker, running!.id);
		expect(await endpoint.purgeQueue()).toEqual({ removed: 2, status: "completed" });
		for (const { id } of waiting)
			await expect(endpoint.job(id).status()).rejects.toMatchObject({
				name: "HTTPError",
				message: "404 Not Found",
			});
		expect(await running!.status()).toBe("IN_PROGRESS");
		expect(await endpoint.purgeQueue()).toEqual({ removed: 0, status: "completed" });
	});
});

describe("errors", () => {
	const HTTP = (status: string): object => ({ name: "HTTPError", message: status });

	it("A.10: a wrong key is RuntimeError 401 for every call", async () => {
		const endpoint = client({ key: "wrong", steps: times(1) });
		const job = endpoint.job("0");
		const calls = [
			endpoint.run({ p: 1 }),
			endpoint.runSync({ p: 1 }),
			job.status(),
			job.cancel(),
			all(job.stream()),
			endpoint.health(),
			endpoint.purgeQueue(),
		];
		for (const result of await Promise.allSettled(calls))
			expect(result).toMatchObject({
				reason: { name: "RuntimeError", message: "401 Unauthorized" },
			});
	});

	it("A.10: an unknown endpoint and an unknown job are HTTPError 404", async () => {
		const elsewhere = client({ endpoint: "none" });
		const job = client({ steps: times(1) }).job("none");
		const calls = [
			elsewhere.run({ p: 1 }),
			elsewhere.runSync({ p: 1 }),
			elsewhere.health(),
			job.status(),
			job.output(),
			job.cancel(),
			all(job.stream()),
		];
		for (const result of await Promise.allSettled(calls))
			expect(result).toMatchObject({ reason: HTTP("404 Not Found") });
	});

	it("spec 2.4: a policy out of bounds is HTTPError 400", async () => {
		await expect(client().run({ input: { p: 1 }, policy: { executionTimeout: 5000 } })).rejects.toMatchObject(
			HTTP("400 Bad Request"),
		);
	});

	it("D23: a full queue is HTTPError 429, not tried again", async () => {
		await b.fresh({ limits: { queue: 0 } });
		const endpoint = client();
		await endpoint.run({ p: 1 });
		for (const result of await Promise.allSettled([endpoint.run({ p: 1 }), endpoint.runSync({ p: 1 })]))
			expect(result).toMatchObject({ reason: HTTP("429 Too Many Requests") });
		expect(endpoint.sent).toHaveLength(3);
	});

	it("D24: a status over the rate is asked for again after Retry-After, and gets through", async () => {
		await b.fresh({ limits: { status: { per10s: 1 } } });
		const endpoint = client({ steps: [() => b.clock.advance(10_000)] });
		const job = await endpoint.run({ p: 1 });
		expect([await job.status(), await job.status()]).toEqual(["IN_QUEUE", "IN_QUEUE"]);
		expect(endpoint.sent).toHaveLength(4);
		expect(endpoint.slept).toEqual([10_000]);
	});
});
