/**
 * GPUs of the machine, shared out among launched workers (D27, D29). Real processes that write down
 * the environment that they get; no GPU is needed.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MIN_STAY_MS } from "../../../src/core/workers/gpu-allocation.ts";
import type { Worker } from "../../../src/engine/workers/worker-registry.ts";
import { manualClock, type ManualClock } from "../../support/manual-clock.ts";
import { call, folder, type Folder, startService, type TestService } from "../../support/service.ts";
import { endWith, submitted } from "../hand-worker.ts";

let clock: ManualClock;
let place: Folder;
let service: TestService;
let ended: string[];

const notes = (): string => join(place.path, "gpus");

/** Workers that note their id and what GPUs they see, and need so many. */
function needing(gpusPerWorker: number, rest: object = {}): object {
	const command = ["sh", "-c", 'echo "$RUNPOD_POD_ID ${CUDA_VISIBLE_DEVICES-all}" >> "$NOTES"; exec sleep 300'];
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

async function serve(endpoints: Record<string, object>, settings: object = { gpus: 2 }): Promise<void> {
	service = await startService({ endpoints, settings: { ...settings }, clock, in: place });
	ended = [];
	service.events.on("worker.exited", ({ worker }) => ended.push(worker));
}

beforeEach(() => {
	clock = manualClock();
	place = folder();
});
afterEach(async () => {
	await endWith(service, clock);
	place.remove();
});

async function pass(ms: number): Promise<void> {
	for (let left = ms; left > 0; left -= 50) {
		await clock.advance(50);
		await service.engine.ready();
	}
}

const of = (endpoint: string): Worker[] => [...service.engine.workers.of(endpoint)];

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

/** The worker calls for the first time, takes a job and reports it. */
async function works(worker: Worker): Promise<void> {
	const { engine } = service;
	engine.workers.recordCall(worker);
	const [job] = await engine.jobs.take({
		worker,
		limit: 1,
		idle: false,
		signal: new AbortController().signal,
	});
	await engine.jobs.report({
		worker,
		id: job!.id,
		report: { kind: "end", on: "complete", restart: false },
	});
}

const reason = async (endpoint: string, id: string): Promise<object> =>
	(await service.engine.jobs.details({ endpoint, id })).reason!;

describe("gpus and gpusPerWorker", () => {
	it("D27: each worker sees its own GPUs, and one that needs none sees none", async () => {
		await serve({ one: needing(1), two: needing(2), none: needing(0) }, { gpus: 4 });
		for (const endpoint of ["one", "one", "two", "none"]) await submitted(service, endpoint);
		const ones = await running("one", 2);
		expect(new Set(ones.map(seen))).toEqual(new Set(["0", "1"]));
		expect((await running("two", 1)).map(seen)).toEqual(["2,3"]);
		expect((await running("none", 1)).map(seen)).toEqual([""]);
		const { json } = await call(service.url, "/v1/endpoints/two/workers");
		expect(json.workers).toMatchObject([{ gpus: [2, 3] }]);
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
		service.engine.workers.recordCall(worker!);
		await service.engine.jobs.take({
			worker: worker!,
			limit: 1,
			idle: false,
			signal: new AbortController().signal,
		});
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
