/** A machine of several that fails in part, by daemons here that answer as a test says (D44). */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { dockerMachine } from "../../../test/support/docker-machine.ts";
import { advanceUntil, manualClock } from "../../../test/support/manual-clock.ts";
import type { HostSettings } from "./hosts/host-schema.ts";
import type { Exit, Handle, Notice, WorkerSpec } from "../../kernel/launchers/launcher.ts";
import { dockerDaemon } from "./daemon.ts";
import { isUnanswered } from "./daemon-calls.ts";
import { connectionTo } from "./hosts/connection.ts";
import { DockerLauncher } from "./launcher.ts";

type Service = ReturnType<typeof open>;

function open(hosts: Record<string, HostSettings>, serviceId = "s") {
	const logDir = mkdtempSync(join(tmpdir(), "sluice-docker-"));
	const clock = manualClock();
	const lines: string[] = [];
	const launcher = new DockerLauncher({
		clock,
		logDir,
		log: (line: string) => void lines.push(line),
		serviceEnv: {},
		hosts: { hosts, lostAfterMs: 300_000 },
	} as unknown as ConstructorParameters<typeof DockerLauncher>[0]);
	onTestFinished(async () => {
		await launcher.close();
		rmSync(logDir, { recursive: true, force: true });
	});
	const start = (workerId: string, gpuCount = 0, gpuMemoryGb?: number): Promise<Handle> =>
		launcher.start({
			workerId,
			endpoint: "hello",
			serviceId,
			env: {},
			url: "http://10.0.0.1:1",
			gpus: [],
			gpuCount,
			gpuMemoryGb,
			workersMax: 3,
			stopGraceMs: 0,
			settings: { type: "docker", image: "x:1", hosts: "all" },
		} as WorkerSpec);
	const sweep = (): Promise<number> => launcher.removeStrays({ serviceId, recorded: [], endpoints: [] });
	return { launcher, clock, lines, start, sweep };
}

it("D44: a machine whose nvidia-smi hangs delays no other one, and gets workers once its GPUs are read", async () => {
	const bad = await dockerMachine({ runtimes: { nvidia: {} } });
	const good = await dockerMachine();
	const gpus = [{ id: "GPU-0", model: "L4", memoryGb: 24 }];
	const { launcher, clock, start } = open({ bad: { docker: bad.docker }, good: { docker: good.docker, gpus } });
	const placed = Promise.withResolvers<Handle>();
	launcher.onHandle((_, handle) => placed.resolve(handle));
	const notices: Notice[] = [];
	launcher.onNotice((notice) => notices.push(notice));
	expect(await start("w1", 1)).toMatchObject({ host: "good" });
	let second: Handle | undefined;
	void start("w2", 1).then((handle) => (second = handle));
	await advanceUntil(clock, () => second !== undefined, 1000);
	expect(second).toEqual({});
	expect(notices.at(-1)).toMatchObject({
		workerId: "w2",
		code: "unschedulable",
		message: expect.stringContaining("bad: its GPUs are not known (not read yet)"),
	});
	const late = "bad: its GPUs are not known (nvidia-smi did not answer within 60 s)";
	await advanceUntil(clock, () => notices.some((notice) => JSON.stringify(notice).includes(late)), 1000);
	// The next check reads them again.
	const probes = (): string[] => [...bad.all.keys()].filter((id) => id.startsWith("probe"));
	await advanceUntil(clock, () => bad.removals.includes("probe1") && probes().length === 1, 1000);
	bad.end(probes()[0]!);
	expect(await placed.promise).toMatchObject({ host: "bad", hostGpus: "GPU-1" });
});

it("D44: a machine whose nvidia-smi hangs runs workers without GPUs", async () => {
	const { docker, all } = await dockerMachine({ runtimes: { nvidia: {} } });
	const { start } = open({ bad: { docker, gpuImage: "ubuntu:24.04" } });
	expect(await start("w1")).toMatchObject({ host: "bad" });
	expect([...all.values()].filter(({ isProbe }) => isProbe)).toHaveLength(1);
});

it("D44: of two services that choose the same GPU at the same moment at most one starts a worker there", async () => {
	const both = Promise.withResolvers<void>();
	let created = 0;
	const rig = await dockerMachine({
		onCreated: () => (created += 1) === 2 && both.resolve(),
		beforeList: () => (created > 0 ? both.promise : Promise.resolve()),
	});
	const gpus = [{ id: "GPU-0", model: "L4", memoryGb: 24 }];
	const [a, b] = ["a", "b"].map((id) => open({ rig: { docker: rig.docker, gpus } }, id)) as [Service, Service];
	const running = (): string[] =>
		[...rig.all.values()].filter(({ started }) => started).map(({ Labels }) => Labels["sluice.worker"]!);
	expect(await Promise.all([a.start("wa", 1), b.start("wb", 1)])).toEqual([{}, {}]);
	expect(created).toBe(2);
	expect(running()).toEqual([]);
	await advanceUntil(a.clock, () => running().length > 0, 1000);
	await b.clock.advance(20_000);
	expect(running()).toEqual(["wa"]);
	rig.end([...rig.all.keys()][0]!);
	await advanceUntil(b.clock, () => running().includes("wb"), 1000);
	expect(running()).toEqual(["wb"]);
});

it("D44: parts of a GPU that another service has just assigned move the worker to the next GPU", async () => {
	const rig = await dockerMachine();
	const gpus = ["GPU-0", "GPU-1"].map((id) => ({ id, model: "L4", memoryGb: 24 }));
	const { start } = open({ rig: { docker: rig.docker, gpus } });
	const part = { "sluice.gpus": "GPU-0", "sluice.gpu-memory-gb": "10" };
	expect(await start("w1", 1, 10)).toMatchObject({ hostGpus: "GPU-0" });
	// Neither this service's last check nor its own workers show it.
	rig.add({ Labels: { "sluice.service": "other", "sluice.worker": "o1", ...part } });
	expect(await start("w2", 1, 10)).toMatchObject({ hostGpus: "GPU-1" });
});

it("D44: a container that Docker refuses to remove does not make its machine unreachable", async () => {
	const stuck = new Set(["c1", "c2"]);
	const rig = await dockerMachine({ isStuck: (id) => stuck.has(id) });
	rig.add({ Labels: { "sluice.service": "s", "sluice.worker": "w-old" } });
	const { launcher, clock, lines, start, sweep } = open({ rig: { docker: rig.docker } });
	expect(await sweep()).toBe(0);
	expect(await start("w2")).toMatchObject({ container: "c2" });
	const exit = Promise.withResolvers<Exit>();
	launcher.onExit(exit.resolve);
	rig.end("c2");
	expect(await exit.promise).toMatchObject({ workerId: "w2", code: 0 });
	expect(launcher.hosts.views()).toMatchObject([{ state: "reachable", fault: undefined }]);
	expect(await start("w3")).toMatchObject({ container: "c3" });
	const { length } = rig.removals;
	// Each check tries both again.
	await advanceUntil(clock, () => rig.removals.length >= length + 2, 1000);
	expect(lines).toEqual(
		["c1", "c2"].map((id) => `container ${id} on rig was not removed, trying again: device or resource busy`),
	);
	stuck.clear();
	await advanceUntil(clock, () => rig.all.size === 1, 1000);
	expect([...rig.all.keys()]).toEqual(["c3"]);
});

it.each([
	["another service is left alone", "original", []],
	["this service is ended", "s", ["c1"]],
])("D34: adopted before its daemon has shown whose it is, the container of %s", async (_, by, signals) => {
	let shown = false;
	const rig = await dockerMachine({ shows: () => shown });
	rig.add({ Labels: { "sluice.service": by, "sluice.worker": "w1" } });
	const { launcher, clock } = open({ rig: { docker: rig.docker } });
	const exits: Exit[] = [];
	launcher.onExit((exit) => exits.push(exit));
	expect(await launcher.adopt("w1", { container: "c1", host: "rig" }, "s")).toBe(true);
	await expect(launcher.stop("w1", 0)).rejects.toThrow("host rig has not shown yet that this service started its");
	expect(rig.signals).toEqual([]);
	shown = true;
	// The service repeats its stop; the mark is read once a second.
	const isOver = (): boolean => {
		void launcher.stop("w1", 0).catch(() => {});
		return exits.length > 0;
	};
	await advanceUntil(clock, isOver, 1000);
	expect([[...new Set(rig.signals)], rig.removals]).toEqual([signals, signals]);
});

it("D44: a call that a daemon never answers ends, as one without an answer", async () => {
	const late = new AbortController();
	vi.spyOn(AbortSignal, "timeout").mockReturnValue(late.signal);
	onTestFinished(() => void vi.restoreAllMocks());
	const hung = createServer(() => late.abort(new DOMException("", "TimeoutError")));
	await once(hung.listen(0, "127.0.0.1"), "listening");
	onTestFinished(() => {
		hung.closeAllConnections();
		hung.close();
	});
	const { port } = hung.address() as { port: number };
	const daemon = dockerDaemon(
		connectionTo(`tcp://127.0.0.1:${port}`, { env: {}, secure: false, certificates: undefined }),
	);
	const error: unknown = await daemon.start("c1").catch((reason: unknown) => reason);
	expect(isUnanswered(error)).toBe(true);
});

const REFUSED_LIMIT = "error setting rlimit type 8: operation not permitted";

it.each<[title: string, message: string, tries: boolean[]]>([
	["a command with such a name", 'exec: "/set-rlimit.sh": permission denied', [true, true]],
	["a limit that is not the cause", REFUSED_LIMIT, [true, false, true, false]],
])("D25: limits are raised again after %s has failed", async (_, message, tries) => {
	const rig = await dockerMachine({ startFault: () => message });
	const { start } = open({ rig: { docker: rig.docker } });
	for (const worker of ["w1", "w2"]) await expect(start(worker)).rejects.toThrow(message);
	expect(rig.bodies.map(({ HostConfig }) => HostConfig?.Ulimits !== undefined)).toEqual(tries);
});

it("D25: where Docker may not raise limits, workers run without them", async () => {
	const rig = await dockerMachine({ startFault: (raises) => (raises ? REFUSED_LIMIT : undefined) });
	const { start } = open({ rig: { docker: rig.docker } });
	expect(await start("w1")).toMatchObject({ container: "c2" });
	expect(await start("w2")).toMatchObject({ container: "c3" });
	expect(rig.removals).toEqual(["c1"]);
	expect(rig.bodies.map(({ HostConfig }) => HostConfig?.Ulimits !== undefined)).toEqual([true, false, false]);
});
