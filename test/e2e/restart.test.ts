/**
 * The service is stopped or killed and started again: its workers, its waits and its jobs (D34).
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { call } from "../support/service.ts";
import { ended, isAlive, jobAt, run, site, type Site, started } from "./site.ts";
import { until, within } from "../support/until.ts";
import { upgrade, UPGRADED } from "./upgrade.ts";

/** Pids of all workers that came up here and run. */
function living(place: Site): number[] {
	return place
		.notes()
		.filter((each) => each.what === "up" && isAlive(each.pid))
		.map((each) => each.pid);
}

async function upAndReady(service: { url: string }, workers: number): Promise<void> {
	await until(
		`${workers} ready workers`,
		async () => (await call(service.url, "/v2/ours/health")).json.workers.ready === workers,
	);
}

describe("a killed service, started again", () => {
	it.concurrent("D34: at the same address takes its living workers over, and a stop leaves none", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		let service = await place.serve({
			endpoints: { ours: place.launched({ workersMin: 2, workersMax: 2 }) },
		});
		await upAndReady(service, 2);
		const pids = living(place);
		expect(pids).toHaveLength(2);
		await service.end("SIGKILL");
		expect(living(place), "workers outlive the service").toEqual(pids);
		service = await place.serve();
		await upAndReady(service, 2);
		const used = new Set<number>();
		for (let n = 0; used.size < 2 && n < 20; n += 1) {
			const jobs = [await run(service, "ours", { ms: 50 }), await run(service, "ours", { ms: 50 })];
			for (const id of jobs) used.add((await ended(service, "ours", id)).output.pid);
		}
		expect(
			[...used].sort((a, b) => a - b),
			"both work, and no other",
		).toEqual([...pids].sort((a, b) => a - b));
		expect(living(place)).toEqual(pids);
		expect(service.stderr().match(/taken over/g)).toHaveLength(2);
		expect(await within("the stop", service.end())).toBe(0);
		expect(living(place)).toEqual([]);
	});

	it.concurrent("D28: takes a frozen worker over asleep, and wakes it; one that was falling asleep is ended", {
		timeout: 60_000,
	}, async (test) => {
		const place = site(test);
		const freezes = (command: string, sleep: string): object =>
			place.launched({
				workersMax: 1,
				idleTimeout: 1,
				leaseMs: 2000,
				gpusPerWorker: 1,
				sleep: { command: ["sh", "-c", command], wakeCommand: ["sh", "-c", sleep] },
			});
		const endpoints = {
			ours: freezes('kill -STOP "$SLUICE_WORKER_PID"', 'kill -CONT "$SLUICE_WORKER_PID"'),
			slow: freezes(': > "$DIARY.asked"; sleep 300', "exit 1"),
		};
		const file = { file: { gpus: 2 } };
		let service = await place.serve({ endpoints, ...file });
		const state = async (endpoint: string): Promise<string | undefined> =>
			(await call(service.url, `/v1/endpoints/${endpoint}/workers`)).json.workers[0]?.state;
		const work = async (endpoint: string): Promise<number> =>
			(await ended(service, endpoint, await run(service, endpoint, { ms: 1 }))).output.pid;
		const first = await work("ours");
		const falling = await work("slow");
		await until("one sleeps", () => /worker ours-\w+ sleeps/.test(service.stderr()));
		await until("one was asked to", () => existsSync(join(place.folder.path, "diary.asked")));
		await service.end("SIGKILL");
		service = await place.serve({ endpoints, ...file });
		await until("it is ended", () => !isAlive(falling));
		expect(await state("ours")).toBe("asleep");
		expect(await work("ours")).toBe(first);
		expect(await within("the stop", service.end())).toBe(0);
		expect(living(place)).toEqual([]);
	});

	it.concurrent("D34: at another address ends and replaces them; the running job runs again, nothing spins", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		let service = await place.serve({
			endpoints: { ours: place.launched({ workersMin: 1, workersMax: 1 }) },
		});
		const id = await run(service, "ours", { until: "allowed" });
		const first = await started(place, id);
		await service.end("SIGKILL");
		service = await place.serve({ port: 0 });
		const second = await started(place, id, 1);
		expect(second.pid).not.toBe(first.pid);
		expect(isAlive(first.pid)).toBe(false);
		place.allow("allowed");
		expect(await ended(service, "ours", id)).toMatchObject({ status: "COMPLETED" });
		expect(living(place)).toEqual([second.pid]);
		await service.end();
		expect(living(place)).toEqual([]);
	});
});

it.concurrent("D34: SIGTERM under load leaves workers and their jobs, which the next start takes over", {
	timeout: 40_000,
}, async (test) => {
	const place = site(test);
	const first = await place.serve({ endpoints: { ours: place.launched(UPGRADED) } });
	const service = await upgrade(place, { endpoint: "ours", service: first, begin: () => place.serve() });
	expect(first.stderr()).toContain("launched workers and their jobs are left to the next start");
	expect(await within("the stop", service.end())).toBe(0);
	expect(service.stderr()).toContain("then launched workers are stopped");
	expect(living(place)).toEqual([]);
});

describe.each([
	{ how: "SIGINT", signal: "SIGINT", args: [] },
	{ how: "SIGTERM with --stop-workers", signal: "SIGTERM", args: ["--stop-workers"] },
] as const)("$how", ({ signal, args }) => {
	it.concurrent("D34: 503 on /readyz, waits answered at once, time for the running job, then exit 0, no workers", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({
			endpoints: { ours: place.launched({ workersMax: 1 }) },
			args: ["--drain-timeout", "20", ...args],
		});
		const waiting = call(service.url, "/v2/ours/runsync?wait=60000", {
			body: { input: { until: "allowed" } },
		});
		const { id } = await until("the run", () => place.notes().find((each) => each.what === "run"));
		const queued = await run(service, "ours", {});
		const statusSync = call(service.url, `/v2/ours/status-sync/${queued}?wait=60000`);
		expect((await call(service.url, "/readyz", { key: null })).status).toBe(200);

		const exit = service.end(signal);
		const ready = await until(
			"503 on /readyz",
			async () => {
				const answer = await call(service.url, "/readyz", { key: null });
				return answer.status === 503 && answer;
			},
			2000,
		);
		expect(ready.json.code).toBe("not_ready");
		expect((await within("the answer of /runsync", waiting, 2000)).json).toMatchObject({
			id,
			status: "IN_PROGRESS",
		});
		expect((await within("the answer of /status-sync", statusSync, 2000)).json).toMatchObject({
			id: queued,
			status: "IN_QUEUE",
		});
		place.allow("allowed");
		expect(await within("the exit", exit)).toBe(0);
		expect(living(place)).toEqual([]);

		const again = await place.serve();
		const job = await jobAt(again, "ours", id);
		expect(job).toMatchObject({ status: "COMPLETED" });
		expect(job).not.toHaveProperty("retries");
		expect(await ended(again, "ours", queued)).toMatchObject({ status: "COMPLETED" });
		expect(place.runs(id)).toHaveLength(1);
	});

	it.concurrent("D34, D16: a job that outlasts the drain returns without a loss and completes after the next start", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		let service = await place.serve({
			endpoints: { ours: place.launched({ workersMax: 1, stopGraceMs: 200 }) },
			args: ["--drain-timeout", "1", ...args],
		});
		const id = await run(service, "ours", { until: "allowed" });
		const first = await started(place, id);
		expect(await within("the exit", service.end(signal))).toBe(0);
		expect(isAlive(first.pid)).toBe(false);
		service = await place.serve();
		await started(place, id, 1);
		place.allow("allowed");
		const job = await ended(service, "ours", id);
		expect(job).toMatchObject({ status: "COMPLETED" });
		expect(job).not.toHaveProperty("retries");
		expect((await call(service.url, "/v2/ours/health")).json.jobs.retried).toBe(0);
		expect(place.runs(id)).toHaveLength(2);
	});

	it("D34: takes less than 2 s when nothing runs, with launched and external workers at their polls", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({
			endpoints: {
				ours: place.launched({ workersMin: 2, workersMax: 2 }),
				theirs: { launcher: { type: "external" } },
			},
			args,
		});
		await place.attach(service, "theirs");
		await upAndReady(service, 2);
		const began = performance.now();
		expect(await within("the exit", service.end(signal))).toBe(0);
		expect(performance.now() - began).toBeLessThan(2000);
		expect(living(place), "only the external worker goes on").toHaveLength(1);
	});
});
