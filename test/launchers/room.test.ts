/** Workers make room for one that its platform cannot place (D28). */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { MIN_STAY_MS, TURN_MS } from "../../src/modules/gpus/placement/eviction.ts";
import type { LauncherDefinition } from "../../src/kernel/launchers/definition.ts";
import type * as Registry from "../../src/kernel/launchers/index.ts";
import { advanceUntil, manualClock } from "../support/manual-clock.ts";
import { endWith } from "../spec/hand-worker.ts";
import { wantWorkers } from "../spec/wanted-workers.ts";
import { call, startService, type TestService } from "../support/service.ts";
import { announce, platform, state } from "./pretend/launcher.ts";

vi.mock("../../src/kernel/launchers/index.ts", async (original) => {
	const registry = await original<typeof Registry>();
	const { PRETEND } = await import("./pretend/index.ts");
	(registry.LAUNCHERS as LauncherDefinition[]).push(PRETEND);
	return registry;
});

/** The scheduler of a platform gets this time before workers are stopped, ms. */
const SCHEDULER_MS = 5000;

const clock = manualClock();
let service: TestService;
let stopped: { worker: string; why: string; at: number }[] = [];
beforeAll(async () => {
	const settings = (partition: string, rest: object = {}): object => ({
		launcher: { type: "pretend", partition },
		gpusPerWorker: 1,
		idleTimeout: 3600,
		...rest,
	});
	service = await startService({
		endpoints: {
			first: settings("gpu"),
			second: settings("gpu"),
			busy: settings("gpu"),
			kept: settings("gpu", { workersMin: 1 }),
			elsewhere: settings("other"),
			cpu: settings("gpu", { gpusPerWorker: 0 }),
			seeker: settings("gpu"),
			greedy: settings("few", { scalerType: "REQUEST_COUNT", scalerValue: 1 }),
			owner: settings("few", { scalerType: "REQUEST_COUNT", scalerValue: 1 }),
			modest: settings("few"),
			others: settings("many"),
			night: settings("days", { priority: "high" }),
			dusk: settings("days", { priority: "high" }),
			day: settings("days"),
			changed: settings("own", { workersMin: 1, workersMax: 1, gpusPerWorker: 0 }),
		},
		clock,
	});
	service.events.on("worker.stopping", ({ worker, why }) => stopped.push({ worker, why, at: clock.now() }));
});
afterAll(async () => {
	await endWith(service, clock);
	for (const { worker } of platform.values()) await worker?.kill();
});

const get = async (path: string): Promise<any> => (await call(service.url, path)).json;

/** Submits a job and answers its id and the worker that is started for it. */
async function launched(endpoint: string, input: unknown = {}): Promise<{ worker: string; id: string }> {
	const event = service.next("worker.launched", (facts) => facts.endpoint === endpoint);
	const { id } = (await call(service.url, `/v2/${endpoint}/run`, { body: { input } })).json;
	await clock.advance(1000);
	return { ...(await event), id };
}

const completed = (endpoint: string, id: string): Promise<void> =>
	advanceUntil(clock, async () => (await get(`/v2/${endpoint}/status/${id}`)).status === "COMPLETED", 100);

it("D28: the longest idle worker of the same GPUs ends for a job that waits, and no other one", async () => {
	const ready = new Map<string, string>();
	for (const endpoint of ["elsewhere", "cpu", "first", "second"]) {
		const { worker, id } = await launched(endpoint);
		await completed(endpoint, id);
		ready.set(endpoint, worker);
	}
	await launched("busy", { holdMs: 600_000 });
	await advanceUntil(clock, async () => (await get("/v1/endpoints/kept/workers")).workers[0]?.state === "idle", 500);
	await clock.advance(MIN_STAY_MS);
	stopped = [];

	state.queueing = true;
	const { worker, id } = await launched("seeker");
	const began = clock.now();
	announce.notice({ workerId: worker, state: "waiting", code: "queued", message: "Resources." });
	await advanceUntil(clock, () => stopped.length > 0, 100);
	expect(clock.now() - began).toBeGreaterThanOrEqual(SCHEDULER_MS - 1000);
	expect(stopped).toMatchObject([{ worker: ready.get("first"), why: "it is idle and makes room for endpoint seeker" }]);
	expect((await get(`/v1/endpoints/seeker/jobs/${id}`)).reason.message).toMatch(
		new RegExp(`Stopped to make room: ${ready.get("first")} \\(idle for [1-5]\\d s, on .+\\)\\.$`),
	);
	// While its scheduler takes its time no other worker is stopped.
	await clock.advance(30_000);
	expect(stopped).toHaveLength(1);
	announce.notice({ workerId: worker, state: "running" });
	const placedAt = clock.now();
	announce.run(worker);
	await completed("seeker", id);
	const iso = (ms: number): string => new Date(ms).toISOString();
	const [{ room }] = (await get("/v1/endpoints/seeker/workers")).workers;
	expect(room).toEqual({ since: iso(stopped[0]!.at), until: iso(placedAt) });
	expect((await get("/v1/endpoints/kept/workers")).workers).toHaveLength(1);
	expect(stopped).toHaveLength(1);
});

it("D28, D57: low-priority jobs make room for any other, and a waiting worker that no job needs goes", async () => {
	const wanted = wantWorkers(service);
	const started = async (endpoint: string): Promise<string> => {
		const event = service.next("worker.launched", (facts) => facts.endpoint === endpoint);
		wanted.set(endpoint, 1);
		await clock.advance(1000);
		return (await event).worker;
	};
	const waits = (workerId: string): void =>
		announce.notice({ workerId, state: "waiting", code: "queued", message: "Resources." });
	state.queueing = false;
	const low = { input: { holdMs: TURN_MS }, policy: { lowPriority: true } };
	await call(service.url, "/v2/night/run", { body: low });
	const night = await started("night");
	state.queueing = true;
	const dusk = await started("dusk");
	waits(dusk);
	stopped = [];
	const began = clock.now();
	waits((await launched("day")).worker);
	await advanceUntil(clock, () => stopped.length > 0, 500);
	expect(stopped).toMatchObject([{ worker: dusk, why: "it does not run yet, and room is made for endpoint day" }]);
	expect(clock.now() - began, "within the turn").toBeLessThan(TURN_MS / 2);
	await advanceUntil(clock, () => stopped.length > 1, 500);
	expect(stopped[1]).toMatchObject({ worker: night, why: "it makes room for endpoint day" });
});

it("D28: room is made for the endpoint that waits without a GPU: others give up their waiting workers", async () => {
	const waiting = async (endpoint: string): Promise<string> => {
		const { worker } = await launched(endpoint);
		announce.notice({ workerId: worker, state: "waiting", code: "queued", message: "Resources." });
		return worker;
	};
	state.queueing = false;
	await launched("greedy", { holdMs: TURN_MS + 30_000 });
	await clock.advance(20_000);
	await launched("owner", { holdMs: 600_000 });
	state.queueing = true;
	const before = [await waiting("owner"), await waiting("greedy")];
	await waiting("others");
	const late = await waiting("modest");
	stopped = [];
	const started: string[] = [];
	const remove = service.events.on("worker.launched", ({ endpoint }) => started.push(endpoint));
	await advanceUntil(clock, () => stopped.length > 0, 1000);
	const why = "it does not run yet, and room is made for endpoint modest";
	expect(stopped).toMatchObject(before.map((worker) => ({ worker, why })));
	await clock.advance(1000);
	for (const endpoint of ["greedy", "owner"])
		expect((await get(`/v1/endpoints/${endpoint}`)).reason).toEqual({
			code: "no_gpu_free",
			message: "What becomes free is kept for endpoint modest.",
		});
	await advanceUntil(clock, () => stopped.length > 2, 1000);
	expect(stopped[2]).toMatchObject({ why: "it makes room for endpoint modest" });
	await clock.advance(30_000);
	expect(started).toEqual([]);
	announce.notice({ workerId: late, state: "running" });
	await advanceUntil(clock, () => started.length > 1, 1000);
	expect(started.toSorted()).toEqual(["greedy", "owner"]);
	remove();
});

it("D50: an old worker makes place for one that waits in its queue, and none for one that no node fits", async () => {
	state.queueing = false;
	await advanceUntil(
		clock,
		async () => (await get("/v1/endpoints/changed/releases")).releases[0].state === "healthy",
		500,
	);
	state.queueing = true;
	stopped = [];
	const change = async (partition: string): Promise<string> => {
		const event = service.next("worker.launched", (facts) => facts.endpoint === "changed");
		await call(service.url, "/v1/endpoints/changed", { method: "PATCH", body: { launcher: { partition } } });
		await clock.advance(1000);
		return (await event).worker;
	};
	const misplaced = await change("none");
	const message = "No node fits its selector.";
	announce.notice({ workerId: misplaced, state: "waiting", code: "unschedulable", message });
	const waited = service.next("worker.stopping", ({ worker }) => worker === misplaced);
	await clock.advance(30_000);
	expect(stopped).toEqual([]);
	const queued = await change("other");
	await waited;
	stopped = [];
	announce.notice({ workerId: queued, state: "waiting", code: "queued", message: "Resources." });
	await advanceUntil(clock, () => stopped.length > 0, 500);
	expect(stopped).toMatchObject([{ why: "its endpoint has another launcher or environment now" }]);
});
