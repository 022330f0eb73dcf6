/**
 * Workers that sleep instead of being stopped (D28). Real processes, which take their GPU as a link that only one of
 * them can create; no GPU is needed.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MIN_STAY_MS, TURN_MS } from "../../../src/modules/gpus/placement/eviction.ts";
import type { DispatchedJob } from "../../../src/kernel/engine/jobs/dispatch/take.ts";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";
import { manualClock, type ManualClock } from "../../support/manual-clock.ts";
import { call, KEY, folder, type Folder, startService, type TestService } from "../../support/service.ts";
import { endWith, submitted } from "../hand-worker.ts";
import { launchedWorkers } from "../launched-workers.ts";

/** Of time that passes. */
const STEP_MS = 200;

let clock: ManualClock;
let place: Folder;
let service: TestService;
let ended: string[];
let asked: string[];

const path = (name: string): string => join(place.path, name);

const TAKE = 'ln -s "$RUNPOD_POD_ID" "$PLACE/gpu$CUDA_VISIBLE_DEVICES" 2>> "$PLACE/faults"';
const RELEASE = 'rm -f "$PLACE/gpu$CUDA_VISIBLE_DEVICES" 2>> "$PLACE/faults"';
/** Its last act where it has the GPU. */
const LEAVE = `test "$(readlink "$PLACE/gpu$CUDA_VISIBLE_DEVICES")" != "$RUNPOD_POD_ID" || ${RELEASE}`;

const SLEEP = { command: ["sh", "-c", RELEASE], wakeCommand: ["sh", "-c", TAKE] };

/** Workers that have one GPU, release it at their end, and note a fault where another has it. */
function sleeping(rest: object = {}, sleep: object | undefined = SLEEP): object {
	// A child that is forked under a trap loses a signal that comes before its exec, and the stop then waits for it.
	const command = ["sh", "-c", `sleep 300 & trap '${LEAVE}; exit' TERM; ${TAKE}; echo $$ >> "$PLACE/started"; wait`];
	return {
		launcher: { type: "process", command },
		env: { PLACE: place.path },
		idleTimeout: 3600,
		// The clock of the test runs ahead of a shell that ends on a busy machine: a killed one would leave its link.
		stopGraceMs: 600_000,
		scalerType: "REQUEST_COUNT",
		scalerValue: 1,
		workersMax: 1,
		gpusPerWorker: 1,
		...(sleep && { sleep }),
		...rest,
	};
}

async function serve(endpoints: Record<string, object>, gpus = 1): Promise<void> {
	service = await startService({ endpoints, settings: { gpus }, clock, in: place });
	ended = [];
	asked = [];
	service.events.on("worker.exited", ({ worker }) => ended.push(worker));
	service.events.on("worker.stopping", ({ why }) => asked.push(why));
}

const { pass, passUntil, of, reports } = launchedWorkers(() => ({ clock, service }), STEP_MS);

beforeEach(() => {
	clock = manualClock();
	place = folder();
});
afterEach(async () => {
	await endWith(service, clock);
	const faults = existsSync(path("faults")) ? readFileSync(path("faults"), "utf8") : "";
	expect(faults.match(/^ln: .*/m), "a GPU was taken twice").toBeNull();
	place.remove();
});

const started = (): number =>
	existsSync(path("started")) ? readFileSync(path("started"), "utf8").split("\n").length - 1 : 0;
/** Who has which GPU, as the workers see it. */
const taken = (): string[] =>
	readdirSync(place.path)
		.filter((name) => name.startsWith("gpu"))
		.toSorted();

async function stateOf(endpoint: string): Promise<string[]> {
	const { json } = await call(service.url, `/v1/endpoints/${endpoint}/workers`);
	return json.workers.map(({ state }: { state: string }) => state);
}

/** A job is submitted, and a worker of the endpoint is there that has called. */
async function called(endpoint: string, workers = 1): Promise<Worker> {
	const before = started();
	await submitted(service, endpoint);
	await passUntil(() => of(endpoint).length === workers && started() === before + 1);
	const worker = of(endpoint).at(-1)!;
	service.engine.workers.recordCall(worker);
	return worker;
}

function polls(worker: Worker): Promise<DispatchedJob[]> {
	const { signal } = new AbortController();
	service.engine.workers.recordCall(worker);
	return service.engine.jobs.take({ worker, limit: 1, idle: false, signal });
}

async function works(worker: Worker, poll = polls(worker)): Promise<void> {
	const [job] = await poll;
	await reports(worker, job!.id);
}

/** An idle worker of `first` has been put to sleep for a job of `second`, whose worker has the GPU and no job. */
async function swapped(first: object = sleeping(), second: object = sleeping()): Promise<[Worker, Worker]> {
	await serve({ first, second });
	const one = await called("first");
	await works(one);
	const poll = polls(one);
	await pass(MIN_STAY_MS);
	const two = await called("second");
	expect(await poll).toEqual([]);
	return [one, two];
}

describe("an idle worker that makes room", () => {
	it("D28: sleeps, and is woken for its next job while the other one sleeps", async () => {
		const [one, two] = await swapped();
		expect(await stateOf("first")).toEqual(["asleep"]);
		expect(taken()).toEqual(["gpu0"]);
		await works(two);
		await pass(MIN_STAY_MS);
		const poll = polls(one);
		await submitted(service, "first");
		await passUntil(() => one.sleep === undefined);
		await works(one, poll);
		expect(await stateOf("second")).toEqual(["asleep"]);
		expect([started(), ended]).toEqual([2, []]);
		const { json } = await call(service.url, "/v1/gpus");
		expect(json.gpus[0].holders).toMatchObject([{ worker: one.id, state: "idle" }]);
	});

	it("D28: gets no job in an open poll until it is awake, and D13: counts as neither idle nor starting", async () => {
		const [one, two] = await swapped();
		const [job] = await polls(two);
		let isOver = false;
		const poll = polls(one).finally(() => (isOver = true));
		const id = await submitted(service, "first");
		await pass(5000);
		expect(isOver).toBe(false);
		expect((await call(service.url, "/v2/first/health")).json.workers).toMatchObject({ idle: 0, initializing: 0 });
		expect(
			await (await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } })).text(),
		).toContain('sluice_workers{endpoint="first",state="asleep"} 1');
		const details = await service.engine.jobs.details({ endpoint: "first", id });
		expect(details.reason).toMatchObject({ code: "no_gpu_free" });
		await service.engine.jobs.report({
			worker: two,
			id: job!.id,
			report: { kind: "end", on: "complete", restart: false },
		});
		await pass(MIN_STAY_MS);
		await works(one, poll);
	});

	it("D28: sleeps after its job where it is busy and its turn is over", async () => {
		await serve({ first: sleeping({ leaseMs: 600_000 }), second: sleeping() });
		const one = await called("first");
		const [job] = await polls(one);
		await submitted(service, "second");
		await passUntil(() => one.retiring !== undefined);
		expect(clock.now() - one.readyAt!).toBeGreaterThanOrEqual(TURN_MS);
		await service.engine.jobs.report({
			worker: one,
			id: job!.id,
			report: { kind: "end", on: "complete", restart: false },
		});
		await passUntil(() => of("second").length === 1);
		expect(await stateOf("first")).toEqual(["asleep"]);
		expect(one).toMatchObject({ draining: false });
		expect(ended).toEqual([]);
	});

	it("D28: is stopped instead where an operator stops it, or its settings have changed", async () => {
		await serve({ first: sleeping({ leaseMs: 600_000 }), second: sleeping() });
		const one = await called("first");
		const [job] = await polls(one);
		await submitted(service, "second");
		await passUntil(() => one.retiring !== undefined);
		await service.engine.workers.stop({ endpoint: "first", id: one.id });
		await service.engine.jobs.report({
			worker: one,
			id: job!.id,
			report: { kind: "end", on: "complete", restart: false },
		});
		await passUntil(() => of("second").length === 1);
		expect(ended).toEqual([one.id]);
	});

	it.each([
		["fails", ["sh", "-c", "exit 3"], /^it did not fall asleep: "sh" exited with code 3; its output is in the log/],
		["takes longer than timeoutMs", ["sleep", "300"], /^it did not fall asleep: "sleep" took longer than 2000 ms\.$/],
		["is not there", ["no-such-program"], /^it did not fall asleep: the command "no-\[TOKEN\]" was not found/],
	])("D28: is stopped where its command %s, and has its GPU until it has ended", async (_, command, why) => {
		const sleep = { ...SLEEP, command, timeoutMs: 2000 };
		const env = { PLACE: place.path, TOKEN: "such-program" };
		const [one] = await swapped(sleeping({ env }, sleep));
		expect(asked).toEqual([expect.stringMatching(why)]);
		expect(ended).toEqual([one.id]);
	});
});

describe("a worker that sleeps", () => {
	it("D16, D28: may be frozen: it is not given up, is woken, and is stopped after its grace", async () => {
		const command = ["sh", "-c", `${RELEASE}; kill -STOP "$SLUICE_WORKER_PID"`];
		const wakeCommand = ["sh", "-c", `${TAKE}; kill -CONT "$SLUICE_WORKER_PID"`];
		const frozen = sleeping({ leaseMs: 2000, stopGraceMs: 5000 }, { command, wakeCommand });
		const [one, two] = await swapped(frozen);
		await works(two);
		await pass(20_000);
		expect(asked).toEqual([]);
		expect(await stateOf("first")).toEqual(["asleep"]);
		await submitted(service, "first");
		await passUntil(() => one.sleep === undefined);
		expect(clock.now() - one.seenAt, "the silence begins at the wake").toBeLessThan(1000);
		await works(one);
		void polls(one);
		await pass(MIN_STAY_MS);
		await submitted(service, "second");
		await passUntil(() => one.sleep?.state === "asleep");
		await service.engine.workers.stop({ endpoint: "first", id: one.id });
		await passUntil(() => ended.includes(one.id));
		expect(asked).toEqual(["an operator requested it"]);
	});

	it("D28: falls asleep when it is idle for idleTimeout, and is stopped after sleep.maxMs", async () => {
		await serve({ first: sleeping({ idleTimeout: 5 }, { ...SLEEP, maxMs: 20_000 }) });
		const one = await called("first");
		await works(one);
		await passUntil(() => one.sleep?.state === "asleep");
		expect(clock.now() - one.idleSince).toBeGreaterThanOrEqual(5000);
		expect(taken()).toEqual([]);
		await pass(19_000);
		expect(asked).toEqual([]);
		await passUntil(() => ended.length === 1);
		expect(asked).toEqual(["it slept for over 20s (sleep.maxMs)"]);
	});

	it("D28: is stopped where it does not wake up, and another one starts", async () => {
		const broken = sleeping({}, { ...SLEEP, wakeCommand: ["sh", "-c", "exit 4"] });
		const [one, two] = await swapped(broken);
		await works(two);
		await submitted(service, "first");
		await passUntil(() => of("first").some(({ id }) => id !== one.id) && started() === 3);
		expect(asked[0]).toMatch(/^it did not wake up: "sh" exited with code 4/);
		expect(ended).toEqual([one.id]);
	});

	it.each([
		["sleep is removed", { sleep: null }, "it sleeps, and its endpoint has no sleep any more"],
		["workersMax is lower", { workersMax: 0 }, "there are more than workersMax, which is 0"],
		["its variables change", { env: { A: "1" } }, "its endpoint has another launcher or environment now"],
	])("D28: is stopped when %s", async (_, change, why) => {
		await serve({});
		await call(service.url, "/v1/endpoints", { body: { id: "late", ...sleeping({ idleTimeout: 1 }) } });
		const one = await called("late");
		await works(one);
		await passUntil(() => one.sleep?.state === "asleep");
		const { status } = await call(service.url, "/v1/endpoints/late", { method: "PATCH", body: change });
		expect(status).toBe(200);
		await passUntil(() => ended.length === 1);
		expect(asked).toEqual([why]);
	});

	it("D28: is stopped while it wakes up where workersMax is lower by then", async () => {
		await serve({});
		const slow = sleeping({ idleTimeout: 1 }, { ...SLEEP, wakeCommand: ["sleep", "300"] });
		await call(service.url, "/v1/endpoints", { body: { id: "late", ...slow } });
		const one = await called("late");
		await works(one);
		await passUntil(() => one.sleep?.state === "asleep");
		await submitted(service, "late");
		await passUntil(() => one.sleep?.state === "waking");
		await call(service.url, "/v1/endpoints/late", { method: "PATCH", body: { workersMax: 0 } });
		await passUntil(() => ended.length === 1);
		expect(asked).toEqual(["there are more than workersMax, which is 0"]);
	});

	it("D28: keeps no job waiting where other GPUs are free: another one starts, within workersMax", async () => {
		const stays = sleeping({ workersMin: 1 }, undefined);
		await serve({ first: sleeping({ idleTimeout: 1 }), many: sleeping({ idleTimeout: 1, workersMax: 2 }) }, 2);
		const one = await called("first");
		await works(one);
		await passUntil(() => one.sleep?.state === "asleep");
		const two = await called("many");
		await works(two);
		await passUntil(() => two.sleep?.state === "asleep");
		expect([one.gpus, two.gpus]).toEqual([[0], [0]]);
		await call(service.url, "/v1/endpoints", { body: { id: "stays", ...stays } });
		await passUntil(() => of("stays").length === 1 && started() === 3);
		await submitted(service, "first");
		await passUntil(() => of("first").some(({ id }) => id !== one.id) && started() === 4);
		expect(ended).toEqual([one.id]);
		const next = of("first")[0]!;
		expect(next.gpus).toEqual([1]);
		await works(next);
		await passUntil(() => next.sleep?.state === "asleep");
		await called("many", 2);
		expect(of("many").map(({ gpus }) => gpus)).toEqual([[0], [1]]);
	});

	it("D28: is the only one that is stopped for a new worker on a free GPU, which no other endpoint gets", async () => {
		const command = [
			"sh",
			"-c",
			`trap '' TERM; ${TAKE}; echo $$ >> "$PLACE/started"; sleep 300 & while :; do wait; done`,
		];
		const slow = { launcher: { type: "process", command }, stopGraceMs: 5000, idleTimeout: 1 };
		await serve({ first: sleeping({ ...slow, workersMax: 2 }), late: sleeping() }, 3);
		for (const _ of [1, 2]) await submitted(service, "first");
		await passUntil(() => started() === 2);
		const both = of("first");
		await Promise.all(both.map((worker) => works(worker)));
		await passUntil(() => both.every(({ sleep }) => sleep?.state === "asleep"));
		const stays = sleeping({ workersMin: 2, workersMax: 2, leaseMs: 600_000 }, undefined);
		await call(service.url, "/v1/endpoints", { body: { id: "stays", ...stays } });
		await passUntil(() => of("stays").length === 2 && started() === 4);
		for (const worker of of("stays")) service.engine.workers.recordCall(worker);
		await submitted(service, "first");
		await pass(STEP_MS);
		await submitted(service, "late");
		await passUntil(() => started() === 5);
		expect(asked).toEqual(["its GPUs are taken, and others are free for a new worker"]);
		expect([of("late").length, of("first").at(-1)!.gpus]).toEqual([0, [2]]);
	});

	it("D28: is woken for workersMin", async () => {
		await serve({});
		await call(service.url, "/v1/endpoints", { body: { id: "late", ...sleeping({ idleTimeout: 1 }) } });
		const one = await called("late");
		await works(one);
		await passUntil(() => one.sleep?.state === "asleep");
		await call(service.url, "/v1/endpoints/late", { method: "PATCH", body: { workersMin: 1 } });
		await passUntil(() => one.sleep === undefined);
		expect([started(), ended]).toEqual([1, []]);
	});
});

it("D28: a second worker is woken before a third one starts", async () => {
	await serve({ first: sleeping({ idleTimeout: 1, workersMax: 3 }) }, 3);
	await submitted(service, "first");
	await submitted(service, "first");
	await passUntil(() => started() === 2);
	const both = of("first");
	await Promise.all(both.map((worker) => works(worker)));
	await passUntil(() => both.every(({ sleep }) => sleep?.state === "asleep"));
	await submitted(service, "first");
	await submitted(service, "first");
	await passUntil(() => both.every(({ sleep }) => sleep === undefined));
	expect([started(), taken()]).toEqual([2, ["gpu0", "gpu1"]]);
});
