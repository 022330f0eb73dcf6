/**
 * Canaries (D50): a new version gets a share of the jobs until those say that it is as good as the last healthy one.
 * Real processes that do nothing; the test takes and reports their jobs, on a clock of its own.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Worker } from "../../../src/kernel/engine/workers/worker-registry.ts";
import { call } from "../../support/service.ts";
import { submitted } from "../hand-worker.ts";
import { releaseService } from "./release-service.ts";

const {
	pass,
	passUntil,
	of,
	takes,
	reports,
	at,
	serve,
	change,
	callOf,
	staying,
	versions,
	states,
	ready,
	restart,
	said,
} = releaseService();

interface Run {
	ms: number;
	fails: boolean;
}

interface Settled {
	id: string;
	state: string;
	release?: number | undefined;
}

/** Each worker takes one job after the other. `run`: of the nth job of a version, from 1. */
function fleet(
	run: (version: number, n: number) => Run = () => ({ ms: 50, fails: false }),
	{ silent = () => false }: { silent?: (worker: { release: number | undefined }) => boolean } = {},
) {
	let isSilent = silent;
	const working = new WeakSet<Worker>();
	const ids: string[] = [];
	const settled: Settled[] = [];
	const started: number[] = [];
	const counts = new Map<number, number>();

	function watch(): void {
		at.service.events.on("job.settled", ({ id, state, release }) => void settled.push({ id, state, release }));
		at.service.events.on("job.started", ({ release }) => void started.push(release!));
	}

	async function work(worker: Worker): Promise<void> {
		const { jobs } = at.service.engine;
		const { signal } = new AbortController();
		while (!worker.draining) {
			callOf(worker);
			const taken = await jobs.take({ worker, limit: 2, idle: false, signal }).catch(() => []);
			for (const { id } of taken) {
				const [version] = versions([worker]);
				const n = (counts.get(version!) ?? 0) + 1;
				counts.set(version!, n);
				const { ms, fails } = run(version!, n);
				await at.clock.sleep(ms);
				const end = fails ? { on: "fail" as const, error: '"no"' } : { on: "complete" as const };
				await jobs.report({ worker, id, report: { kind: "end", ...end, restart: false } });
			}
		}
	}

	/** Jobs come, and time passes. */
	async function round(jobs = 6): Promise<void> {
		const added = Array.from({ length: jobs }, () => submitted(at.service, "ep"));
		ids.push(...(await Promise.all(added)));
		for (const worker of of("ep")) {
			if (working.has(worker) || worker.draining || isSilent({ release: versions([worker])[0] })) continue;
			working.add(worker);
			void work(worker);
		}
		await pass(100);
	}

	watch();
	return {
		...{ settled, started, watch },
		/** The silent ones call from now on. */
		call: (): void => void (isSilent = () => false),
		/** `count`: of new jobs until the next check. */
		async until(isSo: () => boolean | Promise<boolean>, count = 6): Promise<void> {
			while (!(await isSo())) await round(count);
		},
		round,
		/** Until every job has ended, each once. */
		async drained(): Promise<void> {
			const own = (): string[] => settled.map(({ id }) => id).filter((id) => ids.includes(id));
			while (own().length < ids.length) await round(0);
			expect(own().toSorted()).toEqual(ids.toSorted());
		},
	};
}

const present = (): (number | undefined)[] => versions(of("ep").filter(({ draining }) => !draining));
const mix = (): string => String(present().map(String).toSorted());
const current = () => at.service.engine.releases.current("ep");
const listed = async (): Promise<any> => (await call(at.service.url, "/v1/endpoints/ep/releases")).json;
/** Jobs that the current version has completed. */
const completed = async (): Promise<number> => (await listed()).releases[0].jobs.completed;

const RULE = { percent: 25, minJobs: 40, maxMs: 3_600_000 };
const HALF = { ...RULE, percent: 50 };
const THREE = { workersMin: 3, workersMax: 3, release: { canary: RULE } };

describe("a canary", () => {
	it("D50: is undone without a human when three times as many of its jobs fail; no job is lost", async () => {
		await serve({ ...THREE, release: { canary: HALF } });
		await ready(3);
		const jobs = fleet((version, n) => ({ ms: 50, fails: n % (version === 2 ? 2 : 6) === 0 }));
		await change({ env: { MODE: "new" } });
		await jobs.until(() => current().source === "rollback");
		const { reason } = current();
		expect(reason).toMatch(
			/^Version 2 was rolled back to version 1: its jobs were worse: \d+ of \d+ jobs failed \([45]/,
		);
		expect(reason).toMatch(/ %\), p95 \d+ ms, against \d+ of \d+ jobs failed \(1[^(]* %\), p95 \d+ ms\.$/);
		await jobs.until(() => String(present()) === "3,3,3");
		await jobs.drained();
		expect(await states()).toEqual([
			[3, "healthy"],
			[2, "failed"],
			[1, "healthy"],
		]);
		expect(new Set(jobs.settled.map(({ release }) => release))).toEqual(new Set([1, 2, 3]));
	});

	it("D50: that is as good takes the place of the rest after minJobs, and has its share until then", async () => {
		await serve(THREE);
		await ready(3);
		const jobs = fleet((_, n) => ({ ms: 50, fails: n % 10 === 0 }));
		await change({ env: { MODE: "new" } });
		await jobs.until(() => {
			const isOver = current().state === "healthy";
			if (!isOver) expect(present().filter((version) => version === 1).length).toBeGreaterThanOrEqual(2);
			return isOver;
			// No more than its one worker has time for.
		}, 4);
		const shared = [...jobs.started];
		for (let n = 1; n <= 120; n += 1) {
			const share = shared.slice(0, n).filter((version) => version === 2).length;
			expect(share, `of ${n} jobs`).toBeLessThan(n / 4 + 1);
		}
		const busy = shared.slice(shared.indexOf(2)).slice(0, 100);
		expect(busy.filter((version) => version === 2).length).toBeGreaterThanOrEqual(24);
		await jobs.until(() => String(present()) === "2,2,2");
		await jobs.drained();
		expect(new Set(jobs.settled.map(({ release }) => release))).toEqual(new Set([1, 2]));
	});

	it("D50: ends once the setting is removed: the version takes the place of the rest", async () => {
		await serve({ ...THREE, release: { canary: { ...RULE, minJobs: 10_000 } } });
		await ready(3);
		const jobs = fleet();
		await change({ env: { MODE: "new" } });
		await jobs.until(async () => (await completed()) >= 15);
		expect(mix()).toBe("1,1,2");
		await change({ release: { canary: null } });
		await jobs.until(() => String(present()) === "2,2,2");
		await jobs.drained();
	});

	it("D50: that takes over maxSlowdown times as long is undone at minJobs", async () => {
		await serve({ ...THREE, release: { canary: { ...HALF, minJobs: 20 } } });
		await ready(3);
		const jobs = fleet((version) => ({ ms: version === 2 ? 250 : 50, fails: false }));
		await change({ env: { MODE: "new" } });
		await jobs.until(() => current().source === "rollback");
		expect(current().reason).toMatch(/p95 2\d\d ms, against .* p95 1\d\d ms\.$/);
		await jobs.drained();
	});

	it("D50: of an endpoint that needs one worker starts a second one; no job waits for its share alone", async () => {
		const until = 'while ! [ -e "$END" ]; do sleep 0.02; done; exit 3';
		const launcher = { type: "process", command: ["sh", "-c", until] };
		const end = (name: string): string => join(at.place.path, name);
		const env = { END: end("first") };
		await serve({ launcher, env, workersMin: 0, workersMax: 2, release: { canary: { ...RULE, percent: 10 } } });
		await submitted(at.service, "ep");
		const [old] = await staying(1);
		await reports(callOf(old!), await takes(old!));
		await pass(1000);
		await change({ env: { END: end("second") } });
		const held = await submitted(at.service, "ep");
		const [, fresh] = await staying(2);
		expect(versions(await staying(2))).toEqual([1, 2]);
		expect(await takes(fresh!)).toBe(held);
		await reports(fresh!, held);
		await submitted(at.service, "ep");
		const next = takes(fresh!);
		await pass(2000);
		expect(fresh!.held.size, "while the other one is there").toBe(0);
		let exitedAt = Infinity;
		at.service.events.on("worker.exited", () => (exitedAt = at.clock.now()));
		writeFileSync(end("first"), "");
		await passUntil(() => fresh!.held.size === 1);
		const waitedMs = at.clock.now() - exitedAt;
		expect(waitedMs).toBeGreaterThanOrEqual(0);
		expect(waitedMs).toBeLessThan(2000);
		await reports(fresh!, await next);
	});

	it("D16, D50: a result that comes late counts for the version of its worker", async () => {
		await serve({ workersMin: 1, leaseMs: 5000 });
		const [worker] = await ready(1);
		const settled: unknown[] = [];
		at.service.events.on("job.settled", ({ release }) => void settled.push(release));
		const id = await submitted(at.service, "ep");
		const late = at.service.next("job.late");
		expect(await takes(worker!)).toBe(id);
		await pass(7000);
		await reports(worker!, id);
		expect(await late).toMatchObject({ id });
		expect(settled).toEqual([1]);
	});

	it("D50: needs workersMax 2; with less the first healthy worker decides", async () => {
		await serve({ workersMin: 1, workersMax: 1, release: { canary: RULE } });
		await ready(1);
		await change({ env: { MODE: "new" } });
		callOf((await staying(2))[1]!);
		await passUntil(() => String(present()) === "2");
		expect((await states())[0]).toEqual([2, "healthy"]);
	});

	it("D50: for which there is no room stays one after maxMs and says so, until the setting is removed", async () => {
		await serve({ workersMin: 1, workersMax: 2, release: { canary: { ...RULE, maxMs: 60_000 } } }, { gpus: 1 });
		await ready(1);
		const notCompared = said("release.not_compared");
		await change({ env: { MODE: "new" } });
		await pass(90_000);
		expect(await notCompared).toMatchObject({
			version: 2,
			why: "not compared yet: 0 of 10 jobs of this version have ended",
		});
		expect(present()).toEqual([1]);
		await change({ release: { canary: null } });
		await passUntil(() => String(present()) === "2");
	});

	it("D50: that fails at once while no stable worker is ready is undone without a comparison", async () => {
		await serve({ workersMin: 0, workersMax: 2, release: { canary: HALF } });
		await submitted(at.service, "ep");
		const [old] = await staying(1);
		await reports(callOf(old!), await takes(old!));
		await pass(1000);
		await change({ workersMax: 0 });
		await passUntil(() => present().length === 0);
		await change({ env: { MODE: "new" }, workersMax: 2 });
		const jobs = fleet((version) => ({ ms: 50, fails: version === 2 }), { silent: ({ release }) => release === 1 });
		await jobs.until(() => current().source === "rollback");
		expect(current().reason).toMatch(/its jobs were worse: (\d+) of \1 jobs failed \(100 %\)/);
		jobs.call();
		await jobs.drained();
	});

	it("D50: that starts slowly gets no burst of jobs, but its share of those from then on", async () => {
		await serve({ ...THREE, release: { canary: { ...RULE, percent: 10, minJobs: 10_000 } } });
		await ready(3);
		let isSlow = true;
		const jobs = fleet(undefined, { silent: ({ release }) => isSlow && release === 2 });
		await change({ env: { MODE: "new" } });
		await jobs.until(() => present().includes(2) && jobs.started.length >= 300);
		isSlow = false;
		await jobs.until(() => jobs.started.includes(2));
		const since = jobs.started.indexOf(2);
		await jobs.until(() => jobs.started.length >= since + 100);
		const shared = jobs.started.slice(since, since + 100).filter((version) => version === 2).length;
		expect(shared).toBeGreaterThanOrEqual(9);
		expect(shared).toBeLessThanOrEqual(13);
		await jobs.drained();
	});

	it("D50: whose first worker is slow to start is within workersMax", async () => {
		await serve({ workersMin: 1, workersMax: 2, release: { canary: HALF } });
		await ready(1);
		await change({ env: { MODE: "new" } });
		await passUntil(() => present().length === 2);
		for (let n = 0; n < 50; n += 1) {
			await pass(100);
			expect(present().length).toBeLessThanOrEqual(2);
		}
		expect(mix()).toBe("1,2");
	});

	it("D50: there is none where the new version launches no workers: all old ones leave", async () => {
		await serve(THREE);
		const workers = await ready(3);
		await change({ launcher: { type: "external" } });
		expect(workers.map(({ draining }) => draining)).toEqual([true, true, true]);
	});

	it("D50: goes on after a restart of the service, with workers of both versions and the jobs until then", async () => {
		await serve({ ...THREE, release: { canary: { ...RULE, minJobs: 40 } } });
		await ready(3);
		const jobs = fleet((version, n) => ({ ms: 50, fails: version === 2 && n % 2 === 0 && n > 9 }));
		await change({ env: { MODE: "new" } });
		await jobs.until(async () => (await completed()) >= 8);
		await jobs.drained();
		// Over the minute in which the canary began.
		for (let n = 0; n < 120; n += 1) await at.clock.advance(1000);
		await restart();
		jobs.watch();
		expect(await completed()).toBeGreaterThanOrEqual(8);
		await jobs.until(() => current().source === "rollback");
		await jobs.drained();
		expect((await states())[1]).toEqual([2, "failed"]);
	});

	it("D50: of the next version takes the place of the one before, and compares with the healthy one", async () => {
		await serve({ ...THREE, release: { canary: { ...RULE, minJobs: 10_000 } } });
		await ready(3);
		const jobs = fleet();
		await change({ env: { MODE: "new" } });
		await jobs.until(() => present().includes(2) && jobs.started.includes(2));
		await change({ env: { MODE: "newer" } });
		await jobs.until(() => mix() === "1,1,3");
		await jobs.drained();
	});

	it("D50: keeps one worker of each version while jobs come, however long idle, and none without jobs", async () => {
		const rule = { ...RULE, percent: 10, minJobs: 10_000 };
		await serve({
			workersMin: 0,
			workersMax: 4,
			scalerType: "REQUEST_COUNT",
			scalerValue: 100,
			release: { canary: rule },
		});
		const jobs = fleet();
		await jobs.until(() => current().state === "healthy");
		await change({ env: { MODE: "new" } });
		await jobs.until(() => mix() === "1,2", 1);
		await change({ workersMin: 4 });
		await jobs.until(() => mix() === "1,1,1,2");
		const fresh = of("ep").find((worker) => versions([worker])[0] === 2);
		// It has had its share, and waits for the next tenth job.
		const since = jobs.started.length;
		await jobs.until(() => {
			const shared = jobs.started.slice(since);
			return shared.length > 0 && shared.filter((version) => version === 2).length * 10 >= shared.length;
		});
		await change({ workersMin: 0, idleTimeout: 1 });
		// So rare that only the next worker of the stable version is not idle for longer than idleTimeout.
		const rarely = async (): Promise<void> => {
			await jobs.round(1);
			await pass(400);
		};
		while (mix() !== "1,2") await rarely();
		for (let n = 0; n < 8; n += 1) {
			await rarely();
			expect([mix(), fresh!.draining]).toEqual(["1,2", false]);
		}
		await jobs.drained();
		await passUntil(() => of("ep").length === 0);
	});

	it("D50: workers of the stable version that have not called yet stay", async () => {
		await serve({ workersMin: 2, workersMax: 3, release: { canary: RULE } });
		const [called, starting] = await staying(2);
		callOf(called!);
		await pass(1000);
		await change({ env: { MODE: "new" } });
		expect([called!.draining, starting!.draining]).toEqual([false, false]);
		await pass(2000);
		expect([called!.draining, starting!.draining]).toEqual([false, false]);
	});
});
