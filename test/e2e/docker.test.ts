/**
 * A service whose workers are containers of a real daemon: they come and go with the work, outlive
 * the service, and are never doubled or left behind (D18, D25, D28, D29, D34).
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { containersOf, docker, IMAGE, makeImage, noDocker, removeAll, titled } from "../support/docker.ts";
import { call, KEY } from "../support/service.ts";
import { sluice, start } from "./command.ts";
import { canaryRelease, COMPARED, CRASHES, crashedRelease, RELEASED } from "./crashed-release.ts";
import { ended, jobAt, run, site, type Site, started, WORKER } from "./site.ts";
import { until, within } from "../support/until.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

interface Place extends Site {
	/** An endpoint of this test's own, so that its containers are known. */
	id: string;
	/** Settings of an endpoint whose diary workers are containers. */
	contained(settings?: object, launcher?: object): Record<string, object>;
	/** Ids of its containers, running or not. */
	containers(): Promise<string[]>;
}

function dockerSite(test: TestContext): Place {
	const place = site(test);
	const id = `e2e-${randomBytes(4).toString("hex")}`;
	const { path } = place.folder;
	test.onTestFinished(() => removeAll(`sluice.endpoint=${id}`));
	return {
		...place,
		id,
		contained: (settings = {}, launcher = {}) => ({
			[id]: place.launched({
				launcher: {
					type: "docker",
					image: IMAGE,
					command: ["node", WORKER[1]],
					volumes: [`${ROOT}:${ROOT}:ro`, `${path}:${path}`],
					...launcher,
				},
				...settings,
			}),
		}),
		containers: () => containersOf(`sluice.endpoint=${id}`),
	};
}

/**
 * The signals that a container was sent, with the times at which its daemon noted them, ms. How long the daemon then
 * takes to end and remove it depends on the machine.
 */
async function signalsOf(container: string): Promise<{ signal: string; at: number }[]> {
	const filters = ["--filter", `container=${container}`, "--filter", "event=kill"];
	const format = '{"signal":"{{.Actor.Attributes.signal}}","at":"{{.TimeNano}}"}';
	// The daemon counts whole seconds: what has just happened is reported only if the end is later.
	const until = String(Math.ceil(Date.now() / 1000) + 1);
	const events = await docker("events", "--since", "10m", "--until", until, ...filters, "--format", format);
	return events.split("\n").map((line) => {
		const { signal, at } = JSON.parse(line);
		return { signal, at: Number(at) / 1e6 };
	});
}

describe.skipIf(noDocker !== undefined)(titled("a service with containers as workers"), () => {
	beforeAll(() => makeImage(), 60_000);

	it("D27, D28: starts none until a job comes, and leaves none after idleTimeout", {
		timeout: 40_000,
	}, async (test) => {
		const place = dockerSite(test);
		const service = await place.serve({ endpoints: place.contained({ idleTimeout: 1 }) });
		expect(await place.containers()).toEqual([]);
		const { json } = await call(service.url, `/v2/${place.id}/runsync`, {
			body: { input: { n: 1 } },
		});
		expect(json).toMatchObject({ status: "COMPLETED", output: { n: 1 } });
		expect(await place.containers()).toHaveLength(1);
		await until("the container to be removed", async () => (await place.containers()).length === 0);
		expect(
			place.notes().map(({ what }) => what),
			"stopped gracefully",
		).toEqual(["up", "run", "end", "down"]);
		await until("health to say none", async () => {
			const { workers } = (await call(service.url, `/v2/${place.id}/health`)).json;
			return workers.idle + workers.running + workers.initializing === 0;
		});
	});

	it("D27: grows with the work to workersMax", { timeout: 40_000 }, async (test) => {
		const place = dockerSite(test);
		const service = await place.serve({
			endpoints: place.contained({ workersMax: 2, scalerType: "REQUEST_COUNT", scalerValue: 1 }),
		});
		const jobs = [];
		for (let n = 0; n < 3; n += 1) jobs.push(await run(service, place.id, { until: "allowed" }));
		await until("two runs at once", () => place.notes().filter(({ what }) => what === "run").length === 2);
		expect(await place.containers()).toHaveLength(2);
		place.allow("allowed");
		for (const id of jobs) expect(await ended(service, place.id, id)).toMatchObject({ status: "COMPLETED" });
		expect(await within("the stop", service.end())).toBe(0);
		expect(await place.containers()).toEqual([]);
	});

	it("D50: a release whose containers crash is undone, and the worker before it does all jobs", {
		timeout: 60_000,
	}, async (test) => {
		const place = dockerSite(test);
		const service = await place.serve({ endpoints: place.contained(RELEASED) });
		await crashedRelease(place, { service, endpoint: place.id, launcher: { command: CRASHES } });
		await until("no other container to be left", async () => (await place.containers()).length === 1);
	});

	it("D50: a canary of whose jobs half fail is undone, and every job ends once", {
		timeout: 90_000,
	}, async (test) => {
		const place = dockerSite(test);
		const service = await place.serve({ endpoints: place.contained(COMPARED) });
		await canaryRelease(place, { service, endpoint: place.id });
	});

	it("D34: a killed service takes its running container over again, and a stop leaves none", {
		timeout: 60_000,
	}, async (test) => {
		const place = dockerSite(test);
		let service = await place.serve({
			endpoints: place.contained({ workersMin: 1, workersMax: 1 }),
		});
		const first = await run(service, place.id, { until: "allowed" });
		const { worker } = await started(place, first);
		const before = await place.containers();
		await service.end("SIGKILL");
		expect(await place.containers()).toEqual(before);
		service = await place.serve();
		place.allow("allowed");
		const job = await ended(service, place.id, first);
		expect(job).toMatchObject({ status: "COMPLETED", workerId: worker });
		expect(job).not.toHaveProperty("retries");
		expect(await ended(service, place.id, await run(service, place.id, {}))).toMatchObject({
			status: "COMPLETED",
			workerId: worker,
		});
		expect(await place.containers()).toEqual(before);
		expect(service.stderr().match(/taken over/g)).toHaveLength(1);
		expect(await within("the stop", service.end())).toBe(0);
		expect(await place.containers()).toEqual([]);
	});

	it("D34, D16: a container that ended while the service was down is replaced, and its job runs again", {
		timeout: 60_000,
	}, async (test) => {
		const place = dockerSite(test);
		let service = await place.serve({ endpoints: place.contained({ workersMax: 1 }) });
		const id = await run(service, place.id, { until: "allowed" });
		const { worker } = await started(place, id);
		const [container] = await place.containers();
		await service.end("SIGKILL");
		await docker("kill", container!);
		service = await place.serve();
		place.allow("allowed");
		const job = await ended(service, place.id, id, 30_000);
		expect(job).toMatchObject({ status: "COMPLETED", retries: 1 });
		expect(job.workerId).not.toBe(worker);
		expect(await place.containers()).not.toContain(container);
		await service.end();
		expect(await place.containers()).toEqual([]);
	});

	it("D18: a cancelled handler that blocks ends with its container within the grace and 1 s, and replaced", {
		timeout: 40_000,
	}, async (test) => {
		const place = dockerSite(test);
		const service = await place.serve({
			endpoints: place.contained({ workersMax: 1, stopGraceMs: 500 }),
		});
		const id = await run(service, place.id, { block: 60_000 });
		await started(place, id);
		const [container] = await place.containers();
		const next = await run(service, place.id, {});
		expect((await call(service.url, `/v2/${place.id}/cancel/${id}`, { method: "POST" })).json).toMatchObject({
			status: "CANCELLED",
		});
		const cancelled = Date.now();
		await until("its container to be removed", async () => !(await place.containers()).includes(container!));
		const signals = await signalsOf(container!);
		expect(signals.map(({ signal }) => signal)).toEqual(["9"]);
		expect(signals[0]!.at - cancelled).toBeLessThan(1500);
		expect(await ended(service, place.id, next)).toMatchObject({ status: "COMPLETED" });
		expect(await place.containers()).toHaveLength(1);
	});

	it("D29: an image that is not there is the reason of the jobs that wait", {
		timeout: 40_000,
	}, async (test) => {
		const place = dockerSite(test);
		const service = await place.serve({
			endpoints: place.contained({}, { image: "no-such-image:1" }),
		});
		const id = await run(service, place.id, {});
		const { code, message } = await until("the reason", async () => {
			const { reason } = (await call(service.url, `/v1/endpoints/${place.id}/jobs/${id}`)).json;
			return reason.code === "workers_crashing" && reason;
		});
		expect([code, message]).toEqual([
			"workers_crashing",
			expect.stringContaining("No such image: no-such-image:1; it must be on the machine"),
		]);
		expect(await place.containers()).toEqual([]);
	});

	it("D36: 'sluice workers logs' shows what a container wrote, also after its end, and follows it", {
		timeout: 40_000,
	}, async (test) => {
		const place = dockerSite(test);
		const script =
			"process.on('SIGTERM', () => { console.log('bye'); process.exit(); }); " +
			"console.log('model loaded'); console.log('ready'); setInterval(() => {}, 1000)";
		const service = await place.serve({
			endpoints: place.contained({ workersMin: 1 }, { command: ["node", "-e", script] }),
		});
		const env = { SLUICE_URL: service.url, SLUICE_API_KEY: KEY };
		const [{ id: worker }] = await until("the worker", async () => {
			const { workers } = (await call(service.url, `/v1/endpoints/${place.id}/workers`)).json;
			return workers.length > 0 && workers;
		});
		const ask = (...flags: string[]) =>
			sluice(test, ["workers", "logs", ...flags, place.id, worker], {
				cwd: place.folder.path,
				env,
			});
		await until("its lines", async () => (await ask()).stdout === "model loaded\nready\n");
		const following = start(test, ["workers", "logs", "-f", "--tail", "1", place.id, worker], {
			cwd: place.folder.path,
			env,
		});
		await until("the last line", () => following.stdout() === "ready\n");
		await call(service.url, `/v1/endpoints/${place.id}`, {
			method: "PATCH",
			body: { workersMin: 0, workersMax: 0 },
		});
		expect(await within("the end of the log", following.ended)).toEqual({
			code: 0,
			stdout: "ready\nbye\n",
			stderr: "",
		});
		const [first] = (await ask("--json")).stdout.split("\n");
		expect(JSON.parse(first!)).toEqual({
			text: "model loaded",
			position: 13,
			time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
		});
		expect(await sluice(test, ["workers", "logs", place.id, "none"], { cwd: place.folder.path, env })).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("There is no log of worker 'none'"),
		});
	});
});

describe("a service without a Docker daemon", () => {
	it("D29: says so as the reason of the jobs that wait, and goes on with its other endpoints", {
		timeout: 40_000,
	}, async (test) => {
		const place = site(test);
		const socket = join(place.folder.path, "none.sock");
		const endpoints = {
			there: { launcher: { type: "docker", image: "any:1" } },
			here: place.launched(),
		};
		const service = await place.serve({ endpoints, env: { DOCKER_HOST: `unix://${socket}` } });
		const id = await run(service, "there", {});
		const { message } = await until("the reason", async () => {
			const { reason } = (await call(service.url, `/v1/endpoints/there/jobs/${id}`)).json;
			return reason.code === "workers_crashing" && reason;
		});
		expect(message).toContain(`no Docker daemon answers at ${socket}; start it, or set DOCKER_HOST`);
		expect(await ended(service, "here", await run(service, "here", {}))).toMatchObject({
			status: "COMPLETED",
		});
		expect(await jobAt(service, "there", id)).toMatchObject({ status: "IN_QUEUE" });
	});
});
