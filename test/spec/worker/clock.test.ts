/** The time of day is set, or the machine or the service stands: no job, result or lease is harmed (D16). */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bench, type Bench } from "../../support/sdk-worker-bench.ts";
import type { SdkProtocol } from "../../support/sdk-protocol.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LEASE_MS = 20_000;
const PING_MS = 5000;

let b: Bench;
let worker: SdkProtocol;
/** A job that has ended, one that runs, one that waits. */
let ended: string;
let running: string;
let waiting: string;

beforeEach(async () => {
	b = await bench();
	worker = await b.worker();
	await worker.ping();
	ended = await b.submit();
	await b.takes(worker, ended);
	await worker.done(ended, { output: "kept" });
	running = await b.submit({ input: {}, policy: { executionTimeout: 50_000 } });
	await b.takes(worker, running, { busy: true });
	waiting = await b.submit({ input: {}, policy: { ttl: 50_000 } });
	await b.pass(PING_MS);
	await worker.ping([running]);
});
afterEach(() => b.end());

/** Lets the service notice, with a worker that pings as ever. */
async function unharmed(): Promise<void> {
	// Where servers share a store, none is ready until it has measured the step.
	await b.clock.advance(PING_MS);
	await worker.ping([running]);
	expect(await b.status(ended)).toMatchObject({ status: "COMPLETED", output: "kept" });
	const now = await b.status(running);
	expect(now).toMatchObject({ status: "IN_PROGRESS" });
	expect(now).not.toHaveProperty("retries");
	expect(await b.status(waiting)).toMatchObject({ status: "IN_QUEUE" });
	await b.pass(LEASE_MS - 1000);
	expect(await b.status(running)).toMatchObject({ status: "IN_PROGRESS" });
	expect(await b.status(running)).not.toHaveProperty("retries");
}

/** A worker without a word loses its job a lease later, as ever. */
async function lossIsNoticed(): Promise<void> {
	await b.pass(LEASE_MS + 2000);
	expect(await b.status(running)).toMatchObject({ retries: 1 });
}

describe("D16: the time of day is set, or forward, the machine was suspended", () => {
	it.each([MINUTE, HOUR, -HOUR, DAY, -DAY])("by %i ms", async (ms) => {
		b.clock.set(ms);
		await unharmed();
		await lossIsNoticed();
		expect(Math.abs(b.service.engine.calendar.now() - b.clock.wall())).toBeLessThan(1000);
		expect(b.of("clock.stepped")).toHaveLength(1);
	});
});

describe("D16: the service is stopped and continued", () => {
	it.each([MINUTE, HOUR])("stopped for %i ms", async (ms) => {
		b.jump(ms);
		await unharmed();
		await lossIsNoticed();
		expect(b.of("service.away")).toHaveLength(1);
	});
});
