/**
 * GPUs of this machine by model, memory and CUDA version (D27, D44), and in `/metrics` (D40). Real processes; no GPU is
 * needed.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { MIN_STAY_MS } from "../../../src/modules/gpus/placement/eviction.ts";
import type { GpuNeed } from "../../../src/kernel/core/workers/gpu-need.ts";
import { withSmi } from "../../support/gpu-programs.ts";
import { manualClock, type ManualClock } from "../../support/manual-clock.ts";
import { folder, type Folder, KEY, startService, type TestService } from "../../support/service.ts";
import { endWith, submitted } from "../hand-worker.ts";
import { launchedWorkers } from "../launched-workers.ts";

let clock: ManualClock;
let place: Folder;
let service: TestService;

const notes = (): string => join(place.path, "notes");
const { pass, passUntil, of, works, takes, reports } = launchedWorkers(() => ({ clock, service }));

/** Workers that note the GPUs that they see. */
function using(gpu: GpuNeed, rest: object = {}): object {
	const note = 'echo "$RUNPOD_POD_ID $CUDA_VISIBLE_DEVICES" >> "$NOTES"; exec sleep 300';
	return {
		launcher: { type: "process", command: ["sh", "-c", note], gpu },
		env: { NOTES: notes() },
		stopGraceMs: 0,
		idleTimeout: 3600,
		workersMax: 1,
		gpusPerWorker: 1,
		...rest,
	};
}

const L4 = { uuid: "GPU-a", model: "NVIDIA L4" };
const A100 = { uuid: "GPU-b", model: "NVIDIA A100-SXM4-80GB", mib: 81_920 };

async function serve(endpoints: Record<string, object>): Promise<void> {
	service = await startService({ endpoints, settings: { gpus: 2 }, clock, in: place });
}

/** The number of its GPU, once its process runs. */
async function gpuOf(endpoint: string): Promise<string> {
	const found = (): string | undefined => {
		const [worker] = of(endpoint);
		const text = worker && existsSync(notes()) ? readFileSync(notes(), "utf8") : "";
		return text.split("\n").find((line) => worker && line.startsWith(`${worker.id} `));
	};
	await passUntil(() => found() !== undefined);
	return found()!.split(" ")[1]!;
}

const reason = async (endpoint: string, id: string): Promise<string | undefined> =>
	(await service.engine.jobs.details({ endpoint, id })).reason?.message;

beforeEach(() => {
	clock = manualClock();
	place = folder();
});
afterEach(async () => {
	await endWith(service, clock);
	place.remove();
	vi.unstubAllEnvs();
});

it.each<[GpuNeed, object, string]>([
	[{ models: ["NVIDIA A100-SXM4-80GB", "NVIDIA H100 NVL"] }, {}, "1"],
	[{ model: "a100" }, {}, "1"],
	[{ excludedModels: ["NVIDIA L4"] }, {}, "1"],
	[{ memoryMinGb: 40 }, {}, "1"],
	[{ models: ["NVIDIA A100-SXM4-80GB"] }, { gpuMemoryGb: 10 }, "1"],
	[{ allowedCudaVersions: ["12.2"], minCudaVersion: "12.0" }, {}, "0"],
])("D27, D44: launcher.gpu %j chooses among this machine's GPUs", async (need, rest, number) => {
	withSmi(place.path, [L4, A100]);
	await serve({ one: using(need, rest) });
	await submitted(service, "one");
	expect(await gpuOf("one")).toBe(number);
});

it.each<[GpuNeed, string]>([
	[{ models: ["NVIDIA H200"] }, "0 of them are NVIDIA H200: correct launcher.gpu, or lower gpusPerWorker."],
	// The driver of the stand-in runs up to 12.2.
	[{ minCudaVersion: "12.4" }, "0 of them are with a driver for CUDA 12.4: "],
	[{ allowedCudaVersions: ["11.8", "12.8"] }, "0 of them are with a driver of CUDA 11.8 or 12.8: "],
])("D29: where none fits %j the job's reason says so, and nothing is stopped for it", async (need, says) => {
	withSmi(place.path, [L4, A100]);
	await serve({ idle: using({}), late: using(need) });
	await submitted(service, "idle");
	await gpuOf("idle");
	await works(of("idle")[0]!);
	const id = await submitted(service, "late");
	await passUntil(() => service.engine.workers.gpus.fitting({}) !== undefined);
	await pass(2 * MIN_STAY_MS);
	expect(await reason("late", id)).toContain(`needs 1 of the 2 GPUs, and ${says}`);
	expect([of("idle").length, of("late").length]).toEqual([1, 0]);
});

it("D28: only an idle worker on a GPU that fits makes room", async () => {
	withSmi(place.path, [L4, A100]);
	await serve({
		small: using({ models: [L4.model] }),
		large: using({ models: [A100.model] }),
		next: using({ model: "A100" }),
	});
	for (const endpoint of ["small", "large"]) {
		await submitted(service, endpoint);
		await gpuOf(endpoint);
		await works(of(endpoint)[0]!);
	}
	await submitted(service, "next");
	expect(await gpuOf("next")).toBe("1");
	expect([of("small").length, of("large").length]).toEqual([1, 0]);
});

it("D29: without a reading none is assigned by its model, and the reason says so", async () => {
	withSmi(place.path, [L4]).fails();
	await serve({ one: using({ model: "L4" }) });
	const id = await submitted(service, "one");
	await pass(2000);
	expect(await reason("one", id)).toMatch(/the models of this machine's GPUs are not known: nvidia-smi did not answer/);
});

async function scraped(): Promise<string> {
	const response = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${KEY}` } });
	return await response.text();
}

it("D40: /metrics has GPUs by model and use, and how starts of workers went", async () => {
	withSmi(place.path, [L4, A100]);
	await serve({ one: using({}, { gpuMemoryGb: 10, workersMax: 2 }) });
	const gpus = async (model: string): Promise<Record<string, number>> => {
		const text = await scraped();
		const found = text.matchAll(
			new RegExp(`^sluice_gpus\\{host="local",model="${model}",state="(\\w+)"\\} (\\d+)$`, "gm"),
		);
		return Object.fromEntries([...found].map(([, state, n]) => [state, Number(n)]));
	};
	const none = { starting: 0, idle: 0, busy: 0, stopping: 0, other: 0, free: 0 };
	await passUntil(() => service.engine.workers.gpus.fitting({}) !== undefined);
	await submitted(service, "one");
	const number = await gpuOf("one");
	const [model, other] = number === "0" ? [L4.model, A100.model] : [A100.model, L4.model];
	expect([await gpus(model), await gpus(other)]).toEqual([
		{ ...none, starting: 1 },
		{ ...none, free: 1 },
	]);
	const [worker] = of("one");
	const id = await takes(worker!);
	expect(await gpus(model)).toEqual({ ...none, busy: 1 });
	await reports(worker!, id);
	expect(await gpus(model)).toEqual({ ...none, idle: 1 });
	const text = await scraped();
	expect(text).toContain('sluice_worker_starts_total{endpoint="one",outcome="ready"} 1\n');
	expect(text).toContain('sluice_worker_start_seconds_count{endpoint="one"} 1\n');
	expect(text).toContain('sluice_worker_start_phase_seconds_count{endpoint="one",phase="load"} 1\n');
});
