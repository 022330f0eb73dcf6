/** A machine of several that fails in part, by daemons here that answer as a test says (D44). */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { advanceUntil, manualClock } from "../../../test/support/manual-clock.ts";
import type { HostSettings } from "./hosts/host-schema.ts";
import type { Exit, Handle, Notice, WorkerSpec } from "../../kernel/launchers/launcher.ts";
import { dockerDaemon, isUnanswered } from "./daemon.ts";
import { connectionTo } from "./hosts/connection.ts";
import { DockerLauncher } from "./launcher.ts";

type Service = ReturnType<typeof open>;

const SMI = "2026-01-01T00:00:00.0Z 0, NVIDIA L4, 23034, 0, 0, GPU-1, 550.54.15, [N/A]\n";

interface Container {
	Id: string;
	Labels: Record<string, string>;
	isProbe: boolean;
	started: boolean;
	runs: boolean;
	ended: PromiseWithResolvers<void>;
}

interface MachineOptions {
	runtimes?: object;
	/** Whether its daemon refuses to remove the container. */
	isStuck?: (id: string) => boolean;
	/** Why its daemon does not start a container, with limits that are raised or without. */
	startFault?: (raisesLimits: boolean) => string | undefined;
	onCreated?: () => void;
	/** A list is answered when this resolves. */
	beforeList?: () => Promise<unknown>;
	/** Whether its daemon says what a container is. */
	shows?: () => boolean;
}

/** Probes read the GPUs. */
async function machine(options: MachineOptions = {}) {
	const { runtimes = {}, isStuck, startFault, onCreated, beforeList, shows = () => true } = options;
	const bodies: { HostConfig?: { Ulimits?: object } }[] = [];
	const all = new Map<string, Container>();
	const removals: string[] = [];
	const signals: string[] = [];
	let made = 0;
	function add(q: { Labels?: Record<string, string>; isProbe?: boolean }): Container {
		const isProbe = q.isProbe ?? false;
		const Id = `${isProbe ? "probe" : "c"}${(made += 1)}`;
		const ended = Promise.withResolvers<void>();
		const one = { Id, Labels: q.Labels ?? {}, isProbe, started: false, runs: true, ended };
		all.set(Id, one);
		return one;
	}
	async function answer(method: string, url: string, body: string, response: ServerResponse): Promise<void> {
		const { pathname: path, searchParams } = new URL(url, "http://any");
		const json = (status: number, value?: unknown): void =>
			void response.writeHead(status).end(value === undefined ? "" : JSON.stringify(value));
		if (path === "/_ping") return json(200);
		if (path === "/info") return json(200, { Runtimes: runtimes });
		if (path === "/images/json") return json(200, []);
		if (path.startsWith("/images/")) return json(200, {});
		if (path === "/containers/json") {
			await beforeList?.();
			const [label = ""] = (JSON.parse(searchParams.get("filters")!) as { label: string[] }).label;
			const [name = "", value] = label.split("=");
			const isListed = ({ Labels }: Container): boolean =>
				name in Labels && (value === undefined || Labels[name] === value);
			return json(200, [...all.values()].filter(isListed));
		}
		if (path === "/containers/create") {
			bodies.push(JSON.parse(body) as (typeof bodies)[number]);
			const { Labels, Entrypoint } = JSON.parse(body) as { Labels?: Record<string, string>; Entrypoint?: string[] };
			const { Id } = add({ ...(Labels && { Labels }), isProbe: Entrypoint?.[0] === "nvidia-smi" });
			onCreated?.();
			return json(201, { Id });
		}
		const [, id = "", action] = /^\/containers\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
		const found = all.get(id);
		if (!found) return json(404, { message: "no such container" });
		if (method === "DELETE") {
			removals.push(id);
			if (isStuck?.(id)) json(500, { message: "device or resource busy" });
			else if (all.delete(id)) json(204);
			return;
		}
		const fault = action === "start" && startFault?.(bodies.at(-1)?.HostConfig?.Ulimits !== undefined);
		if (fault) return json(500, { message: fault });
		if (action === "start") {
			found.started = true;
			return json(204);
		}
		if (action === "json" && !shows()) return json(500, { message: "not now" });
		if (action === "kill") {
			signals.push(id);
			found.runs = false;
			found.ended.resolve();
			return json(204);
		}
		if (action === "top") return json(200, { Processes: [["1", "python"]] });
		if (action === "json")
			return json(200, {
				Id: id,
				State: { Running: found.runs, ExitCode: 0 },
				HostConfig: {},
				Config: { Labels: found.Labels },
			});
		if (action === "logs" && found.isProbe) {
			const head = Buffer.from([1, 0, 0, 0, 0, 0, 0, SMI.length]);
			return void response.end(Buffer.concat([head, Buffer.from(SMI)]));
		}
		await found.ended.promise;
		json(200, action === "wait" ? { StatusCode: 0 } : undefined);
	}
	const server = createServer((request, response) => {
		let body = "";
		request.on("data", (piece) => (body += String(piece)));
		request.once("end", () => void answer(request.method!, request.url!, body, response));
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return {
		docker: `tcp://127.0.0.1:${(server.address() as { port: number }).port}`,
		all,
		add,
		bodies,
		removals,
		signals,
		end(id: string): void {
			all.get(id)!.runs = false;
			all.get(id)!.ended.resolve();
		},
	};
}

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
	const bad = await machine({ runtimes: { nvidia: {} } });
	const good = await machine();
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
	const { docker, all } = await machine({ runtimes: { nvidia: {} } });
	const { start } = open({ bad: { docker, gpuImage: "ubuntu:24.04" } });
	expect(await start("w1")).toMatchObject({ host: "bad" });
	expect([...all.values()].filter(({ isProbe }) => isProbe)).toHaveLength(1);
});

it("D44: of two services that choose the same GPU at the same moment at most one starts a worker there", async () => {
	const both = Promise.withResolvers<void>();
	let created = 0;
	const rig = await machine({
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
	const rig = await machine();
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
	const rig = await machine({ isStuck: (id) => stuck.has(id) });
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
	const rig = await machine({ shows: () => shown });
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
	const rig = await machine({ startFault: () => message });
	const { start } = open({ rig: { docker: rig.docker } });
	for (const worker of ["w1", "w2"]) await expect(start(worker)).rejects.toThrow(message);
	expect(rig.bodies.map(({ HostConfig }) => HostConfig?.Ulimits !== undefined)).toEqual(tries);
});

it("D25: where Docker may not raise limits, workers run without them", async () => {
	const rig = await machine({ startFault: (raises) => (raises ? REFUSED_LIMIT : undefined) });
	const { start } = open({ rig: { docker: rig.docker } });
	expect(await start("w1")).toMatchObject({ container: "c2" });
	expect(await start("w2")).toMatchObject({ container: "c3" });
	expect(rig.removals).toEqual(["c1"]);
	expect(rig.bodies.map(({ HostConfig }) => HostConfig?.Ulimits !== undefined)).toEqual([true, false, false]);
});
