/**
 * How workers of an earlier release make place for those of the current one (D50): real processes that
 * do nothing; the test calls for them, on a clock of its own.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KEPT_RELEASES } from "../../../src/core/releases/history.ts";
import type { Worker } from "../../../src/engine/workers/worker-registry.ts";
import { manualClock, type ManualClock } from "../../support/manual-clock.ts";
import { call, folder, type Folder, startService, type TestService } from "../../support/service.ts";
import { endWith, submitted } from "../hand-worker.ts";
import { launchedWorkers } from "../launched-workers.ts";

const SLEEPS = { type: "process", command: ["sleep", "300"] };
const LAUNCHED = { launcher: SLEEPS, stopGraceMs: 0, idleTimeout: 3600 };

let clock: ManualClock;
let place: Folder;
let service: TestService;

const { pass, passUntil, of, takes, reports } = launchedWorkers(() => ({ clock, service }));

beforeEach(() => {
	clock = manualClock();
	place = folder();
});
afterEach(async () => {
	await endWith(service, clock);
	place.remove();
});

async function serve(settings: object, options: Record<string, unknown> = {}): Promise<void> {
	service = await startService({
		endpoints: { ep: { ...LAUNCHED, ...settings } },
		settings: options,
		clock,
		in: place,
	});
}

const change = (body: object): Promise<unknown> => service.engine.endpoints.update("ep", body);
const callOf = ({ id, endpoint }: Worker): Worker => service.engine.workers.recordCall({ id, endpoint });

/** Time passes until so many workers stay that this service launched. */
async function staying(count: number): Promise<Worker[]> {
	const present = (): Worker[] => of("ep").filter(({ draining }) => !draining);
	while (present().length !== count) await pass(50);
	return present();
}

const versions = (workers: readonly Worker[]): (number | undefined)[] =>
	workers.map((worker) => service.engine.releases.versionOf("ep", worker));

async function states(): Promise<[number, string][]> {
	const { releases } = await service.engine.releases.history("ep");
	return releases.map(({ version, state }) => [version, state]);
}

/** Workers of version 1 that have called. */
async function ready(count: number): Promise<Worker[]> {
	const workers = await staying(count);
	for (const worker of workers) callOf(worker);
	await pass(1000);
	return workers;
}

describe("workers of an earlier release", () => {
	it("D50: one new worker starts beside them, and each that is healthy takes the place of one", async () => {
		await serve({ workersMin: 2, workersMax: 2 });
		const old = await ready(2);
		await change({ env: { MODE: "new" } });
		const [, , first] = await staying(3);
		await pass(5000);
		expect(versions(await staying(3)), "until the new one has called").toEqual([1, 1, 2]);
		callOf(first!);
		const present = (): Worker[] => of("ep").filter(({ draining }) => !draining);
		await passUntil(() => String(versions(present())) === "1,2,2");
		callOf(present()[2]!);
		await pass(2000);
		expect(versions(await staying(2))).toEqual([2, 2]);
		expect(of("ep").filter((worker) => old.includes(worker))).toEqual([]);
		expect(await states()).toEqual([
			[2, "healthy"],
			[1, "healthy"],
		]);
	});

	it("D50: take jobs until a new one has finished minJobs, and again after a rollback", async () => {
		await serve({ workersMin: 1, workersMax: 1, scalerType: "REQUEST_COUNT", release: { minJobs: 2 } });
		const [old] = await ready(1);
		const jobs = [];
		for (let n = 0; n < 4; n += 1) jobs.push(await submitted(service, "ep"));
		await takes(old!);
		await change({ env: { MODE: "new" } });
		const [, fresh] = await staying(2);
		await reports(fresh!, await takes(fresh!));
		await pass(3000);
		expect(old!.draining).toBe(false);
		await reports(fresh!, await takes(fresh!));
		await pass(2000);
		expect([old!.draining, old!.held.size]).toEqual([true, 1]);
		await service.engine.releases.rollBack("ep", { version: 1, by: "key" });
		expect(old!.draining, "it runs the current settings again").toBe(false);
	});

	it("D50: with GPUs that are all taken, one makes place, and the next one waits for a healthy worker", async () => {
		await serve({ workersMin: 2, workersMax: 2, gpusPerWorker: 1 }, { gpus: 2 });
		await ready(2);
		await change({ env: { MODE: "new" } });
		await pass(5000);
		const [kept, fresh] = await staying(2);
		expect(versions([kept!, fresh!])).toEqual([1, 2]);
		callOf(fresh!);
		await pass(5000);
		expect(versions(await staying(2))).toEqual([2, 2]);
	});

	it("D50: stay while the new ones crash, also without room, and are current again after the rollback", async () => {
		await serve({ workersMin: 2, workersMax: 2, gpusPerWorker: 1 }, { gpus: 2 });
		const old = await ready(2);
		await change({ launcher: { command: ["false"] } });
		const undone = service.next("release.rolled_back");
		let over = false;
		void undone.finally(() => (over = true));
		while (!over) await pass(500);
		await pass(3000);
		const workers = await staying(2);
		expect(workers.filter((worker) => old.includes(worker))).toHaveLength(1);
		expect(versions(workers)).toEqual([3, 3]);
		expect((await call(service.url, "/v1/endpoints/ep")).json.rolledBack).toMatch(
			/^Version 2 was rolled back to version 1/,
		);
	});

	it("D50: leave at once where they were not ready, or the endpoint launches none any more", async () => {
		await serve({ workersMin: 1, workersMax: 1 });
		const [starting] = await staying(1);
		await change({ env: { MODE: "new" } });
		expect(starting!.draining).toBe(true);
		const [next] = await staying(1);
		callOf(next!);
		await change({ launcher: { type: "external" } });
		expect(next!.draining).toBe(true);
	});

	it("D50: with maxSurge 0 none starts beside them; maxUnavailable lets several leave after the first", async () => {
		await serve({ workersMin: 3, workersMax: 3, release: { maxSurge: 0, maxUnavailable: 2 } });
		await ready(3);
		await change({ env: { MODE: "new" } });
		await pass(3000);
		const all = await staying(3);
		expect(versions(all)).toEqual([1, 1, 2]);
		callOf(all[2]!);
		await pass(3000);
		expect(versions(await staying(3))).toEqual([2, 2, 2]);
	});
});

describe("releases of an endpoint", () => {
	it("D50: scaling and the same settings make none; a rollback is one, with settings and values", async () => {
		await serve({ env: { TOKEN: "one" } });
		await change({ workersMax: 7, env: { TOKEN: "one" } });
		expect(await states()).toEqual([[1, "unproven"]]);
		await change({ env: { TOKEN: "two" } });
		await service.engine.releases.rollBack("ep", { version: 1, by: "key" });
		expect(service.engine.endpoints.get("ep")).toMatchObject({ workersMax: 7, env: { TOKEN: "one" } });
		const [newest] = (await service.engine.releases.history("ep")).releases;
		expect(newest).toMatchObject({ version: 3, source: "rollback", createdBy: "key" });
		await service.engine.releases.rollBack("ep", { version: 3, by: "key" });
		expect(await states()).toHaveLength(3);
	});

	it("D50: an endpoint that an earlier version stored is version 1, and can come back", async () => {
		await serve({ env: { TOKEN: "one" } });
		await service.end();
		const db = new DatabaseSync(join(place.path, "sluice.db"));
		db.exec("DELETE FROM releases");
		db.close();
		await serve({ env: { TOKEN: "one" } });
		expect(await states()).toEqual([[1, "healthy"]]);
		await change({ env: { TOKEN: "two" } });
		expect(await states()).toEqual([
			[2, "unproven"],
			[1, "healthy"],
		]);
		await service.engine.releases.rollBack("ep", { version: 1, by: "key" });
		expect(service.engine.endpoints.get("ep").env).toEqual({ TOKEN: "one" });
	});

	it("D50: 100 are kept, and those that workers run", async () => {
		await serve({ workersMin: 1, workersMax: 1, scalerType: "REQUEST_COUNT" });
		const [busy] = await ready(1);
		await submitted(service, "ep");
		await takes(busy!);
		await change({ env: { N: "" } });
		callOf((await staying(2))[1]!);
		await passUntil(() => busy!.draining);
		for (let n = 0; n <= KEPT_RELEASES; n += 1) await change({ env: { N: String(n) } });
		const kept = await states();
		const running = versions(of("ep"));
		expect(running).toContain(1);
		// Version 2 is what a rollback would return to; a worker may have started in the middle.
		const older = kept.map(([version]) => version).filter((version) => version <= 3);
		expect(older).toEqual([3, 2, 1].filter((version) => version === 2 || running.includes(version)));
	});

	it("D49, D50: RunPod's list of them has its members, and pages", async () => {
		await serve({ workersMin: 1, env: { TOKEN: "one" } });
		await ready(1);
		await change({ env: { TOKEN: "a secret value" } });
		const path = "/v2/serverless/ep/releases";
		const { json, text } = await call(service.url, `${path}?limit=1`);
		expect(text).not.toContain("a secret value");
		expect(json).toMatchObject({
			endpointVersion: 2,
			rollout: { inProgress: true },
			releases: [
				{
					id: "ep-2",
					version: 2,
					source: "MANUAL",
					buildId: null,
					diff: [{ field: "template.env.TOKEN", old: "(set)", new: "(changed)" }],
				},
			],
			pagination: { hasNextPage: true },
		});
		const next = await call(service.url, `${path}?limit=1&cursor=${json.pagination.nextCursor}`);
		expect(next.json).toMatchObject({ releases: [{ version: 1, diff: [] }], pagination: { hasNextPage: false } });
		expect((await call(service.url, `${path}?cursor=x`)).status).toBe(422);
		expect((await call(service.url, "/v2/serverless/none/releases")).status).toBe(404);
	});
});
