/**
 * What workers use of GPUs, beside their parts (D27, D28). Real processes; programs in place of `nvidia-smi` and
 * `rocm-smi` say what they use.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";
import { withRocm, withSmi } from "../../support/gpu-programs.ts";
import { manualClock, type ManualClock } from "../../support/manual-clock.ts";
import { call, folder, type Folder, startService, type TestService } from "../../support/service.ts";
import { endWith, submitted } from "../hand-worker.ts";
import { launchedWorkers } from "../launched-workers.ts";

let clock: ManualClock;
let place: Folder;
let service: TestService;
let exceeded: string[];
let ended: string[];

const notes = (): string => join(place.path, "notes");

/** Workers that note their pid, that of a child in a session of its own, and the GPUs that they see. */
function sharing(gpuMemoryGb: number | undefined, rest: object = {}): object {
	const child = 'setsid sh -c \'echo "$RUNPOD_POD_ID child $$" >> "$NOTES"; exec sleep 300\' &';
	const note = `echo "$RUNPOD_POD_ID pid $$"; echo "$RUNPOD_POD_ID gpus $CUDA_VISIBLE_DEVICES $HIP_VISIBLE_DEVICES"`;
	return {
		launcher: { type: "process", command: ["sh", "-c", `${child} { ${note}; } >> "$NOTES"; exec sleep 300`] },
		env: { NOTES: notes() },
		stopGraceMs: 0,
		idleTimeout: 3600,
		leaseMs: 600_000,
		workersMax: 1,
		scalerType: "REQUEST_COUNT",
		scalerValue: 1,
		...(gpuMemoryGb === undefined ? { gpusPerWorker: 1 } : { gpuMemoryGb }),
		...rest,
	};
}

async function serve(endpoints: Record<string, object>, gpus = 1): Promise<void> {
	service = await startService({ endpoints, settings: { gpus }, clock, in: place });
	exceeded = [];
	ended = [];
	service.events.on("worker.exceeded", ({ worker, why, ends }) => exceeded.push(`${worker} ${ends}: ${why}`));
	service.events.on("worker.exited", ({ worker }) => ended.push(worker));
}

const { pass, passUntil, of, takes, reports } = launchedWorkers(() => ({ clock, service }));

beforeEach(() => {
	clock = manualClock();
	place = folder();
});
afterEach(async () => {
	await endWith(service, clock);
	place.remove();
	vi.unstubAllEnvs();
});

function noted({ id }: Worker, what: "pid" | "child" | "gpus"): string | undefined {
	const lines = existsSync(notes()) ? readFileSync(notes(), "utf8").split("\n") : [];
	return lines.find((line) => line.startsWith(`${id} ${what} `))?.slice(`${id} ${what} `.length);
}

/** A job waits, and its worker runs and has noted all. */
async function started(endpoint: string, before: readonly Worker[] = []): Promise<Worker> {
	const others = (): Worker[] => of(endpoint).filter((worker) => !before.includes(worker));
	await passUntil(() => others().some((worker) => noted(worker, "child") && noted(worker, "gpus")));
	return others()[0]!;
}

const pidOf = (worker: Worker, what: "pid" | "child" = "pid"): number => Number(noted(worker, what));

const workerOf = async (endpoint: string): Promise<any> =>
	(await call(service.url, `/v1/endpoints/${endpoint}/workers`)).json.workers[0];

const gpus = async (): Promise<any[]> => (await call(service.url, "/v1/gpus")).json.gpus;

describe("a worker that uses more than its part", () => {
	it("D27: is named with what to do, once in the log, until it uses less", async () => {
		const smi = withSmi(place.path, [{ uuid: "GPU-a" }]);
		await serve({ one: sharing(10), two: sharing(4) });
		await submitted(service, "one");
		await submitted(service, "two");
		const [one, two] = [await started("one"), await started("two")];
		// 5.2 GB and 5.3 GB of two processes are over 10 GB and 5 %; 4.25 GB are within 0.3 GB of 4.
		smi.runs(
			{ gpu: "GPU-a", pid: pidOf(one), mib: 4960 },
			{ gpu: "GPU-a", pid: pidOf(one, "child"), mib: 5055 },
			{ gpu: "GPU-a", pid: pidOf(two), mib: 4050 },
			{ gpu: "GPU-a", pid: process.pid, mib: 2000 },
		);
		for (const worker of [one, two]) await takes(worker);
		await passUntil(() => exceeded.length > 0);
		const why =
			"t uses 10.5 GB of GPU 0, and its part is 10 GB: raise gpuMemoryGb, or lower the worker's own limit, " +
			"such as --gpu-memory-utilization";
		expect(exceeded).toEqual([`${one.id} false: i${why}`]);
		const reason = { code: "gpu_memory_exceeded", message: `I${why}.` };
		expect(await workerOf("one")).toMatchObject({ state: "running", reason });
		expect(await workerOf("two")).not.toHaveProperty("reason");
		expect(await gpus()).toMatchObject([
			{
				uuid: "GPU-a",
				cuda: "12.2",
				holders: [
					{ memoryGb: 10, usedGb: 10.5 },
					{ memoryGb: 4, usedGb: 4.2 },
				],
			},
		]);
		await pass(20_000);
		expect(exceeded).toHaveLength(1);
		smi.runs({ gpu: "GPU-a", pid: pidOf(one), mib: 9000 });
		await passUntil(() => one.excess === undefined);
		expect(await workerOf("one")).not.toHaveProperty("reason");
		expect(one.draining).toBe(false);
	});

	it("D28: with gpuMemoryEnforce it finishes its job, gets no other one and is stopped with the reason", async () => {
		const smi = withSmi(place.path, [{ uuid: "GPU-a" }]);
		await serve({ one: sharing(10, { gpuMemoryEnforce: true }) });
		await submitted(service, "one");
		const worker = await started("one");
		const job = await takes(worker);
		smi.runs({ gpu: "GPU-a", pid: pidOf(worker), mib: 12_000 });
		await passUntil(() => exceeded.length > 0);
		expect(worker.draining).toBe(true);
		await pass(20_000);
		expect(ended, "with a job").toEqual([]);
		expect(await workerOf("one")).toMatchObject({ state: "stopping", reason: { code: "gpu_memory_exceeded" } });
		await reports(worker, job);
		await passUntil(() => ended.length > 0);
		expect(exceeded).toHaveLength(1);
		const { json } = await call(service.url, "/v1/endpoints/one/workers?ended=true");
		expect(json.ended).toMatchObject([
			{
				id: worker.id,
				code: "gpu_memory_exceeded",
				message: expect.stringMatching(/^It was stopped: it uses 12\.6 GB of GPU 0, and its part is 10 GB: raise/),
			},
		]);
		expect((await call(service.url, "/v1/endpoints/one")).json.reason).toMatchObject({
			code: "gpu_memory_exceeded",
			message: expect.stringMatching(/^It uses 12\.6 GB of GPU 0/),
		});
	});

	it("D28: an idle one is stopped at once, and the pause before the next one doubles though they do jobs", async () => {
		const smi = withSmi(place.path, [{ uuid: "GPU-a" }]);
		await serve({ one: sharing(10, { gpuMemoryEnforce: true }) });
		const pauses: number[] = [];
		service.events.on("worker.failed", ({ retryMs }) => pauses.push(retryMs));
		const before: Worker[] = [];
		for (const round of [1, 2, 3, 4]) {
			await submitted(service, "one");
			const worker = await started("one", before);
			before.push(worker);
			// It was within its part at first, and its job is done.
			await reports(worker, await takes(worker));
			await pass(11_000);
			smi.runs({ gpu: "GPU-a", pid: pidOf(worker), mib: 12_000 });
			await passUntil(() => ended.length === round);
		}
		expect(pauses).toEqual([1000, 2000, 4000, 8000]);
	}, 60_000);

	it("D27: nothing is said where nvidia-smi does not know what processes use", async () => {
		const smi = withSmi(place.path, [{ uuid: "GPU-a" }]);
		await serve({ one: sharing(10, { gpuMemoryEnforce: true }) });
		await submitted(service, "one");
		const worker = await started("one");
		smi.runs({ gpu: "GPU-a", pid: pidOf(worker), mib: "[N/A]" });
		await takes(worker);
		await passUntil(() => smi.readings() >= 2);
		expect(exceeded).toEqual([]);
		expect((await gpus())[0].holders).toEqual([expect.not.objectContaining({ usedGb: expect.anything() })]);
	});
});

describe("MIG devices of this machine", () => {
	it("D27: are GPUs of their own, in the order of nvidia-smi -L, and addressed by UUID", async () => {
		const smi = withSmi(place.path, [
			{
				uuid: "GPU-a",
				model: "NVIDIA A100-SXM4-80GB",
				mib: 81_920,
				mig: [
					["3g.40gb", "MIG-1"],
					["1g.10gb", "MIG-2"],
				],
			},
			{ uuid: "GPU-b" },
		]);
		await serve({ part: sharing(9), whole: sharing(undefined), last: sharing(undefined) }, 3);
		await submitted(service, "part");
		const part = await started("part");
		await submitted(service, "whole");
		const whole = await started("whole");
		await submitted(service, "last");
		const last = await started("last");
		expect([part, whole, last].map((worker) => noted(worker, "gpus"))).toEqual([
			"MIG-2 MIG-2",
			"MIG-1 MIG-1",
			"GPU-b GPU-b",
		]);
		smi.runs({ gpu: "GPU-a", pid: pidOf(part), mib: 9000 }, { gpu: "GPU-a", pid: pidOf(whole), mib: 30_000 });
		expect(await gpus()).toMatchObject([
			{ id: "0", uuid: "MIG-1", model: "NVIDIA A100-SXM4-80GB MIG 3g.40gb", memoryGb: 40, holders: [{ usedGb: 31.5 }] },
			{ id: "1", uuid: "MIG-2", memoryGb: 10, freeGb: 0.5, holders: [{ memoryGb: 9, usedGb: 9.4 }] },
			{ id: "2", uuid: "GPU-b", model: "NVIDIA L4", memoryGb: 24.2, holders: [{ endpoint: "last" }] },
		]);
	});

	it("D27: stay addressed by UUID when a later reading fails", async () => {
		const smi = withSmi(place.path, [{ uuid: "GPU-a", mig: [["3g.40gb", "MIG-1"]] }]);
		await serve({ one: sharing(undefined) });
		expect(await gpus()).toMatchObject([{ uuid: "MIG-1" }]);
		smi.fails();
		await pass(2000);
		const [gpu] = await gpus();
		expect(gpu).not.toHaveProperty("uuid");
		await submitted(service, "one");
		expect(noted(await started("one"), "gpus")).toBe("MIG-1 MIG-1");
	});
});

describe("GPUs of AMD", () => {
	it("D27: are read by rocm-smi where nvidia-smi is missing; their workers see them by HIP", async () => {
		withRocm(place.path, [
			{ series: "Radeon RX 7900 XT", bytes: 21_458_059_264, used: 27_856_896 },
			{ series: "Radeon RX 7900 XT", bytes: 21_458_059_264, used: 10_000_000_000 },
		]);
		await serve({ one: sharing(10) }, 2);
		expect(await gpus()).toMatchObject([
			{ id: "0", model: "Radeon RX 7900 XT", memoryGb: 21.5, memoryUsedGb: 0, busyPercent: 12, freeGb: 21 },
			{ id: "1", memoryUsedGb: 10 },
		]);
		await submitted(service, "one");
		expect(noted(await started("one"), "gpus")).toBe("0 0");
	});
});
