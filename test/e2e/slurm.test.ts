/**
 * A service whose workers are batch jobs of a real Slurm: they come and go with the work, outlive
 * the service and Slurm's controller, and are never doubled or left behind (D18, D25, D28, D29,
 * D34).
 */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { call, type ServiceProcess } from "../support/service.ts";
import { GPUS, noSlurm, type SlurmCluster, startSlurm, titled } from "../support/slurm.ts";
import { until, untilFits, within } from "../support/until.ts";
import { upgrade, UPGRADED } from "./upgrade.ts";
import { ended, run, site, type Site, started, WIRE_WORKER, WORKER } from "./site.ts";

interface Place extends Site {
	cluster: SlurmCluster;
	/** An endpoint of this test's own, so that its jobs are known. */
	id: string;
	/** Settings of an endpoint whose diary workers are batch jobs. */
	batch(settings?: object, launcher?: object): Record<string, object>;
	start(endpoints?: Record<string, object>): Promise<ServiceProcess>;
}

describe.skipIf(noSlurm !== undefined)(titled("a service with Slurm jobs as workers"), { concurrent: true }, () => {
	let common: SlurmCluster;
	beforeAll(async () => {
		common = await startSlurm();
	}, 60_000);
	afterAll(() => common.remove());

	/** A cluster for a test that kills its controller. */
	async function ownCluster({ onTestFinished }: TestContext): Promise<SlurmCluster> {
		const cluster = await startSlurm();
		onTestFinished(() => cluster.remove());
		return cluster;
	}

	function slurmSite(test: TestContext, cluster = common): Place {
		const place = site(test);
		const id = `e2e-${randomBytes(4).toString("hex")}`;
		test.onTestFinished(() => cluster.endJobs(`:${id}:`));
		return {
			...place,
			cluster,
			id,
			batch: (settings = {}, launcher = {}) => ({
				[id]: place.launched({
					launcher: {
						type: "slurm",
						command: WORKER,
						sharedDir: place.folder.path,
						...launcher,
					},
					...settings,
				}),
			}),
			start: (endpoints) => place.serve({ env: cluster.env, ...(endpoints === undefined ? {} : { endpoints }) }),
		};
	}

	const active = async ({ cluster, id }: Place) => await cluster.active(`:${id}:`);

	/** The endpoint shows this reason within 15 s. */
	async function expectReason(
		service: ServiceProcess,
		{ id }: Place,
		expected: { code: string; message: RegExp },
	): Promise<void> {
		await untilFits(
			async () => (await call(service.url, `/v1/endpoints/${id}`)).json.reason,
			(reason) => reason?.code === expected.code && expected.message.test(reason.message),
			15_000,
		);
	}

	// The longest first: five run at once.
	it("D28: before its time limit a worker finishes its job and is replaced", {
		timeout: 120_000,
	}, async (test) => {
		const place = slurmSite(test);
		const service = await place.start(place.batch({ workersMin: 1 }, { timeLimit: "2" }));
		const id = await run(service, place.id, { until: "allowed" });
		const { worker } = await started(place, id);
		const [job] = await active(place);
		await place.cluster.run("scontrol", "update", `JobId=${job!.id}`, "TimeLimit=1");
		await until(
			"its replacement",
			() => place.notes().some((note) => note.what === "up" && note.worker !== worker),
			60_000,
		);
		place.allow("allowed");
		expect(await ended(service, place.id, id)).toMatchObject({
			status: "COMPLETED",
			workerId: worker,
		});
		await until("the old job to end", async () => (await active(place)).every((each) => each.id !== job!.id));
	});

	it("D34: slurmctld is killed and back after 10 s: running jobs go on, no worker is started twice", {
		timeout: 120_000,
	}, async (test) => {
		const place = slurmSite(test, await ownCluster(test));
		const { cluster } = place;
		const service = await place.start(
			place.batch({ workersMax: 2, scalerType: "REQUEST_COUNT", scalerValue: 1, leaseMs: 8000 }),
		);
		const first = await run(service, place.id, { until: "allowed" });
		const { worker } = await started(place, first);
		await cluster.killController();
		const outage = sleep(10_000);
		let second = "";
		try {
			second = await run(service, place.id, {});
			await expectReason(service, place, {
				code: "start_failed",
				message: /Slurm's controller does not answer/,
			});
			await outage;
		} finally {
			await cluster.startController();
		}
		await until("the next worker is submitted", async () => (await active(place)).length === 2, 5000);
		expect(place.runs(first)).toHaveLength(1);
		place.allow("allowed");
		expect(await ended(service, place.id, first)).toMatchObject({
			status: "COMPLETED",
			workerId: worker,
		});
		expect(await ended(service, place.id, second)).toMatchObject({ status: "COMPLETED" });
		expect(place.runs(first)).toHaveLength(1);
		const names = (await place.cluster.jobs(`:${place.id}:`)).map(({ name }) => name);
		expect(new Set(names).size, "one job for each worker").toBe(names.length);
		expect(await within("the stop", service.end())).toBe(0);
		await until("no job to be left", async () => (await active(place)).length === 0);
	});

	describe("D34: slurmctld is killed 1 s after a job's start, and returns with its state from before", () => {
		async function outage(test: TestContext, settings: object) {
			const place = slurmSite(test, await ownCluster(test));
			const { cluster } = place;
			// Its state is saved while it waits; local time, as sbatch reads it.
			const begin = new Date(Date.now() + 30_000).toLocaleString("sv").replace(" ", "T");
			const options = [`--begin=${begin}`];
			const service = await place.start(place.batch({ workersMax: 1, ...settings }, { options }));
			const id = await run(service, place.id, { until: "allowed" });
			await until("its Slurm job", async () => (await active(place)).length === 1);
			const restore = await cluster.keepState();
			expect(await active(place), "the kept state").toMatchObject([{ state: "PENDING" }]);
			const { worker, pid } = await started(place, id);
			await sleep(1000);
			await cluster.killController({ saved: false });
			restore();
			return { place, service, id, worker, pid };
		}
		const running = (place: Place): number[] =>
			[...new Set(place.notes().map(({ pid }) => pid))].filter((pid) => existsSync(`/proc/${pid}/exe`));

		it("a worker that is idle then ends, before Slurm's record of it does", {
			timeout: 120_000,
		}, async (test) => {
			const { place, service, id, pid } = await outage(test, { idleTimeout: 1 });
			place.allow("allowed");
			expect(await ended(service, place.id, id)).toMatchObject({ status: "COMPLETED" });
			await until("its stop", async () => {
				const { workers } = (await call(service.url, `/v1/endpoints/${place.id}/workers`)).json;
				return workers.every((each: { state: string }) => each.state === "stopping");
			});
			await place.cluster.startController();
			await until("no job of it to be left", async () => (await active(place)).length === 0, 30_000);
			expect(running(place), `process ${pid} without a job of Slurm`).toEqual([]);
			expect(place.runs(id)).toHaveLength(1);
		});

		it("a job that runs then is finished once, and no worker is left", {
			timeout: 120_000,
		}, async (test) => {
			const { place, service, id, worker } = await outage(test, { idleTimeout: 5 });
			// Before its node registers, the controller shows the job as pending; its second start then may be refused.
			const release = place.cluster.holdNode();
			await place.cluster.startController();
			await until("the service to see it", () =>
				service.stderr().includes(`no record of the start of worker ${worker}`),
			);
			release();
			// Slurm ends the worker that it takes for pending.
			await until("its second run", () => place.runs(id).some((each) => each.worker !== worker));
			place.allow("allowed");
			expect(await ended(service, place.id, id)).toMatchObject({ status: "COMPLETED" });
			const { json } = await call(service.url, `/v1/endpoints/${place.id}/workers?ended=true`);
			const message = expect.stringContaining("was started twice: the controller lost the record of its first start");
			expect(json.ended).toContainEqual(expect.objectContaining({ id: worker, code: "deleted", message }));
			await until("no job of it to be left", async () => (await active(place)).length === 0, 30_000);
			expect(running(place)).toEqual([]);
			expect(place.notes().filter((note) => note.what === "end" && note.id === id)).toHaveLength(1);
		});
	});

	it("D27, D28: starts none until jobs come, grows to workersMax, and leaves none", {
		timeout: 60_000,
	}, async (test) => {
		const place = slurmSite(test);
		const service = await place.start(
			place.batch({ idleTimeout: 1, workersMax: 3, scalerType: "REQUEST_COUNT", scalerValue: 1 }),
		);
		expect(await active(place)).toEqual([]);
		const jobs = [];
		for (let n = 0; n < 9; n += 1) jobs.push(await run(service, place.id, { until: "allowed" }));
		await until("three runs at once", () => place.notes().filter(({ what }) => what === "run").length === 3);
		expect(await active(place)).toHaveLength(3);
		place.allow("allowed");
		for (const id of jobs) expect(await ended(service, place.id, id)).toMatchObject({ status: "COMPLETED" });
		await until("the Slurm jobs to end", async () => (await active(place)).length === 0);
		const workers = place.notes().filter(({ what }) => what === "up" || what === "down");
		expect(workers.map(({ what }) => what).toSorted(), "each stopped gracefully").toEqual([
			"down",
			"down",
			"down",
			"up",
			"up",
			"up",
		]);
		expect(await place.cluster.jobs(`:${place.id}:`)).toHaveLength(3);
	});

	it("D25: a worker with RunPod's wire completes a job, with all that it yields", {
		timeout: 60_000,
	}, async (test) => {
		const place = slurmSite(test);
		const service = await place.start(place.batch({}, { command: WIRE_WORKER }));
		const body = { input: { chunks: 3 } };
		const { json } = await call(service.url, `/v2/${place.id}/run`, { body });
		const output = [{ n: 0 }, { n: 1 }, { n: 2 }];
		expect(await ended(service, place.id, json.id)).toMatchObject({ status: "COMPLETED", output });
	});

	describe("D29: the endpoint says within 15 s why it lacks workers", () => {
		it("a partition that does not exist", async (test) => {
			const place = slurmSite(test);
			const service = await place.start(place.batch({ workersMin: 1 }, { partition: "no-such" }));
			await expectReason(service, place, {
				code: "start_failed",
				message: /invalid partition specified: no-such/,
			});
		});

		it("a program that crashes", async (test) => {
			const place = slurmSite(test);
			const service = await place.start(
				place.batch({ workersMin: 1 }, { command: ["sh", "-c", "echo no model >&2; exit 3"] }),
			);
			await expectReason(service, place, { code: "crashed", message: /with exit code 3/ });
		});

		it("a program that does not exist", async (test) => {
			const place = slurmSite(test);
			const service = await place.start(place.batch({ workersMin: 1 }, { command: ["no-such-program"] }));
			await expectReason(service, place, {
				code: "config",
				message: /could not run no-such-program: .* \(exit code 127\)/,
			});
			const { reason } = (await call(service.url, `/v1/endpoints/${place.id}`)).json;
			expect(reason.lastLine).toContain("no-such-program");
		});

		it("too little memory", async (test) => {
			const place = slurmSite(test);
			const fill = "const all = []; setInterval(() => all.push(Buffer.alloc(2e7, 1)), 20)";
			const command = [process.execPath, "-e", fill];
			const service = await place.start(place.batch({ workersMin: 1 }, { command, memory: "100M" }));
			await expectReason(service, place, {
				code: "out_of_memory",
				message: /used more than its memory: raise launcher\.memory/,
			});
		});

		it("GPUs that other jobs have", async (test) => {
			const place = slurmSite(test);
			const gpus = `--gres=gpu:${GPUS}`;
			const other = `--job-name=other:${place.id}:`;
			await place.cluster.run("sbatch", gpus, other, "--output=/dev/null", "--wrap=sleep 300");
			await until("it to run", async () => (await active(place))[0]?.state === "RUNNING");
			const service = await place.start(place.batch({ workersMin: 1, gpusPerWorker: 1 }));
			await expectReason(service, place, {
				code: "queued",
				message: /is pending: (Resources|Priority)/,
			});
			const worker = (await active(place)).find(({ name }) => name.startsWith("sluice"));
			expect(worker).toMatchObject({ state: "PENDING" });
			await place.cluster.run("scancel", `--name=other:${place.id}:`);
			await until("the worker to be up", () => place.notes().some(({ what }) => what === "up"));
			await until("the reason to go", async () => {
				const { json } = await call(service.url, `/v1/endpoints/${place.id}`);
				return json.reason === undefined || json.reason === null;
			});
		});
	});

	it("D28: an idle worker ends at once for a job of another endpoint whose worker finds no GPU", {
		timeout: 90_000,
	}, async (test) => {
		const place = slurmSite(test, await ownCluster(test));
		const { [place.id]: endpoint } = place.batch({ gpusPerWorker: GPUS, idleTimeout: 600 });
		const [first, second] = [place.id, `${place.id}-b`];
		const service = await place.start({ [first]: endpoint!, [second]: endpoint! });
		await ended(service, first, await run(service, first, {}), 40_000);
		const began = performance.now();
		await ended(service, second, await run(service, second, {}), 60_000);
		console.log(`slurm: another endpoint's job ended ${Math.round(performance.now() - began)} ms after it came`);
		// Slurm may give the GPUs on before it shows the end of the job that had them.
		const ofFirst = async () => (await call(service.url, `/v1/endpoints/${first}/workers`)).json.workers;
		for (const { state } of await ofFirst()) expect(state).toBe("stopping");
		await until("the idle worker has ended", async () => (await ofFirst()).length === 0);
		await call(service.url, `/v1/endpoints/${second}`, { method: "DELETE" });
		await place.cluster.endJobs(`:${second}:`);
	});

	it("D36: leaves no variables behind; 'workers logs' shows the output", {
		timeout: 40_000,
	}, async (test) => {
		const place = slurmSite(test);
		const command = [process.execPath, "-e", "console.log('model loaded'); setInterval(() => {}, 1e3)"];
		const service = await place.start(place.batch({ workersMin: 1 }, { command }));
		const [{ id: worker }] = await until("the worker", async () => {
			const { workers } = (await call(service.url, `/v1/endpoints/${place.id}/workers`)).json;
			return workers.length > 0 && workers;
		});
		await until("its output", async () => {
			const { text } = await call(service.url, `/v1/endpoints/${place.id}/workers/${worker}/logs`);
			return text.includes("model loaded");
		});
		const files = readdirSync(place.folder.path, { recursive: true, encoding: "utf8" });
		const left = files
			.filter((name) => name.endsWith(".env"))
			.map((name) => readFileSync(join(place.folder.path, name)));
		expect(left.map(String), "its file is empty").toEqual([""]);
	});

	it("D18: a cancelled handler that blocks ends with its Slurm job within the grace and 2 s", {
		timeout: 40_000,
		concurrent: false,
	}, async (test) => {
		const place = slurmSite(test);
		const service = await place.start(place.batch({ workersMax: 1, stopGraceMs: 500 }));
		const id = await run(service, place.id, { block: 60_000 });
		await started(place, id);
		const [job] = await active(place);
		const next = await run(service, place.id, {});
		const began = performance.now();
		await call(service.url, `/v2/${place.id}/cancel/${id}`, { method: "POST" });
		await until("its job to end", async () => (await active(place)).every((each) => each.id !== job!.id));
		expect(performance.now() - began).toBeLessThan(2500);
		expect(await ended(service, place.id, next)).toMatchObject({ status: "COMPLETED" });
	});

	it("D34: kill -9 of the service under load: workers are adopted, nothing is lost, none is left", {
		concurrent: false,
		timeout: 90_000,
	}, async (test) => {
		const place = slurmSite(test);
		const settings = { workersMin: 2, workersMax: 2, leaseMs: 4000 };
		let service = await place.start(place.batch(settings));
		const jobs: string[] = [];
		for (let kills = 0; kills < 3; kills += 1) {
			for (let n = 0; n < 20; n += 1) jobs.push(await run(service, place.id, { n, ms: 50 }));
			await until("a run in progress", () => place.notes().some(({ id }) => id === jobs.at(-15)));
			await service.end("SIGKILL");
			service = await place.start();
		}
		for (const id of jobs) expect(await ended(service, place.id, id)).toMatchObject({ status: "COMPLETED" });
		const counts = jobs.map((id) => place.runs(id).length);
		expect(counts, "each ran once").toEqual(jobs.map(() => 1));
		expect(new Set(place.notes().map(({ pid }) => pid)).size, "no worker was replaced").toBe(2);
		expect(await active(place)).toHaveLength(2);
		expect(await within("the stop", service.end())).toBe(0);
		expect(await active(place)).toEqual([]);
	});

	it("D34: SIGTERM under load leaves Slurm jobs and theirs, which the next start takes over", {
		concurrent: false,
		timeout: 60_000,
	}, async (test) => {
		const place = slurmSite(test);
		const service = await place.start(place.batch(UPGRADED));
		const next = await upgrade(place, { endpoint: place.id, service, begin: () => place.start() });
		expect(await place.cluster.jobs(`:${place.id}:`), "no allocation went back to the queue").toHaveLength(2);
		expect(await within("the stop", next.end())).toBe(0);
		expect(await active(place)).toEqual([]);
	});
});
