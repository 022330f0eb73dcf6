/**
 * When launched workers start and go: both scalers, low priority, the init timeout, sick workers, a
 * lowered maximum (D20, D27, D28). Real processes that do nothing; the test calls for them, on a
 * clock of its own.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { advanceUntil } from "../../support/manual-clock.ts";
import { bench, type Bench } from "../../support/sdk-worker-bench.ts";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";

const LAUNCHED = { launcher: { type: "process", command: ["sleep", "300"] }, stopGraceMs: 0 };

let b: Bench;
beforeAll(async () => {
	b = await bench();
});
afterAll(() => b?.end());

/** Launched workers of the endpoint that are not on their way out, the oldest first. */
function present(): Worker[] {
	return [...b.service.engine.workers.of(b.ep)].filter(({ draining }) => !draining);
}

/** Resolves when so many are there, with next to no time passing. */
async function counted(workers: number): Promise<Worker[]> {
	// Checks are paced: after many the next one takes time.
	await advanceUntil(
		b.clock,
		async () => {
			await b.service.engine.ready();
			return present().length === workers;
		},
		1,
	);
	return present();
}

/** What comes while time passes. */
async function soon<T>(promise: Promise<T>): Promise<T> {
	let over = false;
	const watched = promise.finally(() => (over = true));
	while (!over) await b.pass(50);
	return await watched;
}

/** The first call of each. */
function call(...workers: readonly Worker[]): void {
	for (const { id, endpoint } of workers) b.service.engine.workers.recordCall({ id, endpoint });
}

/** Has the worker take a job, which must be there. */
async function takes(worker: Worker): Promise<string> {
	call(worker);
	const jobs = await b.reached(
		b.service.engine.jobs.take({
			worker,
			limit: 1,
			idle: false,
			signal: new AbortController().signal,
		}),
	);
	expect(jobs).toHaveLength(1);
	return jobs[0]!.id;
}

const reports = (worker: Worker, id: string, restart = false): Promise<void> =>
	b.service.engine.jobs.report({ worker, id, report: { kind: "end", on: "complete", restart } });
const failsToStart = (worker: Worker, id: string, event: string): Promise<void> => {
	const error = JSON.stringify({ event, error_type: "OSError", error_message: "no such model" });
	return b.service.engine.jobs.report({ worker, id, report: { kind: "end", on: "fail", error, restart: false } });
};
const ping = (worker: Worker, said: object = {}): Promise<void> =>
	b.service.engine.jobs.ping({ worker, said: { named: [...worker.held.keys()], ...said } });
const reason = async (id: string): Promise<{ code: string; message: string }> =>
	(await b.service.engine.jobs.details({ endpoint: b.ep, id })).reason!;

describe("the number of workers", () => {
	it("D27: QUEUE_DELAY: the first at once, one more each time the oldest job waited over scalerValue s", async () => {
		await b.fresh({ ...LAUNCHED, scalerValue: 4, workersMax: 3 });
		for (let n = 0; n < 5; n += 1) await b.submit();
		await counted(1);
		await b.pass(4000);
		expect(present(), "after 4 s").toHaveLength(1);
		await b.pass(500);
		await counted(2);
		await b.pass(3500);
		expect(present(), "4 s after that start at most").toHaveLength(2);
		await b.pass(1500);
		await counted(3);
		await b.pass(20_000);
		expect(present(), "workersMax").toHaveLength(3);
	});

	it("D27: QUEUE_DELAY: one on its way for each waiting job is enough, however slowly it starts", async () => {
		await b.fresh({ ...LAUNCHED, scalerValue: 1, workersMax: 3 });
		await b.submit();
		await counted(1);
		await b.pass(10_000);
		expect(present()).toHaveLength(1);
	});

	it("D27: REQUEST_COUNT: one for each scalerValue jobs at once, those at work included", async () => {
		await b.fresh({ ...LAUNCHED, scalerType: "REQUEST_COUNT", scalerValue: 2, workersMax: 5 });
		for (let n = 0; n < 3; n += 1) await b.submit();
		await b.pass(1000);
		const [first] = await counted(2);
		await takes(first!);
		await b.pass(1000);
		expect(present()).toHaveLength(2);
		for (let n = 0; n < 2; n += 1) await b.submit();
		await b.pass(1000);
		await counted(3);
	});

	it("D20, D29: a low-priority job starts none and says so; it counts for none while it runs", async () => {
		await b.fresh({ ...LAUNCHED, scalerType: "REQUEST_COUNT", scalerValue: 1, workersMax: 3 });
		const low = await b.submit({ input: {}, policy: { lowPriority: true } });
		const lower = await b.submit({ input: {}, policy: { lowPriority: true } });
		await b.pass(15_000);
		expect(present()).toEqual([]);
		expect(await reason(low)).toEqual({
			code: "low_priority",
			message: expect.stringMatching(/^Jobs of low priority start no workers.*\.$/),
		});
		const other = await b.submit();
		const [worker] = await counted(1);
		expect(await takes(worker!)).toBe(other);
		await reports(worker!, other);
		expect([await takes(worker!), await takes(worker!)]).toEqual([low, lower]);
		await b.pass(2000);
		await ping(worker!);
		await b.pass(2000);
		expect(present()).toHaveLength(1);
		await b.submit();
		await counted(2);
	});

	it("D27: while one works, one idle worker stays warm; without work all go after idleTimeout", async () => {
		await b.fresh({ ...LAUNCHED, scalerType: "REQUEST_COUNT", scalerValue: 1, idleTimeout: 3 });
		for (let n = 0; n < 3; n += 1) await b.submit();
		await b.pass(1000);
		const workers = await counted(3);
		const jobs = [await takes(workers[0]!), await takes(workers[1]!), await takes(workers[2]!)];
		await reports(workers[1]!, jobs[1]!);
		await b.pass(1000);
		await reports(workers[2]!, jobs[2]!);
		await b.pass(1500);
		expect(present(), "idle for less than 3 s").toHaveLength(3);
		await b.pass(1500);
		expect(
			(await counted(2)).map(({ id }) => id),
			"the longest idle one went",
		).toEqual([workers[0]!.id, workers[2]!.id]);
		for (let n = 0; n < 4; n += 1) {
			await b.pass(4000);
			await ping(workers[0]!);
		}
		expect(present()).toHaveLength(2);
		await reports(workers[0]!, jobs[0]!);
		await b.pass(4000);
		await counted(0);
	});

	it("D28: above a lowered workersMax idle ones go at once and busy ones after their job", async () => {
		await b.fresh({
			...LAUNCHED,
			scalerType: "REQUEST_COUNT",
			scalerValue: 1,
			idleTimeout: 3600,
			workersMax: 3,
		});
		for (let n = 0; n < 3; n += 1) await b.submit();
		await b.pass(1000);
		const workers = await counted(3);
		const jobs = [await takes(workers[0]!), await takes(workers[1]!)];
		call(workers[2]!);
		await b.service.engine.jobs.cancel({
			endpoint: b.ep,
			id: (
				await b.service.engine.jobs.list({
					endpoint: b.ep,
					filter: { states: ["IN_QUEUE"] },
					erased: false,
					cursor: undefined,
					limit: 1,
				})
			).jobs[0]!.job.id,
		});
		await b.service.engine.endpoints.update(b.ep, { workersMax: 1 });
		expect((await counted(2)).map(({ id }) => id)).toEqual([workers[0]!.id, workers[1]!.id]);
		await b.pass(3000);
		expect(present(), "busy ones stay").toHaveLength(2);
		await reports(workers[0]!, jobs[0]!);
		await b.pass(1000);
		expect((await counted(1)).map(({ id }) => id)).toEqual([workers[1]!.id]);
		await b.pass(3000);
		expect(present()).toHaveLength(1);
		expect(await b.status(jobs[0]!)).toMatchObject({ status: "COMPLETED" });
	});
});

describe("a worker that never calls", () => {
	it("D28, D29: is ended after initTimeoutMs, counts as crashed, and the reason says why", async () => {
		await b.fresh({ ...LAUNCHED, initTimeoutMs: 5000, workersMax: 1 });
		const id = await b.submit();
		const [worker] = await counted(1);
		await b.pass(4500);
		expect(await reason(id)).toMatchObject({
			code: "worker_starting",
			message: expect.stringContaining(worker!.id),
		});
		expect(await soon(b.next("worker.exited"))).toMatchObject({
			worker: worker!.id,
			signal: "SIGKILL",
		});
		expect(b.of("worker.failed")).toMatchObject([{ reason: expect.stringContaining("initTimeoutMs"), retryMs: 1000 }]);
		expect(await reason(id)).toMatchObject({
			code: "workers_crashing",
			message: expect.stringContaining("within 5000 ms"),
		});
		await b.pass(2000);
		const [next] = await counted(1);
		expect(next!.id).not.toBe(worker!.id);
		call(next!);
		await b.pass(20_000);
		expect(b.of("worker.failed"), "one that has called is left alone").toHaveLength(1);
	});
});

describe("a sick worker", () => {
	it("D28: that pings status=unhealthy is replaced after a pause, as one that crashed", async () => {
		await b.fresh({ ...LAUNCHED, workersMin: 1 });
		await b.pass(1000);
		const [worker] = await counted(1);
		const exited = b.next("worker.exited");
		call(worker!);
		await ping(worker!, { unhealthy: "disk: full" });
		await b.pass(500);
		expect(await soon(exited)).toMatchObject({ worker: worker!.id });
		expect(b.of("worker.failed")).toMatchObject([{ reason: expect.stringContaining("disk: full"), retryMs: 1000 }]);
		await b.pass(2000);
		expect((await counted(1))[0]!.id).not.toBe(worker!.id);
	});

	it("B.5, D28: whose start fails after it took a job returns it and counts as crashed, however often", async () => {
		await b.fresh({ ...LAUNCHED, workersMax: 1, env: { TOKEN: "such model" } });
		const id = await b.submit();
		for (let tries = 1; tries <= 5; tries += 1) {
			const [worker] = await counted(1);
			expect(await takes(worker!)).toBe(id);
			const exited = b.next("worker.exited");
			await failsToStart(worker!, id, "prestart_failed");
			expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE" });
			expect(await reason(id)).toMatchObject({
				code: "workers_crashing",
				message: expect.stringContaining("its start failed: OSError: no [TOKEN]"),
			});
			await soon(exited);
			expect(b.of("worker.failed")).toHaveLength(tries);
			await b.pass(20_000);
		}
		const { attempts, job } = await b.service.engine.jobs.details({ endpoint: b.ep, id });
		expect(attempts.map(({ end, workerEnd }) => ({ end, workerEnd }))).toEqual(
			Array.from({ length: 5 }, () => ({ end: "released", workerEnd: "its start failed: OSError: no [TOKEN]" })),
		);
		expect(job.losses).toBe(0);
		const [last] = await counted(1);
		expect(await takes(last!)).toBe(id);
		await reports(last!, id);
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED" });
	});

	it.each([true, false])(
		"B.5: whose start is cancelled returns its job; no crash if it was stopped: %s",
		async (stops) => {
			await b.fresh({ ...LAUNCHED, workersMax: 1 });
			const id = await b.submit();
			const [worker] = await counted(1);
			expect(await takes(worker!)).toBe(id);
			if (stops) b.service.engine.workers.launcher.retire(worker!, "a test");
			await failsToStart(worker!, id, "prestart_cancelled");
			expect(await b.status(id)).toMatchObject({ status: "IN_QUEUE" });
			expect(worker!.draining).toBe(true);
			expect(b.of("worker.failed")).toHaveLength(stops ? 0 : 1);
		},
	);

	it("B.5, D15: a job that only failing starts take ends at the ttl of its submission", async () => {
		await b.fresh({ ...LAUNCHED, workersMax: 1 });
		const id = await b.submit({ input: {}, policy: { ttl: 20_000 } });
		for (let tries = 0; tries < 20 && (await b.status(id)).status === "IN_QUEUE"; tries += 1) {
			const [worker] = present();
			if (worker && !worker.draining) {
				call(worker);
				const taken = b.service.engine.jobs.take({ worker, limit: 1, idle: false, signal: AbortSignal.timeout(1000) });
				if ((await b.reached(taken)).length > 0) await failsToStart(worker, id, "prestart_failed");
			}
			await b.pass(2000);
		}
		expect(await b.status(id)).toMatchObject({ status: "TIMED_OUT" });
		expect(b.of("job.returned").length).toBeLessThan(6);
	});

	it.each<[title: string, settings: object, began: (worker: Worker) => Promise<unknown>]>([
		["an external worker", { launcher: { type: "external" } }, async () => {}],
		[
			"a worker that has settled a job",
			LAUNCHED,
			async (worker) => {
				await b.submit();
				await reports(worker, await takes(worker));
			},
		],
		[
			"an attempt with progress",
			LAUNCHED,
			async (worker) =>
				await b.service.engine.jobs.report({
					worker,
					id: [...worker.held.keys()][0]!,
					report: { kind: "progress", value: "1" },
				}),
		],
		[
			"an attempt with chunks",
			LAUNCHED,
			async (worker) =>
				await b.service.engine.jobs.addChunks({
					worker,
					id: [...worker.held.keys()][0]!,
					pieces: ["1"],
					number: 0,
					count: 1,
				}),
		],
	])("B.5: %s: an error that says that the start failed is the job's own", async (_, settings, began) => {
		await b.fresh({ ...settings, workersMax: 1 });
		const id = await b.submit();
		const isExternal = settings !== LAUNCHED;
		const [worker] = isExternal
			? [b.service.engine.workers.recordCall({ id: "own", endpoint: b.ep })]
			: await counted(1);
		expect(await takes(worker!)).toBe(id);
		await began(worker!);
		await failsToStart(worker!, id, "prestart_failed");
		expect(await b.status(id)).toMatchObject({ status: "FAILED", error: expect.stringContaining("prestart_failed") });
		expect(worker).toMatchObject({ draining: false, unhealthy: false });
	});

	it("D28: that says so at work gets no more jobs and is stopped after what it holds", async () => {
		await b.fresh({ ...LAUNCHED, workersMax: 1 });
		const id = await b.submit();
		const [worker] = await counted(1);
		await takes(worker!);
		await ping(worker!, { unhealthy: "gpu: lost" });
		const next = await b.submit();
		await b.pass(3000);
		expect(b.of("worker.exited")).toEqual([]);
		const refused = b.service.engine.jobs.take({
			worker: worker!,
			limit: 1,
			idle: false,
			signal: new AbortController().signal,
		});
		await expect(b.reached(refused)).rejects.toMatchObject({ code: "draining" });
		const exited = b.next("worker.exited");
		await reports(worker!, id);
		expect(await b.status(id)).toMatchObject({ status: "COMPLETED" });
		await b.pass(1500);
		await soon(exited);
		await b.pass(1500);
		const [fresh] = await counted(1);
		expect(await takes(fresh!)).toBe(next);
	});

	it("D28: that asks with stopPod to be restarted keeps its other jobs; that is no crash", async () => {
		await b.fresh({ ...LAUNCHED, workersMin: 1, workersMax: 1 });
		await b.submit();
		await b.submit();
		const [worker] = await counted(1);
		const [one, two] = [await takes(worker!), await takes(worker!)];
		const exited = b.next("worker.exited");
		await reports(worker!, one, true);
		await b.pass(3000);
		expect(b.of("worker.exited")).toEqual([]);
		await reports(worker!, two);
		await b.pass(1500);
		expect(await soon(exited)).toMatchObject({ worker: worker!.id });
		await b.pass(1000);
		expect((await counted(1))[0]!.id).not.toBe(worker!.id);
		expect(b.of("worker.failed")).toEqual([]);
		for (const id of [one, two]) expect(await b.status(id)).toMatchObject({ status: "COMPLETED" });
	});
});
