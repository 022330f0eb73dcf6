/** A worker of two containers, by a daemon here that answers as a test says: starts, ends, adoption. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type DockerMachine, dockerMachine, type MachineOptions } from "../../../../test/support/docker-machine.ts";
import { advanceUntil, manualClock } from "../../../../test/support/manual-clock.ts";
import type { Exit, Handle, WorkerSpec } from "../../../kernel/launchers/launcher.ts";
import { DockerLauncher } from "../launcher.ts";

const WORKER = "hello-0a1b2c3d4e5f";
const NAME = `sluice-${WORKER}`;
const SERVER = `${NAME}-server`;

function open({ docker }: DockerMachine) {
	const logDir = mkdtempSync(join(tmpdir(), "sluice-docker-"));
	const clock = manualClock();
	const hosts = { hosts: { rig: { docker } }, lostAfterMs: 300_000 };
	const launcher = new DockerLauncher({ clock, logDir, log: () => {}, serviceEnv: {}, hosts });
	const exits: Exit[] = [];
	launcher.onExit((exit) => exits.push(exit));
	onTestFinished(async () => {
		await launcher.close();
		rmSync(logDir, { recursive: true, force: true });
	});
	const start = (change: Partial<WorkerSpec> = {}): Promise<Handle> =>
		launcher.start({
			workerId: WORKER,
			endpoint: "hello",
			serviceId: "s",
			env: { A: "1" },
			url: "http://10.0.0.1:1",
			gpus: [],
			gpuCount: 0,
			workersMax: 3,
			stopGraceMs: 0,
			settings: {
				type: "docker",
				image: "server:1",
				adapterImage: "adapter:1",
				hosts: "all",
			} as WorkerSpec["settings"],
			adapter: { mapping: '{"port":8000}', port: 8000 },
			...change,
		});
	/** Moves time until the worker has ended. */
	const exit = async (): Promise<Exit> => {
		await advanceUntil(clock, () => exits.length > 0, 100);
		return exits[0]!;
	};
	return { launcher, clock, exits, exit, start };
}

/** A worker that runs. */
async function running(options: MachineOptions = {}) {
	const rig = await dockerMachine(options);
	const service = open(rig);
	const handle = await service.start();
	return { rig, handle, ...service };
}

/** Signals in the order in which they were sent, by the part of the worker. */
const signalsOf = ({ calls }: DockerMachine, adapter: string): string[] =>
	calls.flatMap((call) => {
		const [, which, signal] = /^POST \/containers\/(\S+)\/kill (\S+)$/.exec(call) ?? [];
		return which === undefined ? [] : `${which === adapter ? "adapter" : "server"} ${signal}`;
	});

describe("the start", () => {
	it("runs the server first, and the adapter with its address", async () => {
		const { rig, handle } = await running();
		const [server, adapter] = rig.bodies;
		expect(rig.bodies).toHaveLength(2);
		expect([server?.Image, adapter?.Image]).toEqual(["server:1", "adapter:1"]);
		expect(adapter?.Env).toContain('SLUICE_HTTP={"url":"http://172.17.0.9:8000"}');
		expect(handle).toEqual({ container: rig.find(NAME)!.Id, host: "rig" });
		expect(rig.find(SERVER)!.started).toBe(true);
	});

	it("D25: takes no call more without an adapter", async () => {
		const rig = await dockerMachine();
		const { start } = open(rig);
		await start({ adapter: undefined });
		const container = `/containers/${rig.find(NAME)!.Id}`;
		const calls = rig.calls.slice(rig.calls.indexOf("GET /images/json") + 1);
		expect(calls.filter((call) => !/\/(?:logs|wait)$/.test(call))).toEqual([
			"GET /containers/json",
			"GET /info",
			"POST /containers/create",
			`POST ${container}/start`,
			`GET ${container}/top`,
		]);
	});

	it.each([
		[{ mapping: '{"socket":"/s"}', port: undefined }, "http.socket cannot be reached from another container"],
		[{ mapping: '{"port":0}', port: 0 }, "http.port: 0 is not possible in another container"],
	])("is refused for %j", async (adapter, sentence) => {
		const rig = await dockerMachine();
		await expect(open(rig).start({ adapter })).rejects.toThrow(
			`cannot start a worker of endpoint "hello": on host rig, ${sentence}`,
		);
		expect(rig.all.size).toBe(0);
	});

	it("leaves neither container if the adapter cannot run", async () => {
		let starts = 0;
		const rig = await dockerMachine({ startFault: () => ((starts += 1) === 2 ? "no such program" : undefined) });
		await expect(open(rig).start()).rejects.toThrow("no such program");
		expect([rig.all.size, rig.removals.length]).toEqual([0, 2]);
	});

	it("of a server that ends at once is its end, with its code", async () => {
		const rig = await dockerMachine({
			onStarted: ({ name }) => name === SERVER && rig.end(SERVER, { ExitCode: 3 }),
		});
		const { start, exit, exits } = open(rig);
		await start();
		expect(await exit()).toMatchObject({ workerId: WORKER, code: 3 });
		expect([rig.bodies.length, rig.all.size, exits.length]).toEqual([1, 0, 1]);
	});
});

describe("the end", () => {
	it.each([
		[{ ExitCode: 3 }, { code: 3 }],
		[{ ExitCode: 0 }, { code: 70 }],
		[
			{ ExitCode: 137, OOMKilled: true },
			{ code: 137, reason: { code: "out_of_memory", crash: true } },
		],
	])("of the server %j is the worker's: %j; the adapter may report first", async (end, expected) => {
		const { rig, exit } = await running({ ignores: (_, signal) => signal === "SIGTERM" });
		const adapter = rig.find(NAME)!.Id;
		rig.end(SERVER, end);
		expect(await exit()).toMatchObject(expected);
		expect(signalsOf(rig, adapter)).toEqual(["adapter SIGTERM", "adapter SIGKILL"]);
		expect(rig.all.size).toBe(0);
	});

	it.each([137, 69, 0])("of the adapter with code %i is the worker's, and ends the server", async (code) => {
		const { rig, exit } = await running();
		const adapter = rig.find(NAME)!.Id;
		rig.end(NAME, { ExitCode: code });
		expect(await exit()).toMatchObject({ code });
		expect(signalsOf(rig, adapter)).toEqual(["server SIGKILL"]);
		expect(rig.all.size).toBe(0);
	});

	it("is the server's if both have ended before it was seen", async () => {
		const { rig, exit } = await running();
		rig.find(SERVER)!.runs = false;
		rig.find(SERVER)!.end = { ExitCode: 4 };
		rig.end(NAME, { ExitCode: 69 });
		const ended = exit();
		rig.find(SERVER)!.ended.resolve();
		expect(await ended).toMatchObject({ code: 4 });
	});

	it("a stop lets the adapter finish its jobs before the server is asked to end", async () => {
		const { rig, launcher, clock, exits } = await running({ ignores: ({ name }) => name === NAME });
		const adapter = rig.find(NAME)!.Id;
		const stopped = launcher.stop(WORKER, 60_000);
		await clock.advance(20_000);
		expect(signalsOf(rig, adapter)).toEqual(["adapter SIGTERM"]);
		expect(await launcher.list()).toEqual([WORKER]);
		rig.end(NAME, { ExitCode: 0 });
		await advanceUntil(clock, () => exits.length > 0, 100);
		await stopped;
		expect(signalsOf(rig, adapter)).toEqual(["adapter SIGTERM", "server SIGTERM"]);
		expect(exits).toEqual([{ workerId: WORKER, code: 0, lastOutput: "" }]);
		expect(rig.all.size).toBe(0);
	});

	it("after the grace both are killed", async () => {
		const { rig, launcher, exit } = await running({ ignores: (_, signal) => signal === "SIGTERM" });
		const adapter = rig.find(NAME)!.Id;
		const stopped = launcher.stop(WORKER, 1000);
		await exit();
		await stopped;
		expect(signalsOf(rig, adapter)).toEqual(["adapter SIGTERM", "adapter SIGKILL", "server SIGKILL"]);
	});
});

describe("another service object", () => {
	/** A worker that runs, and the next service, which finds it. */
	async function restarted(meanwhile: (rig: DockerMachine) => void = () => {}) {
		const { rig, handle, launcher } = await running();
		await launcher.close();
		meanwhile(rig);
		return { rig, handle, ...open(rig) };
	}

	it("adopts both, and ends both", async () => {
		const { rig, handle, launcher, exit } = await restarted();
		const adapter = rig.find(NAME)!.Id;
		expect(await launcher.adopt(WORKER, handle, "s")).toBe(true);
		expect(await launcher.removeStrays({ serviceId: "s", recorded: [WORKER], endpoints: [] })).toBe(0);
		const stopped = launcher.stop(WORKER, 60_000);
		await exit();
		await stopped;
		expect(signalsOf(rig, adapter)).toEqual(["adapter SIGTERM", "server SIGTERM"]);
		expect(rig.all.size).toBe(0);
	});

	it("reports the end of a server that ended meanwhile", async () => {
		const { rig, handle, launcher, exit } = await restarted(({ end }) => end(SERVER, { ExitCode: 5 }));
		expect(await launcher.adopt(WORKER, handle, "s")).toBe(true);
		expect(await exit()).toMatchObject({ code: 5 });
		expect(rig.all.size).toBe(0);
	});

	it("ends a server whose adapter ended meanwhile", async () => {
		const { rig, handle, launcher } = await restarted(({ end }) => end(NAME, { ExitCode: 5 }));
		expect(await launcher.adopt(WORKER, handle, "s")).toBe(false);
		expect([signalsOf(rig, String(handle["container"])), rig.all.size]).toEqual([["server SIGKILL"], 0]);
	});

	it("finds a worker that it adopted without an answer as a whole", async () => {
		let shown = true;
		const rig = await dockerMachine({ shows: () => shown });
		const first = open(rig);
		const handle = await first.start();
		await first.launcher.close();
		shown = false;
		const { launcher, clock, exits } = open(rig);
		expect(await launcher.adopt(WORKER, handle, "s")).toBe(true);
		shown = true;
		await advanceUntil(
			clock,
			() =>
				launcher.stop(WORKER, 0).then(
					() => true,
					() => false,
				),
			1000,
		);
		expect([exits.length, rig.all.size]).toEqual([1, 0]);
	});

	it("removes a server without its adapter as a stray, and one of each worker counts", async () => {
		const { rig, launcher } = await restarted();
		rig.add({ Labels: { "sluice.service": "s", "sluice.worker": "w2", "sluice.part": "server" } }, "sluice-w2-server");
		expect(await launcher.removeStrays({ serviceId: "s", recorded: [], endpoints: [] })).toBe(2);
		expect(rig.all.size).toBe(0);
	});
});

it("what a worker uses is what its server uses", async () => {
	const { rig, launcher } = await running();
	await launcher.usage([{ id: WORKER }]);
	expect(rig.calls.filter((call) => call.endsWith("/stats"))).toEqual([`GET /containers/${SERVER}/stats`]);
});
