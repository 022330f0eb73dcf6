/**
 * GPUs of the machine, shared out among launched workers (D27, D29). Real processes that write down
 * the environment that they get; no GPU is needed.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MIN_STAY_MS, TURN_MS } from "../../../src/modules/gpus/placement/eviction.ts";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";
import { manualClock, type ManualClock } from "../../support/manual-clock.ts";
import { call, folder, type Folder, KEY, startService, type TestService } from "../../support/service.ts";
import { endWith, submitted } from "../hand-worker.ts";
import { launchedWorkers } from "../launched-workers.ts";

let clock: ManualClock;
let place: Folder;
let service: TestService;
let ended: string[];

const notes = (): string => join(place.path, "gpus");

/** Workers that note their id and what GPUs they see, and need so many. */
function needing(gpusPerWorker: number, rest: object = {}): object {
	const part = "${SLUICE_GPU_MEMORY_FRACTION+ $SLUICE_GPU_MEMORY_FRACTION}";
	const note = `echo "$RUNPOD_POD_ID \${CUDA_VISIBLE_DEVICES-all}${part}" >> "$NOTES"; exec sleep 300`;
	const command = ["sh", "-c", note];
	return {
		launcher: { type: "process", command },
		env: { NOTES: notes() },
		stopGraceMs: 0,
		idleTimeout: 3600,
		scalerType: "REQUEST_COUNT",
		scalerValue: 1,
		gpusPerWorker,
		...rest,
	};
}

/** `nvidia-smi` reports such GPUs, in MiB. */
function withSizes(...sizes: number[]): void {
	const lines = sizes.map((mib, number) => `echo '${number}, NVIDIA L4, ${mib}, 0, 0'`);
	writeFileSync(join(place.path, "nvidia-smi"), ["#!/bin/sh", ...lines, ""].join("\n"), { mode: 0o755 });
	vi.stubEnv("PATH", `${place.path}:${process.env["PATH"]}`);
}

async function serve(endpoints: Record<string, object>, settings: object = { gpus: 2 }): Promise<void> {
	service = await startService({ endpoints, settings: { ...settings }, clock, in: place });
	ended = [];
	service.events.on("worker.exited", ({ worker }) => ended.push(worker));
}

const { pass, of, takes, reports, works } = launchedWorkers(() => ({ clock, service }));

beforeEach(() => {
	clock = manualClock();
	place = folder();
});
afterEach(async () => {
	await endWith(service, clock);
	place.remove();
	vi.unstubAllEnvs();
});

/** What the worker's process sees; undefined until it runs. */
function seen({ id }: Worker): string | undefined {
	if (!existsSync(notes())) return undefined;
	return readFileSync(notes(), "utf8")
		.split("\n")
		.find((line) => line.startsWith(`${id} `))
		?.slice(id.length + 1);
}

/** Time passes until the endpoint has so many workers whose processes run. */
async function running(endpoint: string, workers: number): Promise<Worker[]> {
	while (of(endpoint).length !== workers || of(endpoint).some((worker) => seen(worker) === undefined)) await pass(50);
	return of(endpoint);
}

const reason = async (endpoint: string, id: string): Promise<object> =>
	(await service.engine.jobs.details({ endpoint, id })).reason!;

describe("gpus and gpusPerWorker", () => {
	it("D27: each worker sees its own GPUs, and one that needs none sees none", async () => {
		await serve({ one: needing(1), two: needing(2), none: needing(0) }, { gpus: 4 });
		for (const endpoint of ["one", "one", "two", "none"]) await submitted(service, endpoint);
		const ones = await running("one", 2);
		const twos = await running("two", 1);
		expect([...ones, ...twos].flatMap((worker) => seen(worker)!.split(",")).toSorted()).toEqual(["0", "1", "2", "3"]);
		expect((await running("none", 1)).map(seen)).toEqual([""]);
		const { json } = await call(service.url, "/v1/endpoints/two/workers");
		expect(json.workers).toMatchObject([{ gpus: seen(twos[0]!)!.split(",").map(Number) }]);
	});

	it("D27: where the service shares out none, workers see what the service sees", async () => {
		await serve({ none: needing(0) }, {});
		await submitted(service, "none");
		expect((await running("none", 1)).map(seen)).toEqual([process.env["CUDA_VISIBLE_DEVICES"] ?? "all"]);
	});

	it("D29: while all are taken by working ones the job waits and its reason names them", async () => {
		await serve({ busy: needing(2), late: needing(1) });
		await submitted(service, "busy");
		const [worker] = await running("busy", 1);
		await takes(worker!);
		const id = await submitted(service, "late");
		await pass(2 * MIN_STAY_MS);
		expect(ended).toEqual([]);
		expect(of("late")).toEqual([]);
		expect(await reason("late", id)).toEqual({
			code: "no_gpu_free",
			message: expect.stringMatching(new RegExp(`needs 1 of the 2 GPUs.*${worker!.id} \\(0, 1\\).*\\.$`)),
		});
	});

	it("D27: an idle worker makes room for another endpoint's after its minimum stay", async () => {
		await serve({ first: needing(2), second: needing(1) });
		await submitted(service, "first");
		const [worker] = await running("first", 1);
		await works(worker!);
		const id = await submitted(service, "second");
		await pass(MIN_STAY_MS - 1000);
		expect(ended, "within its stay").toEqual([]);
		expect(await reason("second", id)).toMatchObject({ code: "no_gpu_free" });
		const [next] = await running("second", 1);
		expect(ended).toEqual([worker!.id]);
		expect(seen(next!)).toBe("0");
		expect(of("first")).toEqual([]);
	});

	it("D39: a worker shows when others made room for it, also after its end; one without that does not", async () => {
		await serve({ first: needing(1), second: needing(1) }, { gpus: 1 });
		await submitted(service, "first");
		const [worker] = await running("first", 1);
		await works(worker!);
		let decidedAt = 0;
		service.events.on("worker.stopping", () => void (decidedAt ||= clock.now()));
		await submitted(service, "second");
		const [next] = await running("second", 1);
		const placedAt = next!.createdAt;
		await pass(3000);
		await works(next!);
		const iso = (ms: number): string => new Date(ms).toISOString();
		const room = { since: iso(decidedAt), until: iso(placedAt) };
		const list = async (endpoint: string): Promise<any> =>
			(await call(service.url, `/v1/endpoints/${endpoint}/workers?ended=true`)).json;
		expect((await list("second")).workers).toMatchObject([{ room, createdAt: room.until, readyAt: iso(clock.now()) }]);
		expect((await list("first")).ended).toMatchObject([{ id: worker!.id }]);
		expect((await list("first")).ended[0]).not.toHaveProperty("room");
		await call(service.url, `/v1/endpoints/second/workers/${next!.id}/stop`, { method: "POST" });
		while (of("second").length > 0) await pass(50);
		expect((await list("second")).ended).toMatchObject([{ id: next!.id, room }]);
	});

	it("D27: workersMin stays", async () => {
		await serve({ first: needing(2, { workersMin: 1 }), second: needing(1) });
		const [worker] = await running("first", 1);
		service.engine.workers.recordCall(worker!);
		await submitted(service, "second");
		await pass(3 * MIN_STAY_MS);
		expect(ended).toEqual([]);
		expect(of("second")).toEqual([]);
	});
});

describe("busy workers", () => {
	it("D28: of an endpoint with a long queue finish their job after their turn, another one is next", async () => {
		await serve({ flood: needing(1, { workersMax: 1, leaseMs: 600_000 }), other: needing(1) }, { gpus: 1 });
		for (let jobs = 0; jobs < 3; jobs += 1) await submitted(service, "flood");
		const [worker] = await running("flood", 1);
		const running1 = await takes(worker!);
		const id = await submitted(service, "other");
		await pass(TURN_MS - 5000);
		expect(worker!.draining).toBe(false);
		expect((await reason("other", id)) as { message: string }).toMatchObject({
			message: expect.stringMatching(new RegExp(`the turn of ${worker!.id} ends within 10 s\\.$`)),
		});
		await pass(10_000);
		expect(worker!.retiring).toBe("it makes room for endpoint other");
		expect(ended, "with a job").toEqual([]);
		await reports(worker!, running1);
		const [next] = await running("other", 1);
		expect(ended).toEqual([worker!.id]);
		expect(seen(next!)).toBe("0");
		expect(of("flood")).toEqual([]);
	});

	it("D28: of a lower priority finish their job, within their turn and their workersMin too", async () => {
		await serve(
			{ low: needing(1, { priority: "low", workersMin: 1 }), high: needing(1, { priority: "high" }) },
			{ gpus: 1 },
		);
		await submitted(service, "low");
		const [worker] = await running("low", 1);
		const job = await takes(worker!);
		const id = await submitted(service, "high");
		await pass(MIN_STAY_MS + 1000);
		expect(await reason("high", id)).toMatchObject({ code: "no_gpu_free" });
		expect(worker!.retiring).toBe("it makes room for endpoint high");
		await reports(worker!, job);
		expect(seen((await running("high", 1))[0]!)).toBe("0");
	});

	it("D28: one of them at most makes room for an endpoint, and goes on without its job", async () => {
		const holding = needing(1, { workersMax: 1, leaseMs: 600_000 });
		await serve({ b: holding, c: holding, d: holding, a: needing(1) }, { gpus: 3 });
		const busy: Worker[] = [];
		for (const endpoint of ["b", "c", "d"]) {
			for (let jobs = 0; jobs < 2; jobs += 1) await submitted(service, endpoint);
			busy.push((await running(endpoint, 1))[0]!);
			await takes(busy.at(-1)!);
		}
		await pass(TURN_MS);
		const id = await submitted(service, "a");
		await pass(3000);
		expect(busy.map(({ retiring }) => retiring)).toEqual(["it makes room for endpoint a", undefined, undefined]);
		expect(await reason("a", id)).toMatchObject({
			message: expect.stringContaining(`To be stopped after their jobs, to make room: ${busy[0]!.id} (GPU 0).`),
		});
		await service.engine.jobs.cancel({ endpoint: "a", id });
		await pass(3000);
		expect(busy.map(({ draining }) => draining)).toEqual([false, false, false]);
	});

	it("D40: /metrics has who made room, busy or idle, the time of the swap, and the seconds of the GPU", async () => {
		await serve({ b: needing(1, { leaseMs: 600_000 }), a: needing(1), none: needing(0) }, { gpus: 1 });
		await submitted(service, "b");
		const [busy] = await running("b", 1);
		const job = await takes(busy!);
		await pass(TURN_MS);
		await submitted(service, "a");
		await pass(2000);
		await submitted(service, "none");
		await works((await running("none", 1))[0]!);
		await reports(busy!, job);
		const [next] = await running("a", 1);
		await works(next!);
		await pass(MIN_STAY_MS + 1000);
		await submitted(service, "b");
		await running("b", 1);
		await pass(1000);
		const text = await (await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } })).text();
		const value = (name: string): number =>
			Number(
				text
					.split("\n")
					.find((line) => line.startsWith(`${name} `))
					?.split(" ")[1],
			);
		expect(value('sluice_workers_made_room_total{endpoint="b",state="busy"}')).toBe(1);
		expect(value('sluice_workers_made_room_total{endpoint="b",state="idle"}')).toBe(0);
		expect(value('sluice_workers_made_room_total{endpoint="a",state="idle"}')).toBe(1);
		expect(value('sluice_swap_seconds_count{endpoint="a"}')).toBe(1);
		expect(value('sluice_swap_seconds_count{endpoint="b"}')).toBe(0);
		expect(value('sluice_gpu_seconds_total{endpoint="b",state="busy"}')).toBeGreaterThan(TURN_MS / 1000);
		expect(value('sluice_gpu_seconds_total{endpoint="a",state="idle"}')).toBeGreaterThan(MIN_STAY_MS / 1000);
		expect(value('sluice_gpu_seconds_total{endpoint="b",state="starting"}')).toBeGreaterThan(0);
		expect(text).not.toContain('sluice_gpu_seconds_total{endpoint="none"');
		const { gpus } = (await call(service.url, "/v1/gpus?history=true")).json;
		const { history } = gpus[0];
		const [first, , last] = [...new Set(history.map(({ worker }: any) => worker))];
		expect([first, last]).toEqual([busy!.id, of("b")[0]!.id]);
		expect(history[0]).toMatchObject({
			endpoint: "b",
			state: "busy",
			from: expect.any(String),
			to: expect.any(String),
		});
		expect(history.at(-1)).toMatchObject({ state: "starting", to: new Date(clock.now()).toISOString() });
		expect((await call(service.url, "/v1/gpus")).json.gpus[0]).not.toHaveProperty("history");
	});

	it("D39: room that was made for a cancelled job is not that of a later worker", async () => {
		await serve({ b: needing(1, { workersMax: 1, leaseMs: 600_000 }), a: needing(1) }, { gpus: 1 });
		await submitted(service, "b");
		const [busy] = await running("b", 1);
		const job = await takes(busy!);
		await pass(TURN_MS);
		const id = await submitted(service, "a");
		await pass(2000);
		expect(busy!.retiring).toBe("it makes room for endpoint a");
		await service.engine.jobs.cancel({ endpoint: "a", id });
		await pass(2000);
		expect(busy!.draining).toBe(false);
		await reports(busy!, job);
		const from = clock.now();
		await submitted(service, "a");
		const [next] = await running("a", 1);
		expect(next!.roomSince).toBeGreaterThanOrEqual(from);
	});

	it("D28: stay for an endpoint without a job, and for a minute for one that has crashed", async () => {
		const high = { priority: "high", workersMax: 1 };
		const crashing = needing(1, { ...high, launcher: { type: "process", command: ["false"] } });
		await serve({ b: needing(1, { leaseMs: 600_000, workersMax: 1 }), crashing }, { gpus: 1 });
		for (let jobs = 0; jobs < 3; jobs += 1) await submitted(service, "b");
		const [first] = await running("b", 1);
		const job = await takes(first!);
		await call(service.url, "/v1/endpoints", {
			body: { id: "warm", ...needing(1, { ...high, workersMin: 1 }) },
		});
		await pass(MIN_STAY_MS + 2000);
		expect(first!.draining, "for one without a job").toBe(false);
		await call(service.url, "/v1/endpoints/warm", { method: "DELETE" });
		await submitted(service, "crashing");
		await pass(2000);
		expect(first!.retiring).toBe("it makes room for endpoint crashing");
		let crashed = false;
		service.events.on("worker.failed", ({ endpoint }) => (crashed ||= endpoint === "crashing"));
		await reports(first!, job);
		while (!crashed) await pass(50);
		const [second] = await running("b", 1);
		await takes(second!);
		await pass(MIN_STAY_MS + 20_000);
		expect(second!.draining, "within a minute").toBe(false);
		while (second!.retiring === undefined) await pass(1000);
		expect(second!.retiring).toBe("it makes room for endpoint crashing");
	});
});

describe("gpuMemoryGb", () => {
	it("D27: workers share a GPU as far as their parts fit, and each learns its own", async () => {
		withSizes(23_034);
		const ten = needing(0, { gpuMemoryGb: 10 });
		await serve({ one: ten, two: ten, three: ten }, { gpus: 1 });
		await submitted(service, "one");
		await submitted(service, "two");
		expect((await running("one", 1)).map(seen)).toEqual(["0 0.413"]);
		expect((await running("two", 1)).map(seen)).toEqual(["0 0.413"]);
		const id = await submitted(service, "three");
		await pass(3000);
		expect(await reason("three", id)).toEqual({
			code: "no_gpu_free",
			message: expect.stringMatching(/needs 10 GB of one GPU, and too many are taken: by one-\w+ \(0: 10 GB\), two-/),
		});
		expect((await call(service.url, "/v1/endpoints/one/workers")).json.workers).toMatchObject([{ gpuMemoryGb: 10 }]);
		const { json } = await call(service.url, "/v1/gpus");
		expect(json.gpus).toMatchObject([
			{ id: "0", memoryGb: 24.2, freeGb: 3.7, holders: [{ endpoint: "one", memoryGb: 10 }, { endpoint: "two" }] },
		]);
	});

	it("D27: an idle worker makes room if its part helps, and one that would not help stays", async () => {
		withSizes(23_034, 23_034);
		await serve({
			small: needing(0, { gpuMemoryGb: 2 }),
			large: needing(0, { gpuMemoryGb: 20 }),
			whole: needing(1),
			next: needing(0, { gpuMemoryGb: 10 }),
		});
		await submitted(service, "large");
		const [large] = await running("large", 1);
		await submitted(service, "small");
		const [small] = await running("small", 1);
		await submitted(service, "whole");
		const [whole] = await running("whole", 1);
		expect([large, small, whole].map((worker) => seen(worker!))).toEqual(["0 0.826", "0 0.082", "1"]);
		for (const worker of [small, large]) await works(worker!);
		await submitted(service, "next");
		const [next] = await running("next", 1);
		expect(ended).toEqual([large!.id]);
		expect(seen(next!)).toBe("0 0.413");
	});

	it.each([
		[[], /the memory of this machine's GPUs is not known: nvidia-smi did not answer, or not yet\.$/],
		[[8192], /the GPUs of this machine have at most 8\.1 GB for workers: lower gpuMemoryGb\.$/],
	])("D29: what can never fit says so: %j", async (sizes, message) => {
		withSizes(...sizes);
		await serve({ one: needing(0, { gpuMemoryGb: 10 }) }, { gpus: 1 });
		const id = await submitted(service, "one");
		while (service.engine.workers.gpus.sizes()[0] === undefined && sizes.length > 0) await pass(50);
		await pass(2000);
		expect(await reason("one", id)).toEqual({ code: "no_gpu_free", message: expect.stringMatching(message) });
	});
});
