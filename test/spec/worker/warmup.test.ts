/**
 * The warm-up of launched workers (D28): a job of their own before they count as ready. The process that is launched
 * does nothing; a worker with the loops of the SDK makes the calls in its name.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { workerEnv } from "../../../src/kernel/core/workers/worker-env.ts";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";
import { call } from "../../support/service.ts";
import { bench, type Bench } from "../../support/sdk-worker-bench.ts";
import { sdkProtocol, type SdkProtocol } from "../../support/sdk-protocol.ts";
import type { SdkHandler, SdkWorker, SdkWorkerOptions } from "../../support/sdk-worker.ts";

const INPUT = { prompt: "hello", tokens: [1, null], wide: "ü" };
const WARMED = {
	launcher: { type: "process", command: ["sleep", "300"] },
	stopGraceMs: 0,
	idleTimeout: 3600,
	workersMax: 1,
	warmup: { input: INPUT },
};

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
afterAll(() => b?.end());

/** What comes while time passes. */
async function soon<T>(promise: Promise<T>): Promise<T> {
	let over = false;
	const watched = promise.finally(() => (over = true));
	while (!over) await b.pass(50);
	return await watched;
}

/** The launched worker of the endpoint, once there is one that stays. */
async function launched(): Promise<Worker> {
	for (;;) {
		const [worker] = [...b.service.engine.workers.of(b.ep)].filter(({ draining }) => !draining);
		if (worker) return worker;
		await b.pass(100);
	}
}

async function envOf({ id }: Worker): Promise<Record<string, string>> {
	const token = await b.service.engine.access.tokens.issue({ endpoint: b.ep, worker: id });
	return workerEnv({ url: b.url, endpoint: b.ep, worker: id, token, leaseMs: 20_000 });
}

async function loops(worker: Worker, options: Partial<SdkWorkerOptions> & { handler: SdkHandler }): Promise<SdkWorker> {
	return await b.sdk({ ...options, env: await envOf(worker) });
}

async function hand(worker: Worker): Promise<SdkProtocol> {
	return sdkProtocol(await envOf(worker));
}

const warmupOf = ({ id }: Worker): string => `warmup-${id}`;

/** The worker as operators see it. */
const viewed = async (): Promise<any> => (await call(b.url, `/v1/endpoints/${b.ep}/workers?ended=true`)).json;
const reason = async (id: string): Promise<any> => (await call(b.url, `/v1/endpoints/${b.ep}/jobs/${id}`)).json.reason;

describe("a launched worker with a warm-up", () => {
	it("D28: runs it first, unseen by clients, and only then counts as ready and gets the job", async () => {
		await b.fresh(WARMED);
		const id = await b.submit({ input: { real: true } });
		const worker = await launched();
		const inputs: unknown[] = [];
		let release = (): void => {};
		const held = new Promise<void>((resolve) => (release = resolve));
		const warming = b.next("worker.warming");
		const sdk = await loops(worker, {
			pingEveryMs: 0,
			handler: async function* ({ input }, { progress }) {
				inputs.push(input);
				yield "chunk";
				await progress("half");
				if (inputs.length === 1) await held;
			},
		});
		await b.reached(warming);
		expect(await b.reached(sdk.ping())).toBe(200);
		expect(sdk.held()).toEqual([warmupOf(worker)]);
		expect(worker.ready).toBe(false);
		expect(worker.held.size).toBe(0);
		expect((await viewed()).workers).toMatchObject([
			{ state: "initializing", jobs: [], reason: { code: "starting", message: "It runs its warm-up." } },
		]);
		expect(await reason(id)).toMatchObject({
			code: "worker_starting",
			message: `Worker ${worker.id} is starting: it runs its warm-up.`,
		});
		expect((await b.call("health")).json).toMatchObject({ workers: { initializing: 1, idle: 0, ready: 0 } });
		await b.pass(5000);
		expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE" });
		const settled = b.next("job.settled");
		release();
		await soon(settled);
		expect(inputs).toEqual([INPUT, { real: true }]);
		expect(sdk.began).toEqual([warmupOf(worker), id]);
		expect(sdk.errors).toEqual([]);
		const job = await b.status(id);
		expect(job).toMatchObject({ status: "COMPLETED" });
		expect(job.delayTime, "the warm-up is part of the wait").toBeGreaterThanOrEqual(5000);
		expect((await b.call("health")).json).toMatchObject({ jobs: { completed: 1, inQueue: 0, inProgress: 0 } });
		expect((await call(b.url, `/v1/endpoints/${b.ep}/jobs`)).json.jobs).toHaveLength(1);
		expect(b.of("job.started")).toHaveLength(1);
		expect(b.of("report.dropped")).toEqual([]);
		expect((await b.call(`status/${warmupOf(worker)}`)).status).toBe(404);
		expect((await viewed()).workers[0]).not.toHaveProperty("reason");
	});

	it("D28: that takes several jobs at once gets none while it warms up, and one warm-up", async () => {
		await b.fresh({ ...WARMED, warmup: { input: "text" } });
		const ids = [await b.submit(), await b.submit()];
		const worker = await launched();
		let release = (): void => {};
		const held = new Promise<void>((resolve) => (release = resolve));
		const warming = b.next("worker.warming");
		const sdk = await loops(worker, { concurrency: 3, handler: ({ id }) => (id.startsWith("warmup-") ? held : {}) });
		await b.reached(warming);
		while (worker.takes === 0) await b.pass(50);
		await b.pass(60_000);
		expect(sdk.began).toEqual([warmupOf(worker)]);
		release();
		const over = b.clock.now();
		while (b.of("job.settled").length < 2) await b.pass(50);
		expect(b.clock.now() - over, "its open poll is ended").toBeLessThan(10_000);
		expect(sdk.began.toSorted()).toEqual([...ids, warmupOf(worker)].toSorted());
	});

	it("D28: gets it again if it reports that it runs nothing, and a report of it counts once", async () => {
		await b.fresh(WARMED);
		const id = await b.submit();
		const worker = await launched();
		const protocol = await hand(worker);
		for (let n = 0; n < 2; n += 1) await b.takes(protocol, warmupOf(worker));
		expect(b.of("worker.warming"), "its log line is one").toHaveLength(1);
		const ready = b.next("worker.ready");
		for (let n = 0; n < 2; n += 1) expect((await protocol.done(warmupOf(worker), { output: n })).status).toBe(200);
		await ready;
		expect(b.of("worker.ready")).toHaveLength(1);
		await b.takes(protocol, id);
		protocol.close();
	});

	it("D28: that fails is ended with the reason, counts as crashed, and never gets a job", async () => {
		await b.fresh({ ...WARMED, env: { HF_TOKEN: "hf_verysecret", PEM: 'a "key"\nof lines' } });
		const id = await b.submit();
		for (let tries = 1; tries <= 3; tries += 1) {
			const worker = await launched();
			const exited = b.next("worker.exited");
			const sdk = await loops(worker, {
				handler: () => {
					throw new RangeError('CUDA out of memory\nwith hf_verysecret, a "key"\nof lines');
				},
			});
			expect(await soon(exited)).toMatchObject({ worker: worker.id });
			expect(sdk.began).toEqual([warmupOf(worker)]);
			expect(b.of("worker.failed")).toHaveLength(tries);
			expect(b.of("worker.ready")).toEqual([]);
			expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE" });
			expect(await reason(id)).toMatchObject({
				code: "workers_crashing",
				message: expect.stringMatching(
					/^No worker could be started: its warm-up failed: RangeError: CUDA .* with \[HF_TOKEN\], \[PEM\]\.$/,
				),
				worker: { id: worker.id },
			});
			expect((await viewed()).ended[0]).toMatchObject({
				id: worker.id,
				code: "start_failed",
				message: expect.stringContaining("its warm-up failed"),
			});
			expect((await viewed()).ended[0]).not.toHaveProperty("readyAt");
		}
		expect(b.of("worker.failed").map(({ retryMs }) => retryMs)).toEqual([1000, 2000, 4000]);
		await loops(await launched(), { handler: () => "warm" });
		const settled = b.next("job.settled");
		expect(await soon(settled)).toMatchObject({ id, state: "COMPLETED" });
	});

	it("D28: that is not done in time is ended after initTimeoutMs, which counts start and warm-up", async () => {
		await b.fresh({ ...WARMED, initTimeoutMs: 10_000 });
		const id = await b.submit();
		const worker = await launched();
		await b.pass(6000);
		const exited = b.next("worker.exited");
		const warming = b.next("worker.warming");
		await loops(worker, { handler: () => new Promise(() => {}) });
		await b.reached(warming);
		await b.pass(2000);
		expect(b.of("worker.failed")).toEqual([]);
		await soon(exited);
		expect((await reason(id)).message).toContain(
			"its warm-up was not over within 10000 ms of its start (initTimeoutMs)",
		);
	});

	it("D28, D54: that is returned has failed: no other worker may run it", async () => {
		await b.fresh(WARMED);
		const id = await b.submit();
		const worker = await launched();
		const exited = b.next("worker.exited");
		const protocol = await hand(worker);
		await b.takes(protocol, warmupOf(worker));
		const post = await protocol.done(warmupOf(worker), { return: { reason: "no model" } });
		expect(post.status).toBe(200);
		await soon(exited);
		protocol.close();
		expect((await reason(id)).message).toContain("its warm-up failed: no model");
	});

	it("D28: that restarts after each job says that it cannot be warmed up", async () => {
		await b.fresh(WARMED);
		const id = await b.submit();
		const exited = b.next("worker.exited");
		await loops(await launched(), { refresh: true, handler: () => "warm" });
		await soon(exited);
		expect((await reason(id)).message).toContain("Leave refresh_worker or the warm-up out.");
	});
});

describe("no warm-up", () => {
	it("D28: has an external worker, and one of an endpoint without its input", async () => {
		await b.fresh({ warmup: { input: INPUT } });
		const id = await b.submit();
		const external = await b.worker();
		await b.takes(external, id);
		expect((await external.done(`warmup-${external.id}`, { error: "none" })).status).toBe(200);
		expect(b.of("worker.failed")).toEqual([]);
		await b.fresh({ ...WARMED, warmup: {} });
		const other = await b.submit();
		const worker = await launched();
		expect(worker.warmup).toBeUndefined();
		const protocol = await hand(worker);
		await b.takes(protocol, other);
		protocol.close();
	});
});

it("D26: a worker that has ended is none again by a call that arrives before its token is revoked", async () => {
	await b.fresh({ ...WARMED, warmup: {}, workersMin: 1 });
	const worker = await launched();
	const protocol = await hand(worker);
	const { tokens } = b.service.engine.access;
	const others = (): string[] =>
		[...b.service.engine.workers.of(b.ep)].flatMap(({ managed, id }) => (managed ? [] : id));
	const { revoke } = tokens;
	const revoked = new Promise<string[]>((resolve) => {
		vi.spyOn(tokens, "revoke").mockImplementationOnce(async (id) => {
			expect((await protocol.ping([])).status).toBe(200);
			resolve(others());
			await revoke(id);
		});
	});
	await b.service.engine.workers.stop({ endpoint: b.ep, id: worker.id });
	expect(await soon(revoked)).toEqual([worker.id]);
	await b.pass(1000);
	expect(others()).toEqual([]);
	protocol.close();
});
