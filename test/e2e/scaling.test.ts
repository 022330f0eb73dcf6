/**
 * Launched workers come and go with the work (D27, D28) and die of a run that will not stop (D18).
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { call, KEY } from "../support/service.ts";
import { sluice } from "./command.ts";
import { ended, isAlive, jobAt, run, site, type Site, started } from "./site.ts";
import { until } from "../support/until.ts";

/** Pids of the workers that came up and run. */
function living(place: Site): number[] {
	return place
		.notes()
		.filter((each) => each.what === "up" && isAlive(each.pid))
		.map((each) => each.pid);
}

/** The attempts of a job of `ours`, as operators see them. */
async function attemptsAt({ url }: { url: string }, id: string): Promise<any[]> {
	return (await call(url, `/v1/endpoints/ours/jobs/${id}`)).json.attempts;
}

describe("the number of launched workers", () => {
	it.concurrent("D27, D28: starts at workersMin, grows on demand to workersMax, and shrinks after idleTimeout", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({
			endpoints: {
				ours: place.launched({ workersMin: 1, workersMax: 3, idleTimeout: 1, scalerValue: 1 }),
			},
		});
		await until("the worker of workersMin", () => living(place).length === 1);
		const jobs = [];
		for (let n = 0; n < 4; n += 1) jobs.push(await run(service, "ours", { until: "allowed" }));
		await until("three runs at once", () => place.notes().filter((each) => each.what === "run").length === 3);
		expect(living(place)).toHaveLength(3);
		expect((await call(service.url, "/v2/ours/health")).json).toMatchObject({
			jobs: { inQueue: 1, inProgress: 3 },
			workers: { running: 3, idle: 0 },
		});
		place.allow("allowed");
		for (const id of jobs) expect(await ended(service, "ours", id)).toMatchObject({ status: "COMPLETED" });
		await until("two workers to be stopped", () => living(place).length === 1);
		expect(
			place.notes().filter((each) => each.what === "down"),
			"stopped gracefully",
		).toHaveLength(2);
		expect(
			place.notes().filter((each) => each.what === "up"),
			"never more than workersMax",
		).toHaveLength(3);
		expect(service.stderr()).toContain("idle for over 1 s");
		await until("health to agree", async () => (await call(service.url, "/v2/ours/health")).json.workers.idle === 1);
	});

	it.concurrent("D27: without workersMin there is none until a job comes, and none after idleTimeout", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({ endpoints: { ours: place.launched({ idleTimeout: 1 }) } });
		expect(place.notes()).toEqual([]);
		const { json } = await call(service.url, "/v2/ours/runsync", { body: { input: { n: 1 } } });
		expect(json).toMatchObject({ status: "COMPLETED", output: { n: 1 } });
		await until("the worker to be stopped", () => living(place).length === 0);
		await until("health to say none", async () => {
			const { workers } = (await call(service.url, "/v2/ours/health")).json;
			return workers.idle + workers.running + workers.initializing === 0;
		});
	});

	it.concurrent("D28: a command that crashes is tried less and less often, and the log says why", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const crash = [process.execPath, "-e", "console.error('no model here'); process.exit(7)"];
		const service = await place.serve({
			endpoints: { ours: { launcher: { type: "process", command: crash }, workersMax: 2 } },
		});
		const id = await run(service, "ours", {});
		const pauses = await until("three failed starts", () => {
			const found = [
				...service.stderr().matchAll(/^(\S+) ours: no worker could be started: .*; next try in ([\d.]+) s$/gm),
			];
			return found.length >= 3 && found;
		});
		expect(pauses.slice(0, 3).map((match) => Number(match[2]))).toEqual([1, 2, 4]);
		const [first, , third] = pauses.map((match) => Date.parse(match[1]!));
		expect(third! - first!, "ms between the first and the third failure").toBeGreaterThanOrEqual(3000);
		expect(service.stderr().match(/worker \S+ started/g)).toHaveLength(3);
		expect(service.stderr()).toMatch(/ended with code 7; its last lines:\n {4}no model here/);
		expect(await jobAt(service, "ours", id)).toMatchObject({ status: "IN_QUEUE" });
	});
});

describe("GPUs of the machine", () => {
	it.concurrent("D27, D34: a worker that is taken over after a crash of the service keeps its own", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const env = { SLUICE_GPUS: "2" };
		const gpus = async (endpoint: string): Promise<number[][]> =>
			(await call(service.url, `/v1/endpoints/${endpoint}/workers`)).json.workers.map(
				(worker: { gpus?: number[] }) => worker.gpus,
			);
		let service = await place.serve({
			endpoints: {
				ours: place.launched({ gpusPerWorker: 1, idleTimeout: 60 }),
				others: place.launched({ gpusPerWorker: 1 }),
			},
			env,
		});
		expect(await ended(service, "ours", await run(service, "ours", {}))).toMatchObject({
			status: "COMPLETED",
		});
		expect(await gpus("ours")).toEqual([[0]]);
		await service.end("SIGKILL");
		service = await place.serve({ env });
		expect(await gpus("ours")).toEqual([[0]]);
		await run(service, "others", {});
		await until("a worker beside it", async () => (await gpus("others")).length === 1);
		expect(await gpus("others")).toEqual([[1]]);
	});

	it.concurrent("D27: 'sluice gpus' lists each with its model, its memory in use, its worker and what that does", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const { path } = place.folder;
		const apps = join(path, "apps");
		writeFileSync(apps, "");
		const gpu = "echo '0, NVIDIA L4, 23034, 11178, 96, GPU-a, 550.54.15, [N/A]'";
		const program = `#!/bin/sh\ncase "$1" in --query-compute*) cat '${apps}';; *) ${gpu};; esac\n`;
		writeFileSync(join(path, "nvidia-smi"), program, { mode: 0o755 });
		const service = await place.serve({
			endpoints: { ours: place.launched({ gpuMemoryGb: 11, idleTimeout: 60 }) },
			env: { SLUICE_GPUS: "2", PATH: `${path}:${process.env["PATH"]}` },
		});
		const gpus = async (...args: string[]): Promise<string> => {
			const env = { SLUICE_URL: service.url, SLUICE_API_KEY: KEY };
			return (await sluice(test, ["gpus", ...args], { cwd: path, env })).stdout;
		};
		expect(await gpus()).toMatch(/^local +0 +NVIDIA L4 +11.7 of 24.2 GB +free, 96 %\nlocal +1 +free$/m);
		const id = await run(service, "ours", { until: "allowed" });
		const { worker, pid } = await started(place, id);
		writeFileSync(apps, `GPU-a, ${pid}, 11178\n`);
		await until("a reading", async () => (await gpus()).includes("11.7 of 11 GB"));
		expect(JSON.parse(await gpus("--json")).gpus[0]).toEqual({
			...{ host: "local", id: "0", uuid: "GPU-a", model: "NVIDIA L4", memoryGb: 24.2, cuda: "12.4" },
			...{ memoryUsedGb: 11.7, busyPercent: 96, freeGb: 12.7 },
			holders: [
				{
					...{ state: "busy", worker, endpoint: "ours", memoryGb: 11, usedGb: 11.7 },
					since: expect.stringMatching(/^\d{4}-.*Z$/),
				},
			],
		});
		const workers = async (): Promise<string> => {
			const env = { SLUICE_URL: service.url, SLUICE_API_KEY: KEY };
			return (await sluice(test, ["workers", "list", "-o", "wide"], { cwd: path, env })).stdout;
		};
		await until("its reason", async () =>
			(await workers()).includes("It uses 11.7 GB of GPU 0, and its part is 11 GB"),
		);
		place.allow("allowed");
		await ended(service, "ours", id);
		expect(await gpus()).toMatch(new RegExp(`^local +0 +NVIDIA L4 .* idle, 96 % .* ${worker}$`, "m"));
	});

	it.concurrent("D27: without GPUs 'sluice gpus' says how to give some to workers", async (test) => {
		const place = site(test);
		const service = await place.serve({ endpoints: { ours: place.launched() } });
		const env = { SLUICE_URL: service.url, SLUICE_API_KEY: KEY };
		const { stdout } = await sluice(test, ["gpus"], { cwd: place.folder.path, env });
		expect(stdout).toContain("Set gpus in sluice.yaml");
	});
});

describe("a cancelled run", () => {
	it.concurrent("D18: of a handler that blocks: the process is killed after stopGraceMs and replaced", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const service = await place.serve({
			endpoints: { ours: place.launched({ workersMax: 1, stopGraceMs: 500 }) },
		});
		const id = await run(service, "ours", { block: 60_000 });
		const { pid } = await started(place, id);
		const began = performance.now();
		expect((await call(service.url, `/v2/ours/cancel/${id}`, { method: "POST" })).json).toMatchObject({
			status: "CANCELLED",
		});
		const next = await run(service, "ours", {});
		await until("the blocking process to be killed", () => !isAlive(pid));
		const endedMs = performance.now() - began;
		expect(endedMs).toBeGreaterThanOrEqual(450);
		expect(endedMs, "grace + 1 s").toBeLessThan(1500);
		const job = await ended(service, "ours", next);
		expect(job).toMatchObject({ status: "COMPLETED" });
		expect(job.output.pid).not.toBe(pid);
		expect(await jobAt(service, "ours", id)).toMatchObject({ status: "CANCELLED" });
		expect(await attemptsAt(service, id)).toMatchObject([{ end: "cancelled", open: false, stop: "killed" }]);
	});

	it.concurrent("D18: of a handler that heeds its signal: the worker stays, and is not killed after the grace", {
		timeout: 40_000,
	}, async (test) => {
		const GRACE_MS = 1000;
		const place = site(test);
		const service = await place.serve({
			endpoints: { ours: place.launched({ workersMax: 1, stopGraceMs: GRACE_MS }) },
		});
		const id = await run(service, "ours", { until: "never" });
		const { pid } = await started(place, id);
		await call(service.url, `/v2/ours/cancel/${id}`, { method: "POST" });
		await until("the handler to stop", () => place.notes().some((each) => each.what === "stopped" && each.id === id));
		expect(await ended(service, "ours", await run(service, "ours", {}))).toMatchObject({
			status: "COMPLETED",
			output: { pid },
		});
		// Idle when the grace is over: nothing but its own word can keep it.
		await sleep(1.5 * GRACE_MS);
		expect(await ended(service, "ours", await run(service, "ours", {}))).toMatchObject({
			status: "COMPLETED",
			output: { pid },
		});
		expect(living(place)).toEqual([pid]);
		expect(service.stderr()).not.toContain("has not confirmed");
		expect(await attemptsAt(service, id)).toMatchObject([{ end: "cancelled", open: false, stop: "confirmed" }]);
		expect(await jobAt(service, "ours", id)).toMatchObject({ status: "CANCELLED" });
	});
});
