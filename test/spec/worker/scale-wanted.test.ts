/** Workers that a module wants of an endpoint although no job waits that would start one (D57). */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";
import { MIN_STAY_MS } from "../../../src/modules/gpus/placement/eviction.ts";
import { manualClock, type ManualClock } from "../../support/manual-clock.ts";
import { startService, type TestService } from "../../support/service.ts";
import { endWith, submitted } from "../hand-worker.ts";
import { launchedWorkers } from "../launched-workers.ts";
import { wantWorkers } from "../wanted-workers.ts";

let clock: ManualClock;
let service: TestService;
let wanted: Map<string, number>;

/** Starts a service with endpoint `e` and others, whose workers only run. */
async function serve(e: object, others: Record<string, object> = {}, settings: Record<string, unknown> = {}) {
	const common = { launcher: { type: "process", command: ["sleep", "300"] }, stopGraceMs: 0, leaseMs: 600_000 };
	const all = Object.entries({ e, ...others }).map(([id, own]) => [id, { ...common, ...own }]);
	service = await startService({ endpoints: Object.fromEntries(all), settings, clock });
	wanted = wantWorkers(service);
}

const { pass, passUntil, of, takes, reports, works } = launchedWorkers(() => ({ clock, service }));

beforeEach(() => void (clock = manualClock()));
afterEach(() => endWith(service, clock));

const present = (): Worker[] => of("e").filter(({ draining }) => !draining);
const low = (): Promise<string> => submitted(service, "e", { input: {}, policy: { lowPriority: true } });

it("D57: one is started at once and kept for low-priority jobs, which ask for no other", async () => {
	await serve({ workersMax: 3 });
	for (let jobs = 0; jobs < 9; jobs += 1) await low();
	await pass(3000);
	expect(present(), "none is wanted yet").toEqual([]);
	wanted.set("e", 1);
	service.engine.kernel.scaling.check();
	await pass(50);
	const [worker] = present();
	expect(worker, "without waiting for the check of each second").toBeDefined();
	await takes(worker!);
	await pass(20_000);
	expect(present()).toEqual([worker]);
});

it("D57, D27: an ordinary job that waits longer than scalerValue starts another one", async () => {
	await serve({ workersMax: 3, scalerValue: 4 });
	wanted.set("e", 1);
	await low();
	await pass(1000);
	await takes(present()[0]!);
	await submitted(service, "e");
	await pass(3500);
	expect(present()).toHaveLength(1);
	await pass(1000);
	expect(present()).toHaveLength(2);
});

it("D57: an idle one stays while it is wanted, and then goes as any other", async () => {
	await serve({ idleTimeout: 3 });
	wanted.set("e", 1);
	await low();
	await pass(1000);
	const [worker] = present();
	await works(worker!);
	await pass(10_000);
	expect(present(), "longer than idleTimeout").toEqual([worker]);
	await low();
	const job = await takes(worker!);
	wanted.set("e", 0);
	await pass(5000);
	await reports(worker!, job);
	await pass(2000);
	expect(present(), "within idleTimeout").toEqual([worker]);
	await pass(2000);
	expect(present()).toEqual([]);
});

it("D57: no more than workersMax are wanted, and none of a paused endpoint", async () => {
	await serve({ workersMax: 2 });
	await service.engine.endpoints.pause("e", true);
	wanted.set("e", 9);
	await pass(3000);
	expect(present()).toEqual([]);
	await service.engine.endpoints.pause("e", false);
	await pass(3000);
	expect(present()).toHaveLength(2);
});

describe("wanted where GPUs are few", () => {
	/** Time passes until the endpoint has such a worker. */
	async function started(endpoint: string): Promise<Worker> {
		await passUntil(() => of(endpoint).length > 0);
		return of(endpoint)[0]!;
	}

	it("D57, D28: one with low-priority jobs only makes room within its turn, and comes back last", async () => {
		const day = { gpusPerWorker: 1, idleTimeout: 3 };
		await serve({ gpusPerWorker: 1, priority: "high" }, { day }, { gpus: 1 });
		wanted.set("e", 1);
		for (let jobs = 0; jobs < 2; jobs += 1) await low();
		const worker = await started("e");
		const job = await takes(worker);
		await submitted(service, "day");
		await pass(MIN_STAY_MS - 2000);
		expect(worker.draining, "within its stay").toBe(false);
		await pass(4000);
		expect(worker.retiring).toBe("it makes room for endpoint day");
		expect(of("day")).toEqual([]);
		await reports(worker, job);
		const next = await started("day");
		const ordinary = await takes(next);
		await pass(MIN_STAY_MS + 2000);
		expect(next.draining, "for one that no job needs").toBe(false);
		expect(of("e")).toEqual([]);
		await reports(next, ordinary);
		await started("e");
		expect(of("day")).toEqual([]);
	});

	it("D57, D28: one that no job needs stops none, also while a job waits", async () => {
		const day = { gpusPerWorker: 1, idleTimeout: 3600 };
		await serve({ gpusPerWorker: 1, scalerValue: 600 }, { day }, { gpus: 2 });
		await submitted(service, "day");
		const idle = await started("day");
		await works(idle);
		wanted.set("e", 2);
		await low();
		const worker = await started("e");
		await takes(worker);
		await submitted(service, "e");
		await pass(MIN_STAY_MS + 5000);
		expect(of("day")).toEqual([idle]);
		expect(of("e")).toEqual([worker]);
	});
});
