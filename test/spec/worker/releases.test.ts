/**
 * How workers of an earlier release make place for those of the current one (D50): real processes that
 * do nothing; the test calls for them, on a clock of its own.
 */
import { mkdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MIN_STAY_MS } from "../../../src/modules/gpus/placement/eviction.ts";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";
import { markStopping, withdrawStop } from "../../../src/kernel/engine/workers/worker-transitions.ts";
import { call } from "../../support/service.ts";
import { submitted } from "../hand-worker.ts";
import { LAUNCHED, releaseService } from "./release-service.ts";

const {
	pass,
	passUntil,
	of,
	takes,
	reports,
	works,
	at,
	serve,
	change,
	callOf,
	staying,
	versions,
	states,
	ready,
	restart,
	rollBack,
	nextRollback,
} = releaseService();

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

	it("D50: take jobs until a new one has finished a job, and again after a rollback", async () => {
		await serve({ workersMin: 1, workersMax: 1, scalerType: "REQUEST_COUNT" });
		const [old] = await ready(1);
		const jobs = [];
		for (let n = 0; n < 4; n += 1) jobs.push(await submitted(at.service, "ep"));
		await takes(old!);
		await change({ env: { MODE: "new" } });
		const [, fresh] = await staying(2);
		const first = await takes(fresh!);
		await pass(3000);
		expect(old!.draining).toBe(false);
		await reports(fresh!, first);
		await pass(2000);
		expect([old!.draining, old!.held.size]).toEqual([true, 1]);
		await rollBack(1);
		expect(old!.draining, "it runs the current settings again").toBe(false);
	});

	it("D50: under constant load never fewer take jobs than before, and each job is done once", async () => {
		await serve({ workersMin: 3, workersMax: 3, scalerType: "REQUEST_COUNT" });
		await ready(3);
		const done: string[] = [];
		at.service.events.on("job.settled", ({ id }) => void done.push(id));
		await change({ env: { MODE: "new" } });
		const ids: string[] = [];
		let least = Infinity;
		for (let n = 0; n < 200 && !(of("ep").length === 3 && versions(of("ep")).every((each) => each === 2)); n += 1) {
			for (let more = 0; more < 5; more += 1) ids.push(await submitted(at.service, "ep"));
			const taking = of("ep").filter(({ draining }) => !draining);
			const held = [];
			for (const worker of taking) held.push({ worker, id: await takes(worker) });
			await pass(100);
			for (const { worker, id } of held) await reports(worker, id);
			least = Math.min(least, of("ep").filter((each) => each.ready && !each.draining).length);
			await pass(50);
		}
		expect(versions(await staying(3))).toEqual([2, 2, 2]);
		expect(least).toBeGreaterThanOrEqual(3);
		while (done.length < ids.length) {
			for (const worker of of("ep").filter(({ draining }) => !draining))
				if (done.length < ids.length) await works(worker);
			await pass(50);
		}
		expect(done.toSorted()).toEqual(ids.toSorted());
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
		const undone = nextRollback();
		let over = false;
		void undone.finally(() => (over = true));
		while (!over) await pass(500);
		await pass(3000);
		const workers = await staying(2);
		expect(workers.filter((worker) => old.includes(worker))).toHaveLength(1);
		expect(versions(workers)).toEqual([3, 3]);
		expect((await call(at.service.url, "/v1/endpoints/ep")).json.rolledBack).toMatch(
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

	it("D50: with maxSurge 0 none starts beside them: one leaves, and the next once a new one is healthy", async () => {
		await serve({ workersMin: 3, workersMax: 3, release: { maxSurge: 0 } });
		await ready(3);
		await change({ env: { MODE: "new" } });
		await pass(3000);
		const all = await staying(3);
		expect(versions(all)).toEqual([1, 1, 2]);
		callOf(all[2]!);
		await passUntil(() => String(versions(of("ep").filter(({ draining }) => !draining))) === "1,2,2");
	});

	it("D27, D50: the last one stays until a new one is healthy, also if its stop was withdrawn meanwhile", async () => {
		await serve({ workersMin: 2, workersMax: 2, release: { maxSurge: 0 } });
		const old = await ready(2);
		await change({ env: { MODE: "new" } });
		await passUntil(() => old.some(({ draining }) => draining));
		const last = old.find(({ draining }) => !draining)!;
		// As idle for too long; then its platform does not answer.
		markStopping(last, { isSurplus: true });
		await pass(2000);
		withdrawStop(last);
		await pass(3000);
		expect(last.draining).toBe(false);
		for (const worker of of("ep")) if (!old.includes(worker)) callOf(worker);
		await passUntil(() => last.draining);
	});
});

describe("a restart, or a change, in the middle of a replacement", () => {
	/** Versions of the workers that get jobs. */
	const current = (): (number | undefined)[] => versions(of("ep").filter(({ draining }) => !draining));

	it("D50: a new worker that had not called yet is not taken as healthy by the restart", async () => {
		await serve({ workersMin: 1, workersMax: 1 });
		await ready(1);
		await change({ env: { MODE: "new" } });
		await staying(2);
		await restart();
		for (const worker of of("ep").filter((each) => versions([each])[0] === 1)) callOf(worker);
		await pass(3000);
		expect(current()).toEqual([1, 2]);
		expect((await states())[0]).toEqual([2, "unproven"]);
		callOf(of("ep").find((each) => versions([each])[0] === 2)!);
		await passUntil(() => String(current()) === "2");
	});

	it("D50: healthy workers that have taken the place of others take no second one", async () => {
		await serve({ workersMin: 4, workersMax: 4 });
		await ready(4);
		await change({ env: { MODE: "new" } });
		for (const mix of ["1,1,1,2", "1,1,2,2"]) {
			await passUntil(() => current().length === 5);
			callOf(of("ep").findLast(({ ready: hasCalled }) => !hasCalled)!);
			await passUntil(() => String(current().slice(0, 4)) === mix);
		}
		await restart();
		for (const worker of of("ep").slice(0, 4)) callOf(worker);
		await pass(5000);
		expect(current()).toEqual([1, 1, 2, 2, 2]);
		// Back to the first version: the new ones are the earlier ones now.
		await rollBack(1);
		await pass(3000);
		const calling = of("ep").filter((worker) => !worker.draining && worker.ready);
		expect(calling.length).toBeGreaterThanOrEqual(4);
	});

	it("D50: the old one leaves that a healthy one had replaced before a restart", async () => {
		await serve({ workersMin: 1, workersMax: 1 });
		const [old] = await ready(1);
		await submitted(at.service, "ep");
		await takes(old!);
		await change({ env: { MODE: "new" } });
		callOf((await staying(2))[1]!);
		await passUntil(() => old!.draining);
		await restart();
		await pass(50);
		for (const worker of of("ep")) callOf(worker);
		await passUntil(() => String(current()) === "2");
	});
});

describe("a version whose workers end", () => {
	/** A program that runs until the file is there. */
	const until = (file: string): object => ({
		command: ["sh", "-c", `while ! [ -e ${join(at.place.path, file)} ]; do sleep 0.02; done; exit 3`],
	});
	const write = (file: string): void => writeFileSync(join(at.place.path, file), "");

	it("D50: at its first job counts a crash, however long it took to start", async () => {
		await serve({ workersMin: 1, workersMax: 1, scalerType: "REQUEST_COUNT", release: { failAfter: 1 } });
		const [old] = await ready(1);
		for (let n = 0; n < 3; n += 1) await submitted(at.service, "ep");
		await takes(old!);
		await change({ launcher: until("end") });
		const [, fresh] = await staying(2);
		await pass(15_000);
		await takes(fresh!);
		const undone = nextRollback();
		// The next one would run.
		at.service.events.on("worker.exited", () => rmSync(join(at.place.path, "end"), { force: true }));
		write("end");
		let over = false;
		void undone.finally(() => (over = true));
		for (let n = 0; n < 40 && !over; n += 1) await pass(500);
		expect((await states())[1]).toEqual([2, "failed"]);
	});

	it("D28, D50: is started ever less often, whatever jobs the old workers finish", async () => {
		await serve({ workersMin: 1, workersMax: 1, release: { failAfter: 0 } });
		const [old] = await ready(1);
		const pauses: number[] = [];
		at.service.events.on("worker.failed", ({ retryMs }) => void pauses.push(retryMs));
		await pass(10_000);
		await change({ launcher: { command: ["false"] } });
		while (pauses.length < 3) {
			await submitted(at.service, "ep");
			await works(old!);
			await pass(500);
		}
		expect(pauses).toEqual([1000, 2000, 4000]);
	});

	it("D50: is tried to be undone once where the settings before are refused by now", async () => {
		const missing = join(at.place.path, "missing");
		mkdirSync(missing);
		const launcher = { ...LAUNCHED.launcher, cwd: missing };
		await serve({ workersMin: 1, workersMax: 1, launcher, release: { failAfter: 1 } });
		await ready(1);
		const faults: string[] = [];
		at.service.events.on("fault", ({ where, error }) => void faults.push(`${where}: ${(error as Error).message}`));
		rmdirSync(missing);
		await change({ launcher: { command: ["false"], cwd: at.place.path } });
		while (faults.length === 0) await pass(500);
		await pass(5000);
		expect(faults).toEqual([expect.stringContaining("rollback of ep")]);
	});

	it("D50: is not undone if the service returned to it: it was healthy once", async () => {
		await serve({ workersMin: 1, workersMax: 1, release: { failAfter: 1 } });
		await ready(1);
		await change({ launcher: until("end") });
		callOf((await staying(2))[1]!);
		await staying(1);
		await change({ workersMin: 0, idleTimeout: 1 });
		while ([...of("ep")].length > 0) await pass(500);
		await change({ launcher: { command: ["false"] } });
		write("end");
		await submitted(at.service, "ep");
		const crashes: (string | undefined)[] = [];
		at.service.events.on("worker.failed", ({ launchedAs }) => void crashes.push(launchedAs));
		while (crashes.length < 4) await pass(500);
		expect((await states())[0]).toEqual([4, "unproven"]);
	});
});

describe("GPUs that a new version cannot get", () => {
	it("D50: where nothing counts them, a worker starts within workersMax only: an old one leaves first", async () => {
		await serve({ gpusPerWorker: 0, workersMin: 1, workersMax: 1 });
		const [old] = await ready(1);
		let most = 0;
		const watched = (): Worker[] => {
			most = Math.max(most, of("ep").length);
			return of("ep");
		};
		await change({ env: { MODE: "new" } });
		await passUntil(() => String(versions(watched())) === "2");
		expect([most, watched().includes(old!)]).toEqual([1, false]);
	});

	it("D50: no worker leaves for a version that no GPUs of the machine suffice for", async () => {
		await serve({ workersMin: 1, workersMax: 1, gpusPerWorker: 1 }, { gpus: 2 });
		const [old] = await ready(1);
		await change({ gpusPerWorker: 3 });
		await pass(5000);
		expect(old!.draining).toBe(false);
	});

	it("D50: as many make place as the first worker of the new version needs", async () => {
		await serve({ workersMin: 2, workersMax: 2, gpusPerWorker: 1 }, { gpus: 2 });
		await ready(2);
		await change({ gpusPerWorker: 2, workersMin: 1 });
		await pass(10_000);
		expect(versions(await staying(1))).toEqual([2]);
	});
});

describe("GPUs that others wait for", () => {
	it("D28, D50: no worker beside the old ones takes what was made free for a job", async () => {
		await serve({ workersMin: 1, workersMax: 1, gpusPerWorker: 1, priority: "high" }, { gpus: 2 });
		await ready(1);
		const launched = { ...LAUNCHED, gpusPerWorker: 1 };
		const stubborn = { type: "process", command: ["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"] };
		await at.service.engine.endpoints.create({ id: "idle", ...launched, launcher: stubborn, stopGraceMs: 5000 });
		await submitted(at.service, "idle");
		await passUntil(() => of("idle").length === 1);
		await works(of("idle")[0]!);
		await pass(MIN_STAY_MS + 1000);
		await at.service.engine.endpoints.create({ id: "waits", ...launched });
		await submitted(at.service, "waits");
		await passUntil(() => of("idle")[0]!.draining);
		await change({ env: { MODE: "new" } });
		await passUntil(() => of("idle").length === 0);
		await pass(1000);
		expect(of("waits").map(({ gpus }) => gpus)).toEqual([[1]]);
	});
});
