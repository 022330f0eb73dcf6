/**
 * SDK workers against the service as a process of its own, on the real clock: `kill -9` under work,
 * and handlers that block (D16, D17; protocol B.4, B.6, B.7).
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { type SdkHandler, type SdkWorker, sdkWorker } from "../../support/sdk-worker.ts";
import { EP, statusOf, submit, workerEnvOf } from "../../support/sdk-worker-bench.ts";
import { call, folder, type Folder, type ServiceProcess, spawnService } from "../../support/service.ts";
import { untilTrue } from "../../support/until.ts";

let place: Folder;
let service: ServiceProcess;
let workers: SdkWorker[];

const start = async (settings: object = {}, port = 0): Promise<void> => {
	service = await spawnService({ in: place, endpoints: { [EP]: settings }, port });
};

/** Kills the service without warning; answers what starts it again at the same address. */
async function killed(): Promise<() => Promise<void>> {
	const port = Number(new URL(service.url).port);
	await service.end("SIGKILL");
	return async () => start({}, port);
}

async function sdk(handler: SdkHandler, q: { pingEveryMs?: number; concurrency?: number } = {}): Promise<SdkWorker> {
	const worker = sdkWorker({
		env: await workerEnvOf(service.url),
		handler,
		sleep: systemClock.sleep,
		...q,
	});
	workers.push(worker);
	return worker;
}

async function ended(id: string): Promise<any> {
	const { json } = await call(service.url, `/v2/${EP}/status-sync/${id}?wait=25000`);
	return json;
}

beforeEach(() => {
	place = folder();
	workers = [];
});
afterEach(async () => {
	for (const worker of workers) await worker.kill();
	if (service?.child.exitCode === null && service.child.signalCode === null) await service.end("SIGKILL");
	place.remove();
});

describe("D16, D17: kill -9 of the service", () => {
	it("a job at work when it dies is reported after its return and ran once; others are unchanged", async () => {
		await start();
		const ends: string[] = [];
		let finish = (): void => {};
		const worker = await sdk(async ({ id, input }) => {
			if (input.hold) await new Promise<void>((resolve) => (finish = resolve));
			ends.push(id);
			return { n: input.n };
		});
		const first = await submit(service.url, { input: { n: 1 } });
		expect(await ended(first)).toMatchObject({ status: "COMPLETED", output: { n: 1 } });
		const held = await submit(service.url, { input: { n: 2, hold: true } });
		await untilTrue(() => worker.began.includes(held));
		const waiting = await submit(service.url, { input: { n: 3 } });
		const again = await killed();
		await again();
		expect(await statusOf(service.url, first)).toMatchObject({
			status: "COMPLETED",
			output: { n: 1 },
		});
		expect(await statusOf(service.url, held)).toMatchObject({
			status: "IN_PROGRESS",
			workerId: worker.protocol.id,
		});
		finish();
		const last = await ended(held);
		expect(last).toMatchObject({ status: "COMPLETED", output: { n: 2 } });
		expect(last).not.toHaveProperty("retries");
		expect(await ended(waiting)).toMatchObject({ status: "COMPLETED", output: { n: 3 } });
		expect(ends).toEqual([first, held, waiting]);
	});

	it("a result posted while it is down is lost, as SDKs lose it; the next take proves it", async () => {
		// Its end is what gives the job back; the default of 20 s leaves little of the wait below.
		await start({ leaseMs: 5000 });
		let finish = (): void => {};
		let runs = 0;
		const worker = await sdk(async () => {
			runs += 1;
			if (runs === 1) await new Promise<void>((resolve) => (finish = resolve));
			return runs;
		});
		const id = await submit(service.url);
		await untilTrue(() => worker.began.length === 1);
		const again = await killed();
		finish();
		await untilTrue(() => worker.errors.includes("Failed to return job results. | Server disconnected"));
		await again();
		expect(await ended(id)).toMatchObject({ status: "COMPLETED", output: 2, retries: 1 });
	});
});

describe("B.4, B.7: a handler that blocks the worker's only thread", () => {
	it("keeps its lease by pings of the ping thread alone, far longer than the lease", async () => {
		await start({ leaseMs: 2000 });
		let pings: Int32Array;
		let blockedMs = 0;
		const worker = await sdk(
			() => {
				const began = systemClock.now();
				// Really blocks: nothing else of this thread runs until the ping thread has pinged four
				// times more.
				for (let seen = Atomics.load(pings, 0), target = seen + 4; seen < target; seen = Atomics.load(pings, 0))
					Atomics.wait(pings, 0, seen, 20_000);
				blockedMs = systemClock.now() - began;
				return "slow";
			},
			{ pingEveryMs: 1000 },
		);
		({ pings } = worker);
		await untilTrue(() => Atomics.load(pings, 0) > 0);
		const id = await submit(service.url);
		const slow = await ended(id);
		expect(slow).toMatchObject({ status: "COMPLETED", output: "slow" });
		expect(slow).not.toHaveProperty("retries");
		expect(blockedMs).toBeGreaterThan(2000);
		expect(worker.began).toEqual([id]);
	});
});
