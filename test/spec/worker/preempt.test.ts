/**
 * Busy workers that end for a higher priority, so that their jobs begin again (D28). Real processes; no GPU is needed.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MAX_LOSSES } from "../../../src/kernel/core/jobs/job-transitions.ts";
import { MIN_STAY_MS, TURN_MS } from "../../../src/kernel/core/workers/eviction.ts";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";
import { manualClock, type ManualClock } from "../../support/manual-clock.ts";
import { call, folder, type Folder, startService, type TestService } from "../../support/service.ts";
import { endWith, submitted } from "../hand-worker.ts";
import { launchedWorkers } from "../launched-workers.ts";

let clock: ManualClock;
let place: Folder;
let service: TestService;
let ended: string[];

const notes = (): string => join(place.path, "started");

/** Workers that have one GPU and note that they run. */
function sharing(rest: object): object {
	return {
		launcher: { type: "process", command: ["sh", "-c", 'echo "$RUNPOD_POD_ID" >> "$NOTES"; exec sleep 300'] },
		env: { NOTES: notes() },
		stopGraceMs: 0,
		idleTimeout: 3600,
		scalerType: "REQUEST_COUNT",
		scalerValue: 1,
		gpusPerWorker: 1,
		...rest,
	};
}

const LOW = { priority: "low", preempt: "requeue", workersMax: 1, leaseMs: 600_000 };

async function serve(endpoints: Record<string, object>): Promise<void> {
	service = await startService({ endpoints, settings: { gpus: 1 }, clock, in: place });
	ended = [];
	service.events.on("worker.exited", ({ worker }) => ended.push(worker));
}

const { pass, takes, works } = launchedWorkers(() => ({ clock, service }));

beforeEach(() => {
	clock = manualClock();
	place = folder();
});
afterEach(async () => {
	await endWith(service, clock);
	place.remove();
});

/** Time passes until the endpoint has one worker, which runs. */
async function running(endpoint: string): Promise<Worker> {
	const runs = ({ id }: Worker): boolean => existsSync(notes()) && readFileSync(notes(), "utf8").includes(`${id}\n`);
	for (;;) {
		const [worker, ...others] = service.engine.workers.of(endpoint);
		if (worker && others.length === 0 && runs(worker)) return worker;
		await pass(50);
	}
}

describe("busy workers", () => {
	it("D28: are preempted where their endpoint says so, and their job begins again as often as that", async () => {
		await serve({ low: sharing(LOW), high: sharing({ priority: "high" }) });
		const job = await submitted(service, "low");
		const { engine } = service;
		for (let times = 1; times <= MAX_LOSSES; times += 1) {
			const worker = await running("low");
			expect(await takes(worker)).toBe(job);
			const id = await submitted(service, "high");
			await pass(MIN_STAY_MS + 1000);
			const next = await running("high");
			expect(ended.at(-1)).toBe(worker.id);
			expect(await engine.jobs.details({ endpoint: "low", id: job })).toMatchObject({
				job: { state: "IN_QUEUE", losses: 0 },
				attempts: Array.from({ length: times }, () => ({ end: "released" })),
			});
			await works(next);
			expect((await engine.jobs.details({ endpoint: "high", id })).job.state).toBe("COMPLETED");
			await pass(MIN_STAY_MS);
		}
		await works(await running("low"));
		expect((await engine.jobs.details({ endpoint: "low", id: job })).job.state).toBe("COMPLETED");
		const { json } = await call(service.url, "/v1/endpoints/low/workers?ended=true");
		expect(json.ended).toMatchObject(Array.from({ length: MAX_LOSSES }, () => ({ code: "preempted" })));
	});

	it("D28: are preempted too while they would finish their job first", async () => {
		await serve({ low: sharing(LOW), other: sharing({ priority: "low" }), high: sharing({ priority: "high" }) });
		const job = await submitted(service, "low");
		const worker = await running("low");
		await takes(worker);
		await submitted(service, "other");
		await pass(TURN_MS + 1000);
		expect(worker.retiring).toBe("it makes room for endpoint other");
		await submitted(service, "high");
		await pass(2000);
		expect([...service.engine.workers.of("high")]).toHaveLength(1);
		expect(ended).toEqual([worker.id]);
		const details = await service.engine.jobs.details({ endpoint: "low", id: job });
		expect(details).toMatchObject({ job: { state: "IN_QUEUE", losses: 0 } });
	});
});
