/** Workers of two containers on a real cluster: an HTTP server, and the adapter that takes jobs for it. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { workerEnv } from "../../src/kernel/core/workers/worker-env.ts";
import type { Handle, Launcher, WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import { logPath } from "../../src/kernel/launchers/logs/log-files.ts";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import { KubernetesLauncher } from "../../src/modules/kubernetes/launcher.ts";
import type { KubernetesSettings } from "../../src/modules/kubernetes/settings.ts";
import { importAdapterImage } from "../support/adapter-image.ts";
import { dockerAt, IMAGE, makeImage, TAKES_ALL_MEMORY } from "../support/docker.ts";
import { freePort } from "../support/free-port.ts";
import {
	DOCKER,
	LAUNCHER,
	namespace,
	type Namespace,
	noKubernetes,
	ON_NODE,
	titledKubernetes,
} from "../support/kubernetes.ts";
import { until } from "../support/until.ts";
import { scriptedService } from "../support/worker-kit/scripted-service.ts";
import { exitsOf } from "./index.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-kubernetes-http-"));
const logDir = join(root, "logs");
const serviceId = `test-${randomUUID()}`;

/** Answers a job with its input, ends with `exit` of it, or answers once the file `release` is there. */
const SERVER = `
	const { createServer } = require("node:http");
	const { existsSync } = require("node:fs");
	process.on("SIGTERM", () => { console.log("server stops"); process.exit(0); });
	createServer((request, response) => {
		let body = "";
		request.on("data", (piece) => (body += piece)).on("end", () => {
			const { exit, wait } = JSON.parse(body || "{}");
			if (exit !== undefined) process.exit(exit);
			const answer = () => response.setHeader("content-type", "application/json").end(body || "{}");
			if (!wait) return answer();
			console.log("job waits");
			const timer = setInterval(() => { if (existsSync(process.env.RELEASE)) answer(clearInterval(timer)); }, 20);
		});
	}).listen(Number(process.argv[1]), "127.0.0.1", () => console.log("server listens"));`;

interface Container {
	State: { Running: boolean };
	Config: { Env: string[] };
	Mounts: { Destination: string }[];
}

describe.skipIf(noKubernetes !== undefined)(
	titledKubernetes("kubernetes launcher with HTTP servers"),
	{
		timeout: 120_000,
	},
	() => {
		const opened: Launcher[] = [];
		let place: Namespace;
		let adapter = "";

		function open() {
			const launcher = new KubernetesLauncher({ clock, logDir, serviceEnv: { KUBECONFIG: LAUNCHER }, log() {} });
			opened.push(launcher);
			return { launcher, exits: exitsOf(launcher) };
		}

		async function started(test: TestContext, settings: Partial<KubernetesSettings> = {}) {
			const scripted = await scriptedService();
			test.onTestFinished(() => scripted.down());
			const port = await freePort();
			const workerId = `sample-${randomUUID().slice(-12)}`;
			mkdirSync(join(root, workerId));
			const url = "http://127.0.0.1:9";
			const mapping = JSON.stringify({ port, ready: { path: "/", everyMs: 50 } });
			const spec: WorkerSpec<KubernetesSettings> = {
				workerId,
				endpoint: "sample",
				env: {
					...workerEnv({ url, endpoint: "sample", worker: workerId, token: "worker-key", leaseMs: 20_000 }),
					...scripted.env(),
					RUNPOD_POD_ID: workerId,
					SLUICE_HTTP: mapping,
					RELEASE: join(root, workerId, "release"),
				},
				serviceId,
				settings: {
					type: "kubernetes",
					image: IMAGE,
					adapterImage: adapter,
					namespace: place.name,
					command: ["/bin/node", "-e", SERVER, "{port}"],
					imagePullPolicy: "Never",
					volumes: [`${root}:${root}`],
					// The image has no user. The adapter runs as the user of its own image.
					runAsUser: 0,
					podTemplate: ON_NODE,
					...settings,
				},
				adapter: { mapping, port },
				url,
				gpus: [],
				gpuCount: 0,
				workersMax: 20,
				stopGraceMs: 5000,
			};
			const { launcher, exits } = open();
			const handle = await launcher.start(spec);
			return { scripted, spec, launcher, exits, handle, port };
		}

		const log = ({ workerId }: WorkerSpec): string => {
			const path = logPath(logDir, workerId);
			return existsSync(path) ? readFileSync(path, "utf8") : "";
		};
		const logged = (spec: WorkerSpec, text: string): Promise<unknown> =>
			until(`${spec.workerId} writes "${text}"`, () => log(spec).includes(text), 60_000);

		/** The container of this name in the worker's Pod, as its node runs it. */
		async function container(handle: Handle, name: string): Promise<{ id: string; inspected: Container }> {
			const filters = [`label=io.kubernetes.pod.uid=${handle["uid"]}`, `label=io.kubernetes.container.name=${name}`];
			const id = await dockerAt(DOCKER, "ps", "-aq", ...filters.flatMap((each) => ["--filter", each]));
			return { id, inspected: (JSON.parse(await dockerAt(DOCKER, "inspect", id)) as [Container])[0] };
		}

		/** Some kubelets report the end of a container a minute late if they have not reported its begin. */
		const reported = ({ workerId }: WorkerSpec): Promise<unknown> =>
			until(
				"its node reports both containers",
				async () => (await place.podOf(workerId))?.status?.containerStatuses?.every(({ state }) => state?.running),
				60_000,
			);

		const isRemoved = ({ workerId }: WorkerSpec): Promise<unknown> =>
			until("its Pod is removed", async () => (await place.podOf(workerId)) === undefined, 90_000);

		beforeAll(async () => {
			place = await namespace(`sluice-${randomUUID().slice(0, 8)}`);
			await makeImage(DOCKER);
			adapter = await importAdapterImage(DOCKER);
		}, 120_000);
		afterEach(async () => {
			for (const launcher of opened.splice(0)) await launcher.close();
		});
		afterAll(async () => {
			await place?.remove();
			rmSync(root, { recursive: true, force: true });
		}, 60_000);

		it("a job passes through both, and the server has nothing that gives access to the service", async (test) => {
			const { scripted, spec, launcher, handle, port, exits } = await started(test);
			scripted.give({ id: "a", input: { n: 1 } });
			await scripted.until(({ route }) => route === "job-done");
			expect(scripted.results()[0]).toContain('"n":1');
			const { Config, Mounts } = (await container(handle, "server")).inspected;
			const variables = Config.Env.map((each) => each.split("=")[0]).filter((each) => !each!.startsWith("KUBERNETES_"));
			expect(new Set(variables)).toEqual(new Set(["PORT", "RELEASE", "RUNPOD_POD_HOSTNAME"]));
			expect(Config.Env).toContain(`PORT=${port}`);
			expect(JSON.stringify(Config)).not.toContain("worker-key");
			expect(Mounts.map(({ Destination }) => Destination).filter((each) => each.includes("secrets"))).toEqual([]);
			await logged(spec, "server listens\n");
			await logged(spec, "The server is ready.");
			await reported(spec);
			await launcher.stop(spec.workerId, 20_000);
			expect(exits.of(spec.workerId)).toHaveLength(1);
			await isRemoved(spec);
			expect(log(spec)).toContain("server stops\n");
		});

		it.for([
			[3, 3],
			[0, 70],
		] as const)("the server's exit code %i ends both, as code %i", async ([code, expected], test) => {
			const { scripted, spec, exits } = await started(test);
			await logged(spec, "The server is ready.");
			await reported(spec);
			scripted.give({ id: "a", input: { exit: code } });
			const { code: found, reason } = await exits.next(spec.workerId);
			expect([found, reason]).toEqual([expected, undefined]);
			await isRemoved(spec);
		});

		it("a server that uses too much memory is the reason, with its limit", async (test) => {
			const waits = 'while [ ! -e "$RELEASE" ]; do sleep 0.1; done';
			const { spec, exits } = await started(test, {
				command: ["sh", "-c", `${waits}; ${TAKES_ALL_MEMORY}`],
				resources: { limits: { memory: "96Mi" } },
			});
			await reported(spec);
			writeFileSync(spec.env["RELEASE"]!, "");
			expect(await exits.next(spec.workerId)).toMatchObject({
				code: 137,
				reason: { code: "out_of_memory", message: expect.stringContaining("96Mi"), crash: true },
			});
		});

		it("an adapter that is killed ends the server", async (test) => {
			const { spec, exits, handle } = await started(test);
			await logged(spec, "The server is ready.");
			await reported(spec);
			await dockerAt(DOCKER, "kill", (await container(handle, "worker")).id);
			expect(await exits.next(spec.workerId)).toMatchObject({ code: 137 });
			await isRemoved(spec);
		});

		it("a stop lets the job end before any container gets a signal", async (test) => {
			const { scripted, launcher, spec, exits } = await started(test);
			scripted.give({ id: "a", input: { wait: true } });
			await logged(spec, "job waits");
			await reported(spec);
			launcher.setBusy!(spec.workerId, true);
			const stopped = launcher.stop(spec.workerId, 60_000);
			const { metadata } = (await place.podOf(spec.workerId))!;
			expect(metadata.deletionTimestamp).toBeUndefined();
			writeFileSync(spec.env["RELEASE"]!, "");
			await scripted.until(({ route }) => route === "job-done");
			expect(log(spec)).not.toContain("server stops");
			launcher.setBusy!(spec.workerId, false);
			await stopped;
			expect(scripted.results()).toHaveLength(1);
			expect(exits.of(spec.workerId)).toHaveLength(1);
		});

		it("D34: the next service adopts both, and has each line of both once", async (test) => {
			const { scripted, launcher, handle, spec } = await started(test);
			await logged(spec, "The server is ready.");
			await logged(spec, "server listens\n");
			await reported(spec);
			await launcher.close();
			const next = open();
			expect(await next.launcher.adopt(spec.workerId, JSON.parse(JSON.stringify(handle)) as Handle, serviceId)).toBe(
				true,
			);
			scripted.give({ id: "a", input: { exit: 3 } });
			expect(await next.exits.next(spec.workerId)).toMatchObject({ code: 3 });
			for (const line of ["server listens\n", "The server is ready."])
				expect(log(spec).split(line), line).toHaveLength(2);
		});
	},
);
