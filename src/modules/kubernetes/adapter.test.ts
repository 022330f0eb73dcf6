/** A worker of two containers, by an API server here whose Pods do what a test says: start, ends, stop, logs. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { advanceUntil, manualClock } from "../../../test/support/manual-clock.ts";
import { type ScriptedCluster, scriptedCluster } from "../../../test/support/scripted-cluster.ts";
import { untilTrue } from "../../../test/support/until.ts";
import { MAPPING_VARIABLE, workerEnv } from "../../kernel/core/workers/worker-env.ts";
import type { Exit, Handle, Notice, WorkerSpec } from "../../kernel/launchers/launcher.ts";
import { logPath } from "../../kernel/launchers/logs/log-files.ts";
import { openCluster } from "./cluster.ts";
import { KubernetesLauncher } from "./launcher.ts";
import type { KubernetesSettings } from "./settings.ts";

const WORKER = "docs-0a1b2c3d4e5f";
const SERVICE = "http://sluice.example:8080";
const MAPPING = '{"port":8000,"ready":{"path":"/health"}}';
const RUNNING = { worker: { running: {} }, server: { running: {} } };

function open(cluster: ScriptedCluster, logDir = mkdtempSync(join(tmpdir(), "sluice-kubernetes-"))) {
	const clock = manualClock();
	const launcher = new KubernetesLauncher({
		clock,
		logDir,
		log: () => {},
		serviceEnv: { KUBECONFIG: cluster.kubeconfig },
	});
	const exits: Exit[] = [];
	const notices: Notice[] = [];
	launcher.onExit((exit) => exits.push(exit));
	launcher.onNotice((notice) => notices.push(notice));
	onTestFinished(async () => {
		await launcher.close();
		rmSync(logDir, { recursive: true, force: true });
	});
	const start = (settings: object = {}, change: Partial<WorkerSpec> = {}): Promise<Handle> =>
		launcher.start({
			workerId: WORKER,
			endpoint: "docs",
			serviceId: "s",
			env: {
				MODEL: "small",
				PATH: "/venv/bin",
				...workerEnv({ url: SERVICE, endpoint: "docs", worker: WORKER, token: "worker-key", leaseMs: 20_000 }),
				[MAPPING_VARIABLE]: MAPPING,
			},
			url: SERVICE,
			gpus: [],
			gpuCount: 1,
			workersMax: 3,
			stopGraceMs: 30_000,
			settings: { type: "kubernetes", image: "docling:1", adapterImage: "sluice:1", ...settings } as KubernetesSettings,
			adapter: { mapping: MAPPING, port: 8000 },
			...change,
		});
	const exit = async (): Promise<Exit> => {
		await advanceUntil(clock, () => exits.length > 0, 100);
		return exits[0]!;
	};
	const log = (): string => {
		const path = logPath(logDir, WORKER);
		return existsSync(path) ? readFileSync(path, "utf8") : "";
	};
	return { launcher, clock, exits, notices, start, exit, log, logDir };
}

/** A worker both of whose containers run. */
async function running() {
	const cluster = await scriptedCluster();
	const service = open(cluster);
	const handle = await service.start();
	cluster.set(RUNNING);
	await untilTrue(() => cluster.followed() === 2);
	/** Moves time until the Pod was deleted so many times. */
	const deleted = (times: number): Promise<void> =>
		advanceUntil(service.clock, () => cluster.graces.length >= times, 25);
	return { cluster, handle, deleted, ...service };
}

const ended = (exitCode: number, more: object = {}): { terminated: { exitCode: number } } => ({
	terminated: { exitCode, ...more },
});

describe("the start", () => {
	it("makes a Secret for each container, and the server's has nothing of the service", async () => {
		const { cluster } = await running();
		const [ofAdapter, ofServer] = cluster.secrets;
		expect(cluster.secrets).toHaveLength(2);
		expect(ofServer!.stringData).toEqual({
			MODEL: "small",
			PATH: "/venv/bin",
			PORT: "8000",
			RUNPOD_POD_HOSTNAME: WORKER,
			RUNPOD_GPU_COUNT: "1",
		});
		expect(ofAdapter!.stringData).toMatchObject({ MODEL: "small", RUNPOD_AI_API_KEY: "worker-key" });
		expect(ofAdapter!.stringData).not.toHaveProperty("PATH");
		expect(JSON.parse(ofAdapter!.stringData[MAPPING_VARIABLE]!)).toEqual({
			url: "http://127.0.0.1:8000",
			ready: { path: "/health" },
		});
		const [adapter, server] = (cluster.pod().spec as any).containers;
		expect(adapter.envFrom).toEqual([{ secretRef: { name: ofAdapter!.metadata.name } }]);
		expect(server.envFrom).toEqual([{ secretRef: { name: ofServer!.metadata.name } }]);
		expect([adapter.image, server.image]).toEqual(["sluice:1", "docling:1"]);
	});

	it("says what to set where the adapter's image is unknown, and makes no Pod", async () => {
		const cluster = await scriptedCluster();
		await expect(open(cluster).start({ adapterImage: undefined })).rejects.toThrow(
			/^cannot start a worker of endpoint "docs": the image of the adapter is unknown, .*: set launcher\.adapterImage/,
		);
		expect(cluster.pods.size).toBe(0);
	});

	it.each([
		[{ mapping: '{"socket":"/s"}', port: undefined }, "http.socket cannot be reached from another container"],
		[{ mapping: '{"port":0}', port: 0 }, "http.port: 0 is not possible in another container"],
	])("is refused for %j", async (adapter, sentence) => {
		const cluster = await scriptedCluster();
		await expect(open(cluster).start({}, { adapter })).rejects.toThrow(sentence);
		expect([cluster.pods.size, cluster.secrets.length]).toEqual([0, 0]);
	});

	it("waits until both containers run, and names the image that cannot be pulled", async () => {
		const cluster = await scriptedCluster();
		const { start, notices } = open(cluster);
		await start();
		const denied = { waiting: { reason: "ImagePullBackOff", message: "denied" } };
		cluster.set({ worker: { running: {} }, server: denied });
		await untilTrue(() => notices.length === 1);
		cluster.set({ worker: denied, server: { running: {} } });
		await untilTrue(() => notices.length === 2);
		cluster.set(RUNNING);
		await untilTrue(() => notices.length === 3);
		expect(notices).toMatchObject([
			{ state: "waiting", code: "image_pull", message: "Image docling:1 cannot be pulled: denied" },
			{ message: "Image sluice:1 of the adapter (launcher.adapterImage) cannot be pulled: denied" },
			{ state: "running" },
		]);
	});

	it.each([
		["sluice", [{ name: "proxy", image: "proxy:1" }], "sluice:2"],
		["service", [], "sluice:2"],
	])("takes the image of the container %s of the service's own Pod", async (name, others, image) => {
		const cluster = await scriptedCluster();
		const own = { name, image };
		cluster.pods.set("sluice-0", {
			metadata: { name: "sluice-0", uid: "own" },
			spec: { containers: [...others, own] },
		});
		const at = (pod: string) =>
			openCluster(
				{ service: "s" },
				{
					connection: {
						server: cluster.url,
						namespace: "jobs",
						insecure: false,
						ownPod: { namespace: "jobs", name: pod },
						credentials: async () => ({}),
					},
					clock: manualClock(),
					onPod() {},
					onSynced() {},
					onError() {},
				},
			);
		const [here, missing] = [at("sluice-0"), at("sluice-1")];
		onTestFinished(() => {
			for (const each of [here, missing]) each.close();
		});
		expect(await here.ownImage()).toBe(image);
		expect(await missing.ownImage()).toBeUndefined();
	});
});

describe("the end", () => {
	it.each([
		["its code", ended(3), { code: 3 }],
		["70 in place of 0", ended(0), { code: 70 }],
		["its memory", ended(137, { reason: "OOMKilled" }), { code: 137, reason: { code: "out_of_memory", crash: true } }],
	])("of the server is that of the worker, with %s; the adapter has 5 s", async (_, state, end) => {
		const { cluster, deleted, exit, exits } = await running();
		cluster.set({ server: state });
		await deleted(1);
		expect(new Set(cluster.graces)).toEqual(new Set([5]));
		expect(exits).toEqual([]);
		cluster.set({ worker: ended(0) });
		expect(await exit()).toMatchObject({ workerId: WORKER, ...end });
		expect(cluster.graces.at(-1)).toBe(0);
		expect(cluster.pods.size).toBe(0);
		expect((await exit()).reason?.code).toBe((end as { reason?: { code: string } }).reason?.code);
	});

	it("of the adapter is that of the worker, and the server ends", async () => {
		const { cluster, deleted, exit } = await running();
		cluster.set({ worker: ended(69) });
		await deleted(1);
		expect(new Set(cluster.graces)).toEqual(new Set([1]));
		cluster.set({ server: ended(143) });
		const { code, reason } = await exit();
		expect([code, reason]).toEqual([69, undefined]);
	});

	it("of the adapter counts when a server that waits for its image is removed with its Pod", async () => {
		const { cluster, deleted, exit, exits } = await running();
		cluster.set({ worker: ended(2), server: { waiting: { reason: "ContainerCreating" } } });
		await deleted(1);
		expect([cluster.graces[0], exits]).toEqual([1, []]);
		cluster.remove();
		expect(await exit()).toMatchObject({ code: 2 });
	});

	it.each([
		["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", 3],
		["2026-01-01T00:00:01Z", "2026-01-01T00:00:01Z", 3],
		["2026-01-01T00:00:02Z", "2026-01-01T00:00:01Z", 69],
	])("of both at once is that of the first: server %s, adapter %s", async (server, adapter, code) => {
		const { cluster, exit } = await running();
		cluster.set({ server: ended(3, { finishedAt: server }), worker: ended(69, { finishedAt: adapter }) });
		expect(await exit()).toMatchObject({ code });
	});
});

describe("a stop", () => {
	it("deletes a worker without jobs at once, with all of the grace, and its code is the adapter's", async () => {
		const { cluster, launcher, deleted, exit } = await running();
		const stopped = launcher.stop(WORKER, 30_000);
		await deleted(1);
		expect(cluster.graces).toEqual([30]);
		cluster.set({ server: ended(143) });
		expect(await launcher.list(), "while its adapter runs").toEqual([WORKER]);
		cluster.set({ worker: ended(0) });
		expect(await exit()).toMatchObject({ code: 0 });
		await stopped;
	});

	it("waits for the jobs, because the signal reaches the server as well", async () => {
		const { cluster, launcher, clock, deleted, exit } = await running();
		launcher.setBusy(WORKER, true);
		const stopped = launcher.stop(WORKER, 30_000);
		await clock.advance(10_000);
		expect(cluster.graces).toEqual([]);
		launcher.setBusy(WORKER, false);
		await deleted(1);
		expect(cluster.graces).toEqual([20]);
		cluster.set({ worker: ended(0), server: ended(143) });
		expect(await exit()).toMatchObject({ code: 0 });
		await stopped;
	});

	it("deletes it when the grace is over, and a shorter one counts", async () => {
		for (const shorter of [undefined, 0]) {
			const { cluster, launcher, deleted, clock, exit } = await running();
			launcher.setBusy(WORKER, true);
			const stops = [launcher.stop(WORKER, 30_000)];
			if (shorter !== undefined) stops.push(launcher.stop(WORKER, shorter));
			const before = clock.now();
			await deleted(1);
			expect(cluster.graces[0]).toBe(1);
			expect(clock.now() - before >= 30_000).toBe(shorter === undefined);
			cluster.set({ worker: ended(137), server: ended(137) });
			await exit();
			await Promise.all(stops);
		}
	});

	it("of a server that ends meanwhile is its end", async () => {
		const { cluster, launcher, deleted, exit } = await running();
		launcher.setBusy(WORKER, true);
		const stopped = launcher.stop(WORKER, 30_000);
		cluster.set({ server: ended(3) });
		await deleted(1);
		expect(cluster.graces[0]).toBe(5);
		cluster.set({ worker: ended(0) });
		expect(await exit()).toMatchObject({ code: 3 });
		await stopped;
	});
});

describe("D34: the next service", () => {
	it("has each line of both containers once, in one log", async () => {
		const { cluster, launcher, handle, log, logDir } = await running();
		cluster.print("server", "2026-01-01T00:00:01.5Z", "server listens");
		cluster.print("worker", "2026-01-01T00:00:03.5Z", "ready");
		await untilTrue(() => log().includes("listens") && log().includes("ready"));
		await launcher.close();
		cluster.print("server", "2026-01-01T00:00:02.5Z", "slower line");
		const next = open(cluster, logDir);
		expect(await next.launcher.adopt(WORKER, handle, "s")).toBe(true);
		await untilTrue(() => log().includes("slower line"));
		cluster.set({ worker: ended(0), server: ended(3) });
		expect(await next.exit()).toMatchObject({ code: 3 });
		for (const line of ["server listens\n", "ready\n", "slower line\n"]) expect(log().split(line)).toHaveLength(2);
	});

	it("finds what ended first while no service ran", async () => {
		const { cluster, launcher, handle } = await running();
		await launcher.close();
		cluster.set({
			server: ended(137, { reason: "OOMKilled", finishedAt: "2026-01-01T00:00:01Z" }),
			worker: ended(69, { finishedAt: "2026-01-01T00:00:31Z" }),
		});
		const next = open(cluster);
		expect(await next.launcher.adopt(WORKER, handle, "s")).toBe(true);
		expect(await next.exit()).toMatchObject({ code: 137, reason: { code: "out_of_memory" } });
	});
});

it("D28: a crash of a worker beside a sidecar of its template is no drain of its node", async () => {
	const cluster = await scriptedCluster();
	const { start, clock, exit } = open(cluster);
	const containers = [{ name: "side", image: "side:1" }];
	await start({ podTemplate: { spec: { containers } } }, { adapter: undefined });
	cluster.set({ worker: { running: {} }, side: { running: {} } });
	cluster.set({ worker: ended(3) });
	await advanceUntil(clock, () => cluster.graces.length > 0, 25);
	cluster.set({ side: ended(143) });
	const { code, reason } = await exit();
	expect([code, reason]).toEqual([3, undefined]);
});
