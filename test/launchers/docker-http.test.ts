/**
 * Workers of two containers with a real daemon: the adapter, in an image that is made of this Node, and an HTTP server
 * (docs/decisions/0061-adapter-image.md). Needs the worker kit as `npm run build` makes it.
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { workerEnv } from "../../src/kernel/core/workers/worker-env.ts";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import type { Exit, Handle, Launcher, WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import { logPath } from "../../src/kernel/launchers/logs/log-files.ts";
import { dockerDaemon } from "../../src/modules/docker/daemon.ts";
import { connectionOf } from "../../src/modules/docker/hosts/connection.ts";
import { type AdapterContent, adapterContent } from "../../src/modules/docker/images/adapter-files.ts";
import { type AdapterImage, adapterImage } from "../../src/modules/docker/images/adapter-image.ts";
import { transfers } from "../../src/modules/docker/images/transfers.ts";
import { DockerLauncher } from "../../src/modules/docker/launcher.ts";
import type { DockerSettings } from "../../src/modules/docker/settings.ts";
import { importAdapterImage } from "../support/adapter-image.ts";
import {
	containersOf,
	docker,
	dockerAt,
	IMAGE,
	makeImage,
	noDocker,
	removeAll,
	TAKES_ALL_MEMORY,
	titled,
} from "../support/docker.ts";
import { noHosts, titledHosts } from "../support/docker-hosts.ts";
import { startDockerNetwork } from "../support/docker-network.ts";
import { freePort } from "../support/free-port.ts";
import { copyImages } from "../support/service-image.ts";
import { until } from "../support/until.ts";
import { cancelBy } from "../support/worker-kit/mapping.ts";
import { type ScriptedService, scriptedService } from "../support/worker-kit/scripted-service.ts";
import { exitsOf } from "./index.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-docker-http-"));
const logDir = join(root, "logs");
const serviceId = `test-${randomUUID()}`;
const ENV: Record<string, string> = { DOCKER_HOST: process.env["DOCKER_HOST"] ?? "" };

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Answers a job with its input, ends with `exit` of it, or answers once the file `release` is there. */
const SERVER = `
	const { createServer } = require("node:http");
	const { existsSync } = require("node:fs");
	process.on("SIGTERM", () => { console.log("server stops"); process.exit(0); });
	createServer((request, response) => {
		let body = "";
		request.on("data", (piece) => (body += piece)).on("end", () => {
			if (request.url === "/sleep") console.log("server sleeps");
			const { exit, wait } = JSON.parse(body || "{}");
			if (exit !== undefined) process.exit(exit);
			const answer = () => response.setHeader("content-type", "application/json").end(body || "{}");
			if (!wait) return answer();
			console.log("job waits");
			const timer = setInterval(() => { if (existsSync(process.env.RELEASE)) answer(clearInterval(timer)); }, 20);
		});
	}).listen(Number(process.env.PORT), () => console.log("server listens"));`;

type Spec = WorkerSpec<DockerSettings>;

/** Not loopback: another network does not reach that. */
const URL_NOT_THERE = "http://sluice.example:9";

function specOf(q: {
	port: number;
	env?: Record<string, string>;
	mapping?: object;
	settings?: Partial<DockerSettings>;
}): Spec {
	const { port, env = {}, mapping, settings } = q;
	const workerId = `sample-${randomUUID().slice(-12)}`;
	const folder = join(root, workerId);
	mkdirSync(folder);
	return {
		workerId,
		endpoint: "sample",
		env: {
			...workerEnv({ url: URL_NOT_THERE, endpoint: "sample", worker: workerId, token: "worker-key", leaseMs: 20_000 }),
			...env,
			RUNPOD_POD_ID: workerId,
			PATH: "/bin",
			RELEASE: join(folder, "release"),
		},
		serviceId,
		settings: {
			type: "docker",
			image: IMAGE,
			command: ["node", "-e", SERVER],
			volumes: [`${root}:${root}`],
			...settings,
		},
		adapter: { mapping: JSON.stringify({ port, ready: { path: "/", everyMs: 50 }, ...mapping }), port },
		url: URL_NOT_THERE,
		gpus: [],
		gpuCount: 0,
		workersMax: 3,
		stopGraceMs: 5000,
	};
}

const release = ({ workerId }: WorkerSpec): void => writeFileSync(join(root, workerId, "release"), "");
const log = ({ workerId }: WorkerSpec): string => {
	const path = logPath(logDir, workerId);
	return existsSync(path) ? readFileSync(path, "utf8") : "";
};
const logged = (spec: WorkerSpec, text: string): Promise<unknown> =>
	until(`${spec.workerId} writes "${text}"`, () => log(spec).includes(text));
const containers = ({ workerId }: WorkerSpec): Promise<string[]> => containersOf(`sluice.worker=${workerId}`);

describe.skipIf(noDocker !== undefined)(titled("docker launcher with HTTP servers"), () => {
	const opened: Launcher[] = [];

	function open() {
		const launcher = new DockerLauncher({ clock, logDir, serviceEnv: ENV, log() {} });
		opened.push(launcher);
		return { launcher, exits: exitsOf(launcher) };
	}

	/** A worker whose server shares the network of the machine, and the service that it takes jobs from. */
	async function started(test: TestContext, q: Partial<Parameters<typeof specOf>[0]> = {}) {
		const scripted = await scriptedService();
		test.onTestFinished(() => scripted.down());
		const port = await freePort();
		const spec = specOf({
			port,
			...q,
			env: { ...scripted.env(), ...q.env },
			settings: { network: "host", ...q.settings },
		});
		const { launcher, exits } = open();
		const handle = await launcher.start(spec);
		const exit = (): Promise<Exit> => exits.next(spec.workerId);
		return { scripted, port, spec, launcher, exits, handle, exit };
	}

	const takes = (scripted: ScriptedService): Promise<unknown> =>
		scripted.until(({ route }) => route.startsWith("job-take"));

	const daemon = dockerDaemon(connectionOf(ENV));
	const imageOf = (content: () => Promise<AdapterContent>): AdapterImage =>
		adapterImage({ daemon: () => daemon, transfers: transfers(clock), content });

	beforeAll(async () => {
		await makeImage();
		// So that starts fail at once, and are not only accepted.
		await importAdapterImage(ENV["DOCKER_HOST"]!);
	}, 60_000);
	afterAll(() => daemon.close());
	afterEach(async () => {
		for (const launcher of opened.splice(0)) await launcher.close();
		await removeAll(`sluice.service=${serviceId}`);
	});

	it("a job passes through both, and the server has no variable of the service", async (test) => {
		const { scripted, spec, launcher, port } = await started(test);
		scripted.give({ id: "a", input: { n: 1 } });
		await scripted.until(({ route }) => route === "job-done");
		expect(scripted.results()[0]).toContain('"n":1');
		const server = `sluice-${spec.workerId}-server`;
		const [inspected] = JSON.parse(await docker("inspect", server)) as [
			{ Config: { Env: string[] }; HostConfig: { PortBindings: object | null } },
		];
		const { Config, HostConfig } = inspected;
		expect(new Set(Config.Env.map((each) => each.split("=")[0]))).toEqual(
			new Set(["PATH", "PORT", "RELEASE", "RUNPOD_POD_HOSTNAME"]),
		);
		expect(Config.Env).toContain(`PORT=${port}`);
		expect(JSON.stringify(Config)).not.toContain("worker-key");
		expect(HostConfig.PortBindings ?? {}).toEqual({});
		await logged(spec, "server listens\n");
		await logged(spec, "The server is ready.");
		await launcher.stop(spec.workerId, 60_000);
		expect(await containers(spec)).toEqual([]);
	});

	it.for([
		[3, 3],
		[0, 70],
	] as const)("the server's exit code %i ends both, as code %i", async ([code, expected], test) => {
		const { scripted, spec, exit } = await started(test);
		scripted.give({ id: "a", input: { exit: code } });
		expect(await exit()).toMatchObject({ code: expected });
		expect(await containers(spec)).toEqual([]);
	});

	it("a server that uses too much memory is the reason", async (test) => {
		const settings = { command: ["sh", "-c", TAKES_ALL_MEMORY], memory: "64m" };
		const { exit, spec } = await started(test, { settings });
		expect(await exit()).toMatchObject({
			code: 137,
			reason: { code: "out_of_memory", message: expect.stringContaining("its limit of 64 MiB") },
		});
		expect(await containers(spec)).toEqual([]);
	});

	it("a server whose program is missing is a sentence, and leaves no container", async (test) => {
		const settings = { command: ["no-such-program"] };
		await expect(started(test, { settings })).rejects.toThrow(/no-such-program/);
		expect(await containersOf(`sluice.service=${serviceId}`)).toEqual([]);
	});

	it("a cancelled job that the server goes on with ends both", async (test) => {
		const { scripted, exit, spec } = await started(test, { mapping: { cancel: cancelBy("wait", { waitMs: 100 }) } });
		scripted.give({ id: "a", input: { wait: true } });
		await logged(spec, "job waits");
		scripted.stopJobs("a");
		expect(await exit()).toMatchObject({ code: 137 });
		expect(await containers(spec)).toEqual([]);
	});

	it("a stop lets the job end, then the server", async (test) => {
		const { scripted, launcher, exits, spec } = await started(test);
		scripted.give({ id: "a", input: { wait: true } });
		await logged(spec, "job waits");
		const stopped = launcher.stop(spec.workerId, 600_000);
		await logged(spec, "taking no more jobs");
		expect(log(spec)).not.toContain("server stops");
		release(spec);
		await stopped;
		expect(scripted.results()).toHaveLength(1);
		expect(log(spec)).toMatch(/taking no more jobs[\s\S]*server stops\n/);
		expect(exits.of(spec.workerId)).toMatchObject([{ code: 0 }]);
		expect(await containers(spec)).toEqual([]);
	});

	it("D34: the next service adopts both, and has each line of both once", async (test) => {
		const { scripted, launcher, handle, spec } = await started(test);
		await takes(scripted);
		await logged(spec, "server listens\n");
		await launcher.close();
		const next = open();
		expect(await next.launcher.adopt(spec.workerId, JSON.parse(JSON.stringify(handle)) as Handle, serviceId)).toBe(
			true,
		);
		expect(await next.launcher.removeStrays({ serviceId, recorded: [spec.workerId], endpoints: [] })).toBe(0);
		scripted.give({ id: "a", input: { n: 2 } });
		await scripted.until(({ route }) => route === "job-done");
		await next.launcher.stop(spec.workerId, 60_000);
		expect(await containers(spec)).toEqual([]);
		for (const line of ["server listens\n", "The server is ready.", "server stops\n"])
			expect(log(spec).split(line), line).toHaveLength(2);
	});

	it("D34: a server that was killed meanwhile ends its adapter, with its code", async (test) => {
		const { launcher, handle, spec } = await started(test);
		await launcher.close();
		await docker("kill", `sluice-${spec.workerId}-server`);
		const next = open();
		expect(await next.launcher.adopt(spec.workerId, handle, serviceId)).toBe(true);
		expect(await next.exits.next(spec.workerId)).toMatchObject({ code: 137 });
		expect(await containers(spec)).toEqual([]);
	});

	it("D34: both are strays of a service that was killed before it recorded them", async (test) => {
		const { launcher, spec } = await started(test);
		await launcher.close();
		const next = open();
		expect(await next.launcher.removeStrays({ serviceId, recorded: ["another"], endpoints: [] })).toBe(1);
		expect(await containers(spec)).toEqual([]);
	});

	it("sluice-http sleep runs beside the adapter, and usage is the server's", async (test) => {
		const mapping = { sleep: { path: "/sleep", method: "POST" } };
		const { launcher, spec, scripted } = await started(test, { mapping });
		await takes(scripted);
		const command = ["sluice-http", "sleep"];
		await launcher.run!(spec.workerId, { settings: spec.settings, command, timeoutMs: 60_000 });
		await logged(spec, "server sleeps");
		const usage = await launcher.usage([{ id: spec.workerId }]);
		expect(usage.get(spec.workerId)).toMatchObject({ image: IMAGE });
		await launcher.stop(spec.workerId, 0);
	});

	it("on a network of its own the adapter finds the server by name", async () => {
		await docker("network", "create", serviceId);
		try {
			const { launcher } = open();
			const spec = specOf({ port: 8000, settings: { network: serviceId } });
			await launcher.start(spec);
			const [address] = JSON.parse(
				await docker("inspect", "--format", "{{json .Config.Env}}", `sluice-${spec.workerId}`),
			).filter((each: string) => each.startsWith("SLUICE_HTTP=")) as string[];
			expect(address).toContain(`"url":"http://server-${spec.workerId.slice(-12)}:8000"`);
			await logged(spec, "The server is ready.");
			await launcher.stop(spec.workerId, 0);
		} finally {
			await docker("network", "rm", serviceId);
		}
	});

	it("two workers that start at once share one import of the adapter's image", async () => {
		const tag = `test-${randomUUID()}`;
		const content = { ...(await adapterContent()), tag };
		// Without the tag it would not be seen that a second import has replaced the first.
		const changes = [...content.changes, `LABEL sluice.test=${tag}`];
		const image = imageOf(async () => ({ ...content, changes }));
		const { signal } = new AbortController();
		try {
			expect(await image.isMissing()).toBe(true);
			await Promise.all([image.import({ signal }), image.import({ signal })]);
			expect(await image.isMissing()).toBe(false);
			const made = await docker("images", "--quiet", "--no-trunc", "--filter", `label=sluice.test=${tag}`);
			expect(made.split("\n")).toHaveLength(1);
			const help = docker(
				"run",
				"--rm",
				"--network",
				"none",
				"--read-only",
				"--cap-drop",
				"ALL",
				await image.name(),
				"snooze",
			);
			await expect(help).rejects.toThrow("Unexpected argument snooze. Usage: sluice-http");
		} finally {
			await docker("rmi", "--force", await image.name());
		}
	});
});

const noBridge = noDocker ?? noHosts;

describe.skipIf(noBridge !== undefined)(titledHosts("docker launcher with HTTP servers on the default bridge"), () => {
	it("the adapter reaches the server's own address, and no port is on the machine", {
		timeout: 180_000,
	}, async (test) => {
		await makeImage();
		const network = await startDockerNetwork();
		test.onTestFinished(() => network.remove());
		await copyImages(network.host, IMAGE);
		const launcher = new DockerLauncher({ clock, logDir, serviceEnv: { DOCKER_HOST: network.host }, log() {} });
		test.onTestFinished(() => launcher.close());
		const [one, two] = [specOf({ port: 8000 }), specOf({ port: 8000 })];
		await Promise.all([one, two].map((spec) => launcher.start(spec)));
		for (const spec of [one, two]) await logged(spec, "The server is ready.");
		const adapters = await dockerAt(
			network.host,
			"images",
			"--all",
			"--quiet",
			"--filter",
			"label=sluice.image=adapter",
		);
		expect(adapters.split("\n"), "both waited for one import").toHaveLength(1);
		expect(await network.run("ss", "-ltn")).not.toContain(":8000");
		for (const { workerId } of [one, two]) await launcher.stop(workerId, 0);
		expect(await launcher.list()).toEqual([]);
	});
});
