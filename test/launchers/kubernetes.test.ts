/** The kubernetes launcher with a real cluster: the common contract, and what only Pods do. */
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import { findings } from "../../src/modules/kubernetes/doctor.ts";
import { KubernetesLauncher } from "../../src/modules/kubernetes/launcher.ts";
import { BUSY_ANNOTATIONS, secretName, shortHash } from "../../src/modules/kubernetes/objects/names.ts";
import type { Pod } from "../../src/modules/kubernetes/pods/pod-status.ts";
import type { KubernetesSettings } from "../../src/modules/kubernetes/settings.ts";
import type { Handle, Launcher, Notice, WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import { logPath } from "../../src/kernel/launchers/logs/log-files.ts";
import { importAdapterImage } from "../support/adapter-image.ts";
import { IMAGE, makeImage, TAKES_ALL_MEMORY } from "../support/docker.ts";
import {
	DOCKER,
	LAUNCHER,
	namespace,
	type Namespace,
	noKubernetes,
	ON_NODE,
	processesOfPod,
	serverOf,
	titledKubernetes,
} from "../support/kubernetes.ts";
import { kubernetesProxy } from "../support/kubernetes-proxy.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { adapted, conformance, exitsOf, type Subject } from "./index.ts";
import { SCRIPTS } from "./sample-workers.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-kubernetes-"));
const logDir = join(root, "logs");
const serviceId = `test-${randomUUID()}`;
const ENV = { KUBECONFIG: LAUNCHER };
const folder = ({ workerId }: WorkerSpec): string => join(root, workerId);

type Spec = WorkerSpec<KubernetesSettings>;

/**
 * The first process of a container gets no signal that it does not handle. This one runs the script that follows it,
 * passes SIGTERM on to all, and ends as the script does.
 */
const FIRST =
	'trap "kill -TERM -1" TERM; sh -c "$0" & while wait $!; code=$?; kill -0 $! 2>/dev/null; do :; done; exit $code';

const TITLE = titledKubernetes("kubernetes launcher");

describe.skipIf(noKubernetes !== undefined)(TITLE, { timeout: 120_000 }, () => {
	const opened: Launcher[] = [];
	let place: Namespace;
	let foreign: Handle;
	let adapter = "";

	function script(text: string, change: Partial<KubernetesSettings> = {}): Spec {
		const workerId = `worker-${randomUUID()}`;
		mkdirSync(join(root, workerId));
		return {
			workerId,
			endpoint: "sample",
			env: { PATH: "/bin", PIDS: join(root, workerId) },
			serviceId,
			settings: {
				type: "kubernetes",
				image: IMAGE,
				namespace: place.name,
				command: ["sh", "-c", text],
				imagePullPolicy: "Never",
				volumes: [`${root}:${root}`],
				// The image has no user, and the folder is of root.
				runAsUser: 0,
				podTemplate: ON_NODE,
				...change,
			},
			url: "http://127.0.0.1:9",
			gpus: [],
			gpuCount: 0,
			workersMax: 50,
			stopGraceMs: 1000,
		};
	}

	/** Uids of Pods by their workers. */
	const uids = new Map<string, string>();

	function makeLauncher(log: (message: string) => void = () => {}, env = ENV): Launcher {
		const launcher = new KubernetesLauncher({ clock, logDir, serviceEnv: env, log });
		const start = launcher.start.bind(launcher);
		launcher.start = async (spec) => {
			const handle = await start(spec);
			uids.set(spec.workerId, String(handle["uid"]));
			return handle;
		};
		return launcher;
	}

	const processesIn = ({ workerId }: WorkerSpec, container: "worker" | "server"): Promise<number> =>
		processesOfPod(uids.get(workerId) ?? "", container);

	function open(env = ENV): {
		launcher: Launcher;
		exits: ReturnType<typeof exitsOf>;
		notices: Notice[];
		said: string[];
	} {
		const said: string[] = [];
		const launcher = makeLauncher((message) => void said.push(message), env);
		opened.push(launcher);
		const notices: Notice[] = [];
		launcher.onNotice!((notice) => notices.push(notice));
		return { launcher, exits: exitsOf(launcher), notices, said };
	}

	const podOf = async ({ workerId }: Spec): Promise<Pod> => (await place.podOf(workerId))!;

	beforeAll(async () => {
		place = await namespace(`sluice-${randomUUID().slice(0, 8)}`);
		await makeImage(DOCKER);
		adapter = await importAdapterImage(DOCKER);
		const { launcher } = open();
		const spec = { ...script(SCRIPTS.runs), serviceId: `${serviceId}-other` };
		foreign = await launcher.start(spec);
	}, 120_000);
	afterEach(async () => {
		for (const launcher of opened.splice(0)) await launcher.close();
	});
	afterAll(async () => {
		await place?.remove();
		rmSync(root, { recursive: true, force: true });
	}, 60_000);

	const subject: Subject = {
		open: () => makeLauncher(),
		spec: (behaviour) => script(SCRIPTS[behaviour]),
		// Some kubelets never report the end of a worker that is stopped before they have reported its begin.
		ready: (spec) =>
			until(`${spec.workerId} is ready, and its node reports it`, async () => {
				const isReady = readdirSync(folder(spec)).includes("ready");
				const { status } = await podOf(spec as Spec);
				return isReady && status?.containerStatuses?.every(({ state }) => state?.running);
			}),
		release: (spec) => writeFileSync(join(folder(spec), "release"), ""),
		processes: (spec) => processesIn(spec, "worker"),
		reused: () => foreign,
		reportsAdopted: true,
		// A slow kubelet does not find the container, and writes ContainerStatusUnknown in place of its end.
		losesCodes: true,
		sequential: true,
		queues: true,
	};
	conformance("kubernetes", subject);
	conformance("kubernetes", {
		...subject,
		spec: (behaviour) =>
			adapted(script(SCRIPTS[behaviour], { adapterImage: adapter, command: ["sh", "-c", FIRST, SCRIPTS[behaviour]] })),
		processes: async (spec) => Math.max(0, (await processesIn(spec, "server")) - 1),
		adapted: "beside a container",
	});

	it("D25: neither token nor variables are in the Pod; its Secret is removed with it", async () => {
		const { launcher, exits } = open();
		const spec = script('[ "${#TOKEN}" = 5 ] && exit 0', { shmSize: "32Mi" });
		await launcher.start({ ...spec, env: { ...spec.env, TOKEN: "a=b c" } });
		const pod = await podOf(spec);
		expect(JSON.stringify(pod)).not.toContain("a=b c");
		expect(pod.metadata).toMatchObject({
			labels: { "app.kubernetes.io/managed-by": "sluice" },
			annotations: { "sluice/worker-id": spec.workerId, "sluice/endpoint-id": "sample" },
		});
		expect(await exits.next(spec.workerId)).toMatchObject({ code: 0 });
		await until("the Secret is removed", async () =>
			place.admin.call("GET", place.path("secrets", secretName(spec))).then(
				() => false,
				() => true,
			),
		);
		expect(await place.podOf(spec.workerId)).toBeUndefined();
	});

	describe("reasons", () => {
		it("D29: an image that is missing is given up, with the node's message", async () => {
			const { launcher, exits } = open();
			const spec = script("", { image: "no-such-image:1" });
			await launcher.start(spec);
			const { reason } = await exits.next(spec.workerId);
			expect(reason).toMatchObject({ code: "image_pull", crash: true });
			expect(reason!.message).toMatch(/no-such-image:1.*not present/);
		});

		it("D29: an image that cannot be pulled is given up after so many tries", async () => {
			const { launcher, exits, notices } = open();
			const image = "localhost:9/no-such-image:1";
			const spec = script("", { image, imagePullPolicy: "Always", imagePullTries: 2 });
			await launcher.start(spec);
			const id = spec.workerId;
			const { reason } = await until("it is given up", () => exits.of(id)[0], 60_000);
			expect(reason).toMatchObject({ code: "image_pull", crash: true });
			expect(notices).toContainEqual(expect.objectContaining({ state: "waiting", code: "image_pull" }));
		}, 90_000);

		it("D29: one that no node can take waits, with the scheduler's message", async () => {
			const { launcher, notices } = open();
			const spec = { ...script(SCRIPTS.runs, { gpuResource: "example.com/gpu" }), gpuCount: 3 };
			await launcher.start(spec);
			await until("it waits", () => notices.length > 0);
			expect(notices[0]).toMatchObject({
				workerId: spec.workerId,
				state: "waiting",
				code: "unschedulable",
				message: expect.stringMatching(/0\/1 nodes.*Insufficient example.com\/gpu/),
			});
			await launcher.stop(spec.workerId, 0);
		});

		it("D29: one that uses too much memory, with its limit", async () => {
			const { launcher, exits } = open();
			const waits = 'while [ ! -e "$PIDS/go" ]; do sleep 0.1; done';
			const spec = script(`${waits}; ${TAKES_ALL_MEMORY}`, {
				resources: { limits: { memory: "96Mi" } },
			});
			await launcher.start(spec);
			// Some kubelets report an end before that a minute later.
			await until("its node reports it", async () => (await podOf(spec)).status?.phase === "Running");
			writeFileSync(join(folder(spec), "go"), "");
			expect(await exits.next(spec.workerId)).toMatchObject({
				code: 137,
				reason: { code: "out_of_memory", message: expect.stringContaining("96Mi"), crash: true },
			});
		});

		it("D28: a Pod that something else deletes is one of a drained node, and no crash", async () => {
			const { launcher, exits, notices } = open();
			const spec = script(SCRIPTS.drains);
			await launcher.start(spec);
			await until("it is ready", () => readdirSync(folder(spec)).includes("ready"));
			await until("its node reports it", async () => (await podOf(spec)).status?.phase === "Running");
			const { name } = (await podOf(spec)).metadata;
			await place.admin.call("DELETE", place.path("pods", name));
			const exit = await exits.next(spec.workerId);
			expect(notices.at(-1)).toMatchObject({ state: "ending", code: "node_drained" });
			// The Pod may be removed before its node has reported the exit code.
			expect(exit).toMatchObject({ reason: { code: "node_drained", crash: false } });
		});
	});

	it("D28: while it holds jobs, no autoscaler may remove its node", async () => {
		const { launcher } = open();
		const spec = script(SCRIPTS.runs);
		await launcher.start(spec);
		const annotations = async (): Promise<Record<string, string>> => (await podOf(spec)).metadata.annotations ?? {};
		launcher.setBusy!(spec.workerId, true);
		await until(
			"it is marked",
			async () =>
				Object.entries(await annotations()).filter(([key, value]) => BUSY_ANNOTATIONS[key] === value).length === 2,
		);
		launcher.setBusy!(spec.workerId, false);
		await until("it is not marked", async () =>
			Object.keys(await annotations()).every((key) => !(key in BUSY_ANNOTATIONS)),
		);
		await launcher.stop(spec.workerId, 0);
	});

	it("D34: Pods that no service recorded are deleted, those of others are not", async () => {
		const own = { serviceId: `${serviceId}-strays` };
		const first = open();
		const kept = { ...script(SCRIPTS.runs), ...own };
		const lost = { ...script(SCRIPTS.runs), ...own };
		const elsewhere = { ...script(SCRIPTS.runs), ...own, endpoint: "another" };
		const [handle] = [await first.launcher.start(kept)];
		for (const spec of [lost, elsewhere]) {
			await first.launcher.start(spec);
			await until("it is ready", () => readdirSync(folder(spec)).includes("ready"));
		}
		await first.launcher.close();
		const { launcher } = open();
		expect(await launcher.adopt(kept.workerId, handle, kept.serviceId)).toBe(true);
		const endpoints = [{ id: "sample", settings: kept.settings }];
		const strays = { ...own, recorded: [kept.workerId], endpoints };
		expect(await launcher.removeStrays(strays)).toBe(1);
		await until("it ends", async () => (await subject.processes(lost)) === 0);
		expect(await subject.processes(elsewhere), "another server's").toBe(1);
		expect(await launcher.list()).toEqual([kept.workerId]);
	});

	it("D34: a Pod with the label of another service is not adopted, also where the handle says otherwise", async () => {
		const [original, copy] = [`${serviceId}-original`, `${serviceId}-copy`];
		const { launcher } = open();
		const spec = { ...script(SCRIPTS.runs), serviceId: original };
		const handle = await launcher.start(spec);
		const second = open();
		expect(await second.launcher.adopt(spec.workerId, handle, copy)).toBe(false);
		expect(await second.launcher.adopt(spec.workerId, { ...handle, service: shortHash(copy) }, copy)).toBe(false);
		expect(await second.launcher.list()).toEqual([]);
		await launcher.stop(spec.workerId, 0);
	});

	it("D34: a Pod whose creation was not answered is deleted", async () => {
		const proxy = await kubernetesProxy();
		const kubeconfig = join(root, "kubeconfig-lost");
		proxy.writeKubeconfig(kubeconfig);
		const { launcher } = open({ KUBECONFIG: kubeconfig });
		const spec = { ...script(SCRIPTS.runs), serviceId: `${serviceId}-lost` };
		proxy.loseAnswer();
		await expect(launcher.start(spec)).rejects.toThrow("does not answer");
		expect(await launcher.list()).toEqual([]);
		await until("it is deleted", async () => (await place.podOf(spec.workerId)) === undefined);
		proxy.close();
	});

	it("D34: one that another server has just started is adopted, though the watch lags behind", async () => {
		const { hostname, port } = new URL(serverOf(LAUNCHER));
		const proxy = await tcpProxy(Number(port));
		const kubeconfig = join(root, "kubeconfig-lag");
		const text = readFileSync(LAUNCHER, "utf8");
		writeFileSync(kubeconfig, text.replaceAll(`${hostname}:${port}`, `127.0.0.1:${proxy.port}`));
		const first = open();
		const second = open({ KUBECONFIG: kubeconfig });
		const known = script(SCRIPTS.runs);
		await second.launcher.start(known);
		proxy.refuse();
		proxy.cut();
		const spec = script(SCRIPTS.runs);
		const handle = await first.launcher.start(spec);
		await first.launcher.close();
		expect(await second.launcher.adopt(spec.workerId, handle, spec.serviceId)).toBe(true);
		await proxy.pass();
		expect(new Set(await second.launcher.list())).toEqual(new Set([known.workerId, spec.workerId]));
		for (const { workerId } of [known, spec]) await second.launcher.stop(workerId, 0);
		expect(second.exits.of(spec.workerId)).toHaveLength(1);
		proxy.close();
	});

	it("D28: no more Pods than workersMax exist, whichever launcher creates them", async () => {
		const own = { serviceId: `${serviceId}-most`, workersMax: 2 };
		const [one, two] = [open(), open()];
		const specs = [0, 0, 0].map(() => ({ ...script(SCRIPTS.runs), ...own }));
		// Neither takes the Pods of the other one for strays.
		const endpoints = [{ id: "sample", settings: specs[0]!.settings }];
		for (const { launcher } of [one, two])
			await launcher.removeStrays({ ...own, recorded: [], endpoints, scales: () => false });
		await one.launcher.start(specs[0]!);
		await two.launcher.start(specs[1]!);
		const third = two.launcher.start(specs[2]!);
		await expect(third).rejects.toThrow(/the 2 Pods of workersMax and release.maxSurge exist/);
		await one.launcher.stop(specs[0]!.workerId, 0);
		const last = { ...script(SCRIPTS.runs), ...own };
		await two.launcher.start(last);
		expect(new Set(await two.launcher.list())).toEqual(new Set([specs[1]!.workerId, last.workerId]));
		for (const { workerId } of [specs[1]!, last]) await two.launcher.stop(workerId, 0);
	}, 40_000);

	it("D34: what is written meanwhile is in the log of the adopted worker, each line once", async () => {
		const first = open();
		const spec = script(
			'i=0; while [ ! -e "$PIDS/release" ]; do i=$((i+1)); echo "line $i"; sleep 0.01; done; echo end',
		);
		const handle = await first.launcher.start(spec);
		const log = logPath(logDir, spec.workerId);
		await until("lines are copied", () => readFileSync(log, "utf8").includes("line 10\n"));
		await first.launcher.close();
		const second = open();
		const before = readFileSync(log, "utf8").length;
		expect(await second.launcher.adopt(spec.workerId, handle, spec.serviceId)).toBe(true);
		await until("lines are copied again", () => readFileSync(log, "utf8").length > before + 200);
		writeFileSync(join(folder(spec), "release"), "");
		expect(await second.exits.next(spec.workerId)).toMatchObject({
			code: 0,
			lastOutput: expect.stringMatching(/end$/),
		});
		const text = readFileSync(log, "utf8");
		const numbers = [...text.matchAll(/line (\d+)/g)].map((match) => Number(match[1]));
		expect(numbers).toEqual(numbers.map((_, index) => index + 1));
	});

	it("D36: sluice doctor names each right that is missing, and absent registry Secrets", async () => {
		const check = async (settings: Partial<KubernetesSettings>): Promise<string[]> => {
			const launcher = { type: "kubernetes", image: IMAGE, ...settings } as const;
			const found = await findings([{ id: "sample", launcher }], ENV);
			return found.map(({ level, message }) => `${level}: ${message}`);
		};
		expect(await check({ namespace: place.name, imagePullSecrets: ["registry"] })).toEqual([
			expect.stringMatching(/^ok: All rights in namespace sluice-/),
			expect.stringMatching(/^problem: Secret registry, .* does not exist in namespace sluice-/),
		]);
		expect(await check({ namespace: "default" })).toEqual([
			expect.stringMatching(
				/^problem: These rights are missing in namespace default .*: create pods, .*, list events; 'sample' cannot/,
			),
		]);
	});
});
