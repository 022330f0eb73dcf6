/** What a platform says about its workers, as the engine acts on it and shows it (D28, D29). */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { LauncherDefinition } from "../../src/kernel/launchers/definition.ts";
import type * as Registry from "../../src/kernel/launchers/index.ts";
import type { Exit } from "../../src/kernel/launchers/launcher.ts";
import { advanceUntil, manualClock } from "../support/manual-clock.ts";
import { endWith } from "../spec/hand-worker.ts";
import { call, startService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { calls, platform, state, announce } from "./pretend/launcher.ts";

vi.mock("../../src/kernel/launchers/index.ts", async (original) => {
	const registry = await original<typeof Registry>();
	const { PRETEND } = await import("./pretend/index.ts");
	(registry.LAUNCHERS as LauncherDefinition[]).push(PRETEND);
	return registry;
});

const ENDPOINTS = ["wait", "late", "going", "evicted", "hungry", "stuck", "busy", "silent"];
const clock = manualClock();
let service: TestService;
beforeAll(async () => {
	const settings = {
		launcher: { type: "pretend", partition: "gpu" },
		idleTimeout: 3600,
		initTimeoutMs: 10_000,
		executionTimeoutMs: 3_600_000,
	};
	service = await startService({
		endpoints: {
			...Object.fromEntries(ENDPOINTS.map((id) => [id, settings])),
			unneeded: { ...settings, idleTimeout: 5 },
			surplus: { ...settings, idleTimeout: 5, workersMax: 1 },
			looping: { ...settings, initTimeoutMs: 3_600_000 },
		},
		clock,
	});
});
beforeEach(() => void (state.queueing = false));
afterAll(async () => {
	await endWith(service, clock);
	for (const { worker } of platform.values()) await worker?.kill();
});

const get = async (path: string): Promise<any> => (await call(service.url, path)).json;
const endpointReason = async (id: string): Promise<unknown> => (await get(`/v1/endpoints/${id}`)).reason;
const workers = async (id: string): Promise<any[]> => (await get(`/v1/endpoints/${id}/workers`)).workers;
/** Submits a job; answers its id. */
const submit = async (endpoint: string, input: unknown = {}): Promise<string> =>
	(await call(service.url, `/v2/${endpoint}/run`, { body: { input } })).json.id;
const completed = (endpoint: string, id: string): Promise<unknown> =>
	until("the job completes", async () => {
		await clock.advance(100);
		return (await get(`/v2/${endpoint}/status/${id}`)).status === "COMPLETED";
	});
/** Submits a job and answers the worker that is started for it. */
async function launched(endpoint: string, input?: unknown): Promise<{ worker: string; id: string }> {
	const event = service.next("worker.launched", (facts) => facts.endpoint === endpoint);
	const id = await submit(endpoint, input);
	return { ...(await event), id };
}

describe("a worker that waits", () => {
	it("D29: is shown with the platform's reason until it runs", async () => {
		state.queueing = true;
		const { worker, id } = await launched("wait");
		const said = service.next("worker.waiting");
		const reason = { code: "image_pull", message: "Pulling image a:1.", progress: 43 } as const;
		announce.notice({ workerId: worker, state: "waiting", ...reason });
		expect(await said).toEqual({
			endpoint: "wait",
			worker,
			reason: "image_pull",
			message: reason.message,
		});
		expect(await endpointReason("wait")).toEqual(reason);
		expect(await workers("wait")).toMatchObject([{ id: worker, state: "initializing", reason }]);
		expect((await get(`/v1/endpoints/wait/jobs/${id}`)).reason).toEqual({
			code: "worker_starting",
			message: `Worker ${worker} does not run yet: Pulling image a:1, 43 %.`,
			since: expect.any(String),
		});
		announce.notice({ workerId: worker, state: "running" });
		announce.run(worker);
		await completed("wait", id);
		expect(await endpointReason("wait")).toBeUndefined();
		expect((await workers("wait"))[0]).not.toHaveProperty("reason");
	});

	it("D28: its wait is not start time, what follows is", async () => {
		state.queueing = true;
		const { worker } = await launched("late");
		const stops: string[] = [];
		service.events.on("worker.stopping", (facts) => {
			if (facts.worker === worker) stops.push(facts.why);
		});
		announce.notice({ workerId: worker, state: "waiting", code: "queued", message: "Priority." });
		for (let ms = 0; ms < 60_000; ms += 1000) {
			await clock.advance(1000);
			// Lets the store answer: each step of scaling counts the queue.
			expect(await endpointReason("late")).toMatchObject({ code: "queued" });
		}
		expect(stops).toEqual([]);
		announce.notice({ workerId: worker, state: "running" });
		const runs = clock.now();
		await advanceUntil(clock, () => stops.length > 0, 100);
		expect(clock.now() - runs).toBeGreaterThanOrEqual(10_000);
		expect(stops).toEqual([expect.stringContaining("initTimeoutMs")]);
		expect(await endpointReason("late")).toMatchObject({ code: "init_timeout" });
	});

	it("D28: is stopped when its job is cancelled meanwhile", async () => {
		state.queueing = true;
		const { worker, id } = await launched("unneeded");
		announce.notice({ workerId: worker, state: "waiting", code: "queued", message: "Priority." });
		const stopped = service.next("worker.stopping", (facts) => facts.worker === worker);
		await call(service.url, `/v2/unneeded/cancel/${id}`, { method: "POST" });
		await advanceUntil(clock, () => calls.includes(`stop ${worker}`), 500);
		expect(await stopped).toMatchObject({ why: "it does not run yet, and no job waits for it" });
	});
});

describe("a worker that its platform will end", () => {
	it("D28: gets no more jobs, is replaced, and its end is no crash", async () => {
		const { worker, id } = await launched("going");
		await completed("going", id);
		const failed = vi.fn<() => void>();
		service.events.on("worker.failed", ({ endpoint }) => endpoint === "going" && failed());
		const exited = service.next("worker.exited", (facts) => facts.worker === worker);
		const next = service.next("worker.launched", ({ endpoint }) => endpoint === "going");
		announce.notice({
			workerId: worker,
			state: "ending",
			code: "node_drained",
			message: "Its node is drained",
		});
		const second = await submit("going");
		await clock.advance(1000);
		expect(await exited).toMatchObject({ code: 0 });
		await completed("going", second);
		expect((await next).worker).not.toBe(worker);
		expect(failed).not.toHaveBeenCalled();
	});
});

describe("an exit with the platform's reason", () => {
	it("D28: one that is not the worker's doing delays no start, and is shown", async () => {
		state.queueing = true;
		const { worker, id } = await launched("evicted");
		const failed = vi.fn<() => void>();
		service.events.on("worker.failed", failed);
		const next = service.next("worker.launched", ({ endpoint }) => endpoint === "evicted");
		state.queueing = false;
		announce.exit({
			workerId: worker,
			lastOutput: "",
			reason: { code: "evicted", message: "The node was low on memory.", crash: false },
		});
		await next;
		expect(failed).not.toHaveBeenCalled();
		expect(await endpointReason("evicted")).toEqual({
			code: "evicted",
			message: "The node was low on memory.",
		});
		await completed("evicted", id);
	});

	it("D29: a crash is shown with its code while starts are delayed", async () => {
		state.queueing = true;
		const { worker, id } = await launched("hungry");
		const failed = service.next("worker.failed", ({ endpoint }) => endpoint === "hungry");
		announce.exit({
			workerId: worker,
			code: 137,
			lastOutput: "",
			reason: { code: "out_of_memory", message: "it used more than 64Mi", crash: true },
		});
		expect(await failed).toMatchObject({ reason: "it used more than 64Mi" });
		expect(await endpointReason("hungry")).toEqual({
			code: "out_of_memory",
			message: "It used more than 64Mi.",
			retryAt: expect.stringMatching(/Z$/),
		});
		expect((await get(`/v1/endpoints/hungry/jobs/${id}`)).reason).toMatchObject({
			code: "workers_crashing",
			message: "Workers exit before taking a job: it used more than 64Mi.",
			worker: { id: worker, exitCode: 137, code: "out_of_memory" },
		});
	});
});

it("D28: a worker whose platform did not respond to its stop is stopped later", async () => {
	const { worker, id } = await launched("stuck");
	await completed("stuck", id);
	const failed = service.next("fault");
	state.reachable = false;
	await call(service.url, `/v1/endpoints/stuck/workers/${worker}/stop`, { method: "POST" });
	await advanceUntil(clock, () => calls.includes(`stop ${worker}`), 500);
	expect(await failed).toMatchObject({ where: `stopping ${worker}` });
	const exited = service.next("worker.exited", (facts) => facts.worker === worker);
	state.reachable = true;
	let isOver = false;
	void exited.then(() => (isOver = true));
	await advanceUntil(clock, () => isOver, 500);
	expect(await workers("stuck")).toEqual([]);
});

it("D28: a stop for idleness that its platform does not answer is withdrawn, and the worker takes a job", async () => {
	const { worker, id } = await launched("surplus");
	await completed("surplus", id);
	state.reachable = false;
	await advanceUntil(clock, () => calls.includes(`stop ${worker}`), 500);
	await advanceUntil(clock, async () => (await workers("surplus"))[0]?.state === "idle", 500);
	const next = await submit("surplus");
	await completed("surplus", next);
	expect((await get(`/v2/surplus/status/${next}`)).workerId).toBe(worker);
	state.reachable = true;
	await advanceUntil(clock, async () => (await workers("surplus")).length === 0, 500);
});

it("D28, D29: starts that the platform does not answer are tried every 2 s, and are no crashes", async () => {
	const failed: number[] = [];
	const remove = service.events.on("worker.failed", ({ endpoint, retryMs }) => {
		if (endpoint === "silent") failed.push(retryMs);
	});
	state.reachable = false;
	const id = await submit("silent");
	await advanceUntil(clock, () => failed.length > 0, 500);
	for (let seconds = 0; seconds < 60; seconds += 1) await clock.advance(1000);
	expect(failed, "reported once").toEqual([2000]);
	expect(await endpointReason("silent")).toMatchObject({
		code: "start_failed",
		message: "The pretend platform does not answer.",
	});
	expect((await get(`/v1/endpoints/silent/jobs/${id}`)).reason.message).toMatch(/^No worker could be started: /);
	expect((await get("/v1/endpoints/silent/workers?ended=true")).ended).toEqual([]);
	const next = service.next("worker.launched", (facts) => facts.endpoint === "silent");
	state.reachable = true;
	const began = clock.now();
	let isOver = false;
	void next.then(() => (isOver = true));
	const isStarted = async (): Promise<boolean> => {
		// The store answers in real time.
		for (let calls = 0; calls < 20 && !isOver; calls += 1) await service.engine.ready();
		return isOver;
	};
	await advanceUntil(clock, isStarted, 250);
	expect(clock.now() - began).toBeLessThanOrEqual(2500);
	await completed("silent", id);
	expect(await endpointReason("silent")).toBeUndefined();
	remove();
});

it("D28: crashes are not shown beside a worker that is ready, and are forgotten when one finishes a job", async () => {
	const ofLooping = <T extends { endpoint: string }>(keep: (facts: T) => void) => {
		return (facts: T): void => void (facts.endpoint === "looping" && keep(facts));
	};
	const pauses: number[] = [];
	const started: string[] = [];
	const ready: string[] = [];
	const remove = [
		service.events.on(
			"worker.failed",
			ofLooping(({ retryMs }) => pauses.push(retryMs)),
		),
		service.events.on(
			"worker.launched",
			ofLooping(({ worker }) => started.push(worker)),
		),
		service.events.on(
			"worker.ready",
			ofLooping(({ worker }) => ready.push(worker)),
		),
	];
	async function end(workerId: string, how: Partial<Exit>): Promise<void> {
		const exited = service.next("worker.exited", ({ worker }) => worker === workerId);
		announce.exit({ workerId, lastOutput: "", ...how });
		await exited;
	}
	state.queueing = true;
	const id = await submit("looping");
	for (let n = 0; n < 3; n += 1) {
		await advanceUntil(clock, () => started.length > n, 250);
		await end(started[n]!, { code: 3 });
	}
	expect(pauses).toEqual([1000, 2000, 4000]);
	state.queueing = false;
	await advanceUntil(clock, () => ready.length > 0, 250);
	expect(await endpointReason("looping")).toBeUndefined();
	await completed("looping", id);
	await end(ready[0]!, { reason: { code: "evicted", message: "Evicted.", crash: false } });
	state.queueing = true;
	await submit("looping");
	await advanceUntil(clock, () => started.length > 4, 250);
	await end(started[4]!, { code: 3 });
	expect(pauses.slice(3), "the pauses begin again").toEqual([1000]);
	for (const each of remove) each();
});

it("D28: the launcher learns when a worker holds a job, and when it holds none", async () => {
	const { worker, id } = await launched("busy", { holdMs: 3000 });
	await completed("busy", id);
	await clock.advance(1000);
	const seen = calls.filter((each) => each.startsWith(`setBusy ${worker}`));
	expect(seen).toEqual([`setBusy ${worker}: true`, `setBusy ${worker}: false`]);
});
