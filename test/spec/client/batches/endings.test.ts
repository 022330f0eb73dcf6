/** How a batch ends when not all of it runs (D57): cancelled, expired, purged, with its input, with its endpoint. */
import type { OpenAI } from "openai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StoreUnavailable } from "../../../../src/kernel/store/contract/store.ts";
import { MODULES } from "../../../../src/modules/index.ts";
import type { ServiceModule } from "../../../../src/modules/module.ts";
import { advanceUntil, manualClock, type ManualClock } from "../../../support/manual-clock.ts";
import { call, folder, type Folder, startService, type TestService } from "../../../support/service.ts";
import { endWith, handWorker, type HandWorker, type Taken } from "../../hand-worker.ts";
import { clientOf } from "../files/files-client.ts";
import { completion, created, line, results } from "./batch-client.ts";

let clock: ManualClock;
let place: Folder;
let service: TestService;
let client: OpenAI;
let worker: HandWorker;
const ENDPOINTS = { ep: { limits: { queue: 1000 } } };

beforeEach(async () => {
	clock = manualClock();
	place = folder();
	await begin();
});
afterEach(async () => {
	await endWith(service, clock);
	place.remove();
});

/** Batches go on once `ready` is resolved. */
async function begin(ready: Promise<void> = Promise.resolve()): Promise<void> {
	const modules = MODULES.map((each) => (each.name === "openai-async" ? openingAfter(ready, each) : each));
	service = await startService({ endpoints: ENDPOINTS, clock, in: place, pauseMs: Infinity, modules });
	client = clientOf(service, "ep");
	worker = await handWorker(service, "ep");
}

function openingAfter(ready: Promise<void>, found: ServiceModule): ServiceModule {
	return {
		...found,
		async open(kernel, settings) {
			const { batches } = kernel.store;
			const { open } = batches;
			batches.open = (q) => ready.then(() => open(q));
			return await found.open(kernel, settings);
		},
	};
}

const ids = (count: number): string[] => Array.from({ length: count }, (_, n) => `id-${n}`);

/** A batch of which some requests wait; their number is at most the window. */
async function waiting(count: number): Promise<string> {
	const { id } = await created(
		client,
		ids(count).map((each) => line(each)),
	);
	await queued(Math.min(count, 64));
	return id;
}

async function queued(count: number): Promise<void> {
	const holds = async (): Promise<boolean> => (await call(service.url, "/v2/ep/health")).json.jobs.inQueue === count;
	await advanceUntil(clock, holds, 100);
}

async function taken(): Promise<Taken> {
	return (await worker.take())!;
}

/** Lets time pass until the batch has ended. */
async function end(batch: string): Promise<OpenAI.Batch> {
	const open = ["validating", "in_progress", "finalizing", "cancelling"];
	const hasEnded = async (): Promise<boolean> => !open.includes((await client.batches.retrieve(batch)).status);
	await advanceUntil(clock, hasEnded, 1000);
	return await client.batches.retrieve(batch);
}

const codes = (found: Awaited<ReturnType<typeof results>>): string[] => [
	...new Set([...found.values()].map(({ error, response }) => error?.code ?? String(response!.status_code))),
];

describe("a batch that is cancelled", () => {
	it("D57: waiting requests do not run, those that run may end, and each is in one of the files", async () => {
		const id = await waiting(100);
		const job = await taken();
		const answer = await client.batches.cancel(id);
		expect(answer).toMatchObject({ status: "cancelling", cancelling_at: expect.any(Number) });
		await queued(0);
		await worker.done(job.id, completion(job));
		const batch = await end(id);
		expect(batch).toMatchObject({ status: "cancelled", request_counts: { total: 100, completed: 1, failed: 99 } });
		expect(batch.cancelled_at).toEqual(expect.any(Number));
		const [answers, others] = [await results(client, batch.output_file_id), await results(client, batch.error_file_id)];
		expect([...answers.keys(), ...others.keys()].toSorted()).toEqual(ids(100).toSorted());
		expect(codes(others)).toEqual(["batch_cancelled"]);
		expect(await client.batches.cancel(id)).toEqual(batch);
	});

	it("D57: a request that runs for over 10 minutes is cancelled too", async () => {
		const id = await waiting(1);
		const job = await taken();
		await client.batches.cancel(id);
		const isOpen = async (): Promise<boolean> => (await client.batches.retrieve(id)).status === "cancelling";
		for (let seconds = 0; seconds < 700 && (await isOpen()); seconds += 5) {
			await worker.ping(job.id);
			await clock.advance(5000);
		}
		const batch = await client.batches.retrieve(id);
		expect(batch.status).toBe("cancelled");
		expect((batch.cancelled_at! - batch.cancelling_at!) / 60).toBeCloseTo(10, 0);
	});
});

describe("a batch whose time is over", () => {
	it("D57: the rest of it expires at once", async () => {
		const { id } = await created(
			client,
			ids(70).map((each) => line(each)),
			{ completion_window: "1h" },
		);
		await queued(64);
		const job = await taken();
		await worker.done(job.id, completion(job));
		await clock.leap(3_600_000);
		service.leapt();
		const batch = await end(id);
		expect(batch).toMatchObject({ status: "expired", request_counts: { total: 70, completed: 1, failed: 69 } });
		expect(batch.expired_at! - batch.created_at).toBeGreaterThanOrEqual(3600);
		expect(codes(await results(client, batch.error_file_id))).toEqual(["batch_expired"]);
	});
});

describe("requests that are removed", () => {
	it("D57: those of a purged queue end as cancelled, and the others go on", async () => {
		const id = await waiting(66);
		const job = await taken();
		await call(service.url, "/v2/ep/purge-queue", { method: "POST" });
		await queued(2);
		await worker.done(job.id, completion(job));
		for (const _ of [1, 2]) {
			const next = await taken();
			await worker.done(next.id, completion(next));
		}
		const batch = await end(id);
		expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 3, failed: 63 } });
		expect(codes(await results(client, batch.error_file_id))).toEqual(["batch_cancelled"]);
	});

	it("D57: without its input it fails, with the answers that there are", async () => {
		const id = await waiting(70);
		const { input_file_id: input } = await client.batches.retrieve(id);
		// The row says at least every 2 s what waits and runs.
		await clock.advance(4000);
		await client.files.delete(input);
		await endWith(service, clock);
		await begin();
		const job = await taken();
		await worker.done(job.id, completion(job));
		for (let left = 63; left > 0; left -= 1) {
			const next = await taken();
			await worker.done(next.id, { error: "no" });
		}
		const batch = await end(id);
		expect(batch).toMatchObject({ status: "failed", errors: { data: [{ code: "input_file_missing" }] } });
		expect((await results(client, batch.output_file_id)).size).toBe(1);
	});

	it("D57: it goes with its endpoint", async () => {
		const { id } = await created(client, [line("a")]);
		await call(service.url, "/v1/endpoints/more", { method: "PUT", body: {} });
		const more = clientOf(service, "more");
		const other = await created(more, [line("a")]);
		await call(service.url, "/v1/endpoints/more", { method: "DELETE" });
		const { batches } = service.engine.kernel.store;
		await advanceUntil(clock, async () => (await batches.open({ limit: 10 })).length === 1, 1000);
		await expect(more.batches.retrieve(other.id)).rejects.toThrow("There is no endpoint 'more'");
		expect((await client.batches.retrieve(id)).id).toBe(id);
	});
});

describe("a service that starts again", () => {
	it("D57: goes on where it was, and runs no request twice", async () => {
		const id = await waiting(10);
		const job = await taken();
		await worker.done(job.id, completion(job));
		// The row says at least every 2 s what waits and runs.
		await clock.advance(4000);
		await endWith(service, clock);
		await begin();
		const seen = new Set([job.id]);
		for (let left = 9; left > 0; left -= 1) {
			const next = await taken();
			expect(seen.has(next.id)).toBe(false);
			seen.add(next.id);
			await worker.done(next.id, completion(next));
		}
		const batch = await end(id);
		expect(batch).toMatchObject({ status: "completed", request_counts: { total: 10, completed: 10, failed: 0 } });
		expect([...(await results(client, batch.output_file_id)).keys()].toSorted()).toEqual(ids(10).toSorted());
	});

	/** A cancelled batch of 10 requests, two of which have ended. The service ends without having noted any job. */
	async function stoppedAndCancelled(): Promise<string> {
		const id = await waiting(10);
		const { batches } = service.engine.kernel.store;
		batches.replace = async () => Promise.reject(new StoreUnavailable("unreachable", "The service was killed."));
		for (const _ of [1, 2]) {
			const job = await taken();
			await worker.done(job.id, completion(job));
		}
		await batches.cancel({ endpoint: "ep", id, now: clock.now() });
		await endWith(service, clock);
		return id;
	}
	const TWO_OF_TEN = { status: "cancelled", request_counts: { total: 10, completed: 2, failed: 8 } };

	it("D57: cancels also what its row does not know of yet, and keeps the answers to it", async () => {
		const id = await stoppedAndCancelled();
		await begin();
		expect(await end(id)).toMatchObject(TWO_OF_TEN);
		expect((await call(service.url, "/v2/ep/health")).json.jobs.inQueue).toBe(0);
	});

	it("D43, D57: keeps those answers although the store takes no new requests", async () => {
		const id = await stoppedAndCancelled();
		const { promise: full, resolve: go } = Promise.withResolvers<void>();
		await begin(full);
		const { stored } = service.engine.budgets;
		stored.hold(stored.limit - stored.used);
		go();
		expect(await end(id)).toMatchObject(TWO_OF_TEN);
	});
});
