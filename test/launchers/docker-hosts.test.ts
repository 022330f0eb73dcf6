/**
 * The docker launcher on two machines, one reached by ssh and one by TLS (D44): the common contract,
 * placement, and what happens when a machine or its daemon is unreachable.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { workerEnv } from "../../src/kernel/core/workers/worker-env.ts";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import type { HostSettings } from "../../src/modules/docker/hosts/host-schema.ts";
import { DockerLauncher } from "../../src/modules/docker/launcher.ts";
import type { DockerSettings } from "../../src/modules/docker/settings.ts";
import type { Handle, Launcher, Notice } from "../../src/kernel/launchers/launcher.ts";
import { logPath } from "../../src/kernel/launchers/logs/log-files.ts";
import { IMAGE, processesIn } from "../support/docker.ts";
import { type Machine, noHosts, titledHosts, twoMachines, type TwoMachines } from "../support/docker-hosts.ts";
import { until } from "../support/until.ts";
import { adapted, conformance, exitsOf, type Subject } from "./index.ts";
import { folder, logDir, root, script as localScript, serviceId, type Spec, withSettings } from "./docker-workers.ts";
import { SCRIPTS } from "./sample-workers.ts";

/** A worker on any of the machines. */
function script(text: string, settings: Partial<DockerSettings>, change: Partial<Spec> = {}): Spec {
	return withSettings(localScript(text, change), { hosts: "all", ...settings });
}

describe.skipIf(noHosts !== undefined)(titledHosts("docker launcher on two machines"), () => {
	let two: TwoMachines;
	let hosts: Record<string, HostSettings>;
	const opened: { launcher: Launcher; started: string[] }[] = [];

	beforeAll(async () => {
		two = await twoMachines({ gpus: 2 });
		hosts = { rig1: two.rig1.settings, rig2: two.rig2.settings };
	}, 120_000);
	afterEach(async () => {
		for (const { launcher, started } of opened.splice(0)) {
			await Promise.allSettled(started.map((id) => launcher.stop(id, 0)));
			await launcher.close();
		}
	});
	afterAll(async () => {
		await two?.close();
		rmSync(root, { recursive: true, force: true });
	}, 60_000);

	function open({ lostAfterMs = 300_000, only = hosts } = {}) {
		const said: string[] = [];
		const log = (message: string): void => void said.push(message);
		const config = { hosts: only, lostAfterMs };
		const launcher = new DockerLauncher({ clock, logDir, serviceEnv: { PATH: two.path }, log, hosts: config });
		const started: string[] = [];
		const notices: Notice[] = [];
		const handles = new Map<string, Handle>();
		launcher.onNotice!((notice) => notices.push(notice));
		launcher.onHandle!((id, handle) => handles.set(id, handle));
		opened.push({ launcher, started });
		return {
			launcher,
			said,
			handles,
			exits: exitsOf(launcher),
			start: (spec: Spec) => {
				started.push(spec.workerId);
				return launcher.start(spec);
			},
			reason: (id: string) => {
				const last = notices.findLast(({ workerId }) => workerId === id);
				return last && "message" in last ? last.message : undefined;
			},
			view: (name: string) => launcher.hosts!.views().find((host) => host.name === name)!,
		};
	}

	const containers = async ({ docker }: Machine, label: string): Promise<string[]> =>
		(await docker("ps", "--all", "--quiet", "--filter", `label=${label}`)).split("\n").filter((id) => id !== "");

	async function processesOn(machine: Machine, workerId: string): Promise<number> {
		let count = 0;
		for (const id of await containers(machine, `sluice.worker=${workerId}`))
			count += await processesIn(id, machine.docker);
		return count;
	}

	describe.each(["rig1", "rig2"] as const)("%s", (name) => {
		let foreign = "";
		beforeAll(async () => {
			const command = ["run", "--detach", "--network", "none", IMAGE, "/bin/sleep", "600"];
			foreign = await two[name].docker(...command);
			// Until the image of the adapter is there, a start is only accepted.
			const { start, exits } = open({ only: { [name]: hosts[name]! } });
			const first = adapted(script(SCRIPTS.exits, { network: "host" }));
			await start(first);
			await exits.next(first.workerId);
		}, 120_000);
		const subject: Subject = {
			open: () =>
				new DockerLauncher({
					clock,
					logDir,
					serviceEnv: { PATH: two.path },
					log() {},
					hosts: { hosts: { [name]: hosts[name]! }, lostAfterMs: 300_000 },
				}),
			spec: (behaviour) => script(SCRIPTS[behaviour], {}, { serviceId: `${serviceId}-contract-${name}` }),
			ready: (spec) => until(`${spec.workerId} is ready`, () => readdirSync(folder(spec)).includes("ready")),
			release: (spec) => writeFileSync(join(folder(spec), "release"), ""),
			processes: ({ workerId }) => processesOn(two[name], workerId),
			reused: (handle) => ({ ...handle, container: foreign }),
			reportsAdopted: true,
			sequential: true,
		};
		conformance("docker", subject);
		conformance("docker", {
			...subject,
			// On the network "none" an adapter would not reach its server.
			spec: (behaviour) =>
				adapted(script(SCRIPTS[behaviour], { network: "host" }, { serviceId: `${serviceId}-contract-${name}` })),
			processes: ({ workerId }) => processesIn(`sluice-${workerId}-server`, two[name].docker),
			adapted: "beside a container",
		});

		it("an HTTP server gets its adapter there, in an image that the service sends", { timeout: 120_000 }, async () => {
			const { start, launcher, exits } = open({ only: { [name]: hosts[name]! } });
			const server =
				'require("http").createServer((_, a) => a.end()).listen(process.env.PORT); ' +
				'process.on("SIGTERM", () => process.exit())';
			const settings = { command: ["node", "-e", server], network: "host" };
			const adapter = { mapping: '{"port":8000,"ready":{"path":"/","everyMs":50}}', port: 8000 };
			const url = "http://sluice.example:9";
			const env = workerEnv({ url, endpoint: "sample", worker: "w", token: "t", leaseMs: 20_000 });
			const spec = script("", settings, { adapter, env });
			await start(spec);
			const log = logPath(logDir, spec.workerId);
			await until(
				"its server is ready",
				() => existsSync(log) && readFileSync(log, "utf8").includes("server is ready"),
			);
			expect(await two[name].docker("images", "--quiet", "sluice-adapter")).not.toBe("");
			expect(await containers(two[name], `sluice.worker=${spec.workerId}`)).toHaveLength(2);
			await launcher.stop(spec.workerId, 60_000);
			expect(exits.of(spec.workerId)).toMatchObject([{ code: 0 }]);
			expect(await containers(two[name], `sluice.worker=${spec.workerId}`)).toEqual([]);
		});
	});

	it("D44: gives each worker GPUs of its own, and lets one wait until some are free", async () => {
		const { start, launcher, reason, handles, view } = open();
		const need = (): Spec => script(SCRIPTS.runs, { gpu: { model: "L4" } }, { gpuCount: 1 });
		const [one, two1, three] = [need(), need(), need()];
		const first = await start(one);
		await start(two1);
		expect(first).toMatchObject({ host: "rig1", hostGpus: "GPU-rig1-0" });
		const devices = await two.rig1.docker(
			...["inspect", "--format", "{{json .HostConfig.DeviceRequests}}", String(first["container"])],
		);
		expect(JSON.parse(devices)).toMatchObject([{ DeviceIDs: ["GPU-rig1-0"] }]);
		expect(await start(three)).toEqual({});
		expect(reason(three.workerId)).toBe(
			"No host has room for a worker: rig1: 0 of 2 GPUs L4 free; rig2: 0 of 2 GPUs are L4.",
		);
		expect(view("rig1").gpus.map(({ parts }) => parts)).toEqual([
			[{ worker: one.workerId }],
			[{ worker: two1.workerId }],
		]);
		await launcher.stop(one.workerId, 0);
		await until("the third runs", () => reason(three.workerId) === undefined);
		expect(handles.get(three.workerId)).toMatchObject({ hostGpus: "GPU-rig1-0" });
	});

	it("D44: two services that place workers at the same moment assign no GPU twice", async () => {
		const only = { rig1: hosts["rig1"]! };
		const services = [open({ only }), open({ only })].map(({ start, handles }, at) => ({ start, handles, id: at }));
		const given = new Map<string, Handle>();
		const starts = services.flatMap(({ start, id }) =>
			Array.from({ length: 3 }, async () => {
				const change = { gpuCount: 1, gpuMemoryGb: 10, serviceId: `${serviceId}-at-once-${id}` };
				const spec = script(SCRIPTS.runs, {}, change);
				given.set(spec.workerId, await start(spec));
			}),
		);
		await Promise.all(starts);
		const running = async (): Promise<string[]> => {
			const format = '{{.Label "sluice.worker"}} {{.Label "sluice.gpus"}}';
			const lines = (await two.rig1.docker("ps", "--format", format, "--filter", "label=sluice.gpus")).split("\n");
			return lines.filter((line) => given.has(line.split(" ")[0]!));
		};
		// Two parts of 10 GB fit on each of two GPUs of 24 GB; those that withdrew are placed by the next check.
		for (let lines: string[] = []; lines.length < 4; lines = await running())
			for (const gpu of ["GPU-rig1-0", "GPU-rig1-1"])
				expect(lines.filter((line) => line.endsWith(gpu)).length).toBeLessThanOrEqual(2);
		expect(await running()).toHaveLength(4);
	});

	it("D44: workers share a GPU as far as their parts fit, also those that were taken over", async () => {
		const only = { rig1: hosts["rig1"]! };
		const before = open({ only });
		const need = (gpuMemoryGb: number): Spec => script(SCRIPTS.runs, {}, { gpuCount: 1, gpuMemoryGb });
		const large = [need(20), need(20)];
		const handles = await Promise.all(large.map(before.start));
		expect(handles).toMatchObject([{ hostGpuMemoryGb: 20 }, { hostGpuMemoryGb: 20 }]);
		expect(new Set(handles.map(({ hostGpus }) => hostGpus))).toEqual(new Set(["GPU-rig1-0", "GPU-rig1-1"]));
		await before.launcher.close();
		const after = open({ only });
		for (const [at, { workerId }] of large.entries())
			expect(await after.launcher.adopt(workerId, handles[at]!, serviceId)).toBe(true);
		expect(await after.start(need(3))).toMatchObject({ hostGpus: "GPU-rig1-0" });
		const waiting = need(5);
		expect(await after.start(waiting)).toEqual({});
		expect(after.reason(waiting.workerId)).toBe("No host has room for a worker: rig1: 0 of 2 GPUs with 5 GB free.");
		for (const { workerId } of large) await after.launcher.stop(workerId, 0);
		await until("it runs", () => after.reason(waiting.workerId) === undefined);
		expect(after.handles.get(waiting.workerId)).toMatchObject({ hostGpuMemoryGb: 5 });
	});

	it("D44: a worker that waits for a host can be stopped", async () => {
		const { start, launcher, exits } = open();
		const spec = script(SCRIPTS.runs, { gpu: { model: "H100" } }, { gpuCount: 1 });
		expect(await start(spec)).toEqual({});
		await launcher.stop(spec.workerId, 600_000);
		expect(exits.of(spec.workerId)).toHaveLength(1);
	});

	it("D44: a service that does not know its handle yet does not adopt it, and removes its container", async () => {
		const first = open();
		const spec = script(SCRIPTS.runs, { hosts: ["rig2"] });
		await first.start(spec);
		await first.launcher.close();
		const { launcher } = open();
		expect(await launcher.adopt(spec.workerId, {}, spec.serviceId)).toBe(false);
		await launcher.removeStrays({ serviceId, recorded: [spec.workerId], endpoints: [] });
		await until(
			"its container is removed",
			async () => (await containers(two.rig2, `sluice.worker=${spec.workerId}`)).length === 0,
		);
	});

	it("D44: a daemon that is killed and restarted ends no worker", { timeout: 60_000 }, async () => {
		const { start, launcher, exits, view, reason } = open();
		const specs = [script(SCRIPTS.runs, { hosts: ["rig1"] }), script(SCRIPTS.runs, { hosts: ["rig1"] })];
		for (const spec of specs) await start(spec);
		await two.rig1.kill();
		await until("it is noticed", () => view("rig1").state === "unreachable");
		expect(view("rig1").fault).toMatch(/ssh reaches \S+, but not the Docker daemon at/);
		const late = script(SCRIPTS.runs, { hosts: ["rig1"] });
		expect(await start(late)).toEqual({});
		expect(reason(late.workerId)).toMatch(/rig1: unreachable for less than 10 s/);
		await expect(launcher.stop(specs[0]!.workerId, 0)).rejects.toThrow(/could not be ended: host rig1 is unreachable/);
		await two.rig1.start();
		await until("the late one runs", async () => (await launcher.list()).length === 3);
		expect(specs.flatMap(({ workerId }) => exits.of(workerId))).toEqual([]);
		expect(await Promise.all(specs.map(({ workerId }) => processesOn(two.rig1, workerId)))).toEqual([1, 1]);
		await launcher.stop(specs[0]!.workerId, 0);
		expect(exits.of(specs[0]!.workerId)).toHaveLength(1);
	});

	it("D44: workers of an unreachable machine are adopted, and watched again when it returns", {
		timeout: 60_000,
	}, async () => {
		const first = open();
		const spec = script(SCRIPTS.orphans, { hosts: ["rig2"] });
		const handle = await first.start(spec);
		await first.launcher.close();
		await two.rig2.connect(false);
		const { launcher, exits, said, view } = open();
		try {
			expect(await launcher.adopt(spec.workerId, handle, spec.serviceId)).toBe(true);
			expect(said.at(-1)).toMatch(/is adopted without an answer/);
			await until("it is unreachable", () => view("rig2").state === "unreachable");
			writeFileSync(join(folder(spec), "release"), "");
		} finally {
			await two.rig2.connect(true);
		}
		expect(await exits.next(spec.workerId)).toMatchObject({ code: 3 });
	});

	it("D44: the worker of a lost machine is given up when it is to be stopped, and removed later", {
		timeout: 60_000,
	}, async () => {
		const { start, launcher, exits, view } = open({ lostAfterMs: 1 });
		const [lost, kept] = [script(SCRIPTS.runs, {}), script(SCRIPTS.runs, {})];
		for (const spec of [lost, kept]) {
			spec.settings.hosts = ["rig2"];
			await start(spec);
		}
		await two.rig2.connect(false);
		try {
			await until("it is unreachable", () => view("rig2").state === "unreachable", 30_000);
			await launcher.stop(lost.workerId, 0);
			expect(exits.of(lost.workerId)).toMatchObject([{ reason: { code: "node_failed", crash: false } }]);
			expect(view("rig2").workers).toEqual([kept.workerId]);
		} finally {
			await two.rig2.connect(true);
		}
		await until("it is reachable", () => view("rig2").state === "reachable");
		expect(await processesOn(two.rig2, lost.workerId)).toBe(0);
		expect(await processesOn(two.rig2, kept.workerId)).toBe(1);
		expect(exits.of(kept.workerId)).toEqual([]);
	});

	it("D44: a drained host gets no worker, and those it has are to end", async () => {
		const { start, launcher, reason } = open();
		const [one, other] = [script(SCRIPTS.runs, { hosts: ["rig1"] }), script(SCRIPTS.runs, {})];
		await start(one);
		launcher.hosts!.setDrained(new Set(["rig1"]));
		expect(reason(one.workerId)).toBe("Host rig1 is drained.");
		expect(await start(other)).toMatchObject({ host: "rig2" });
		const last = script(SCRIPTS.runs, { hosts: ["small"] });
		expect(await start(last)).toEqual({});
		expect(reason(last.workerId)).toMatch(/rig1: drained/);
		launcher.hosts!.setDrained(new Set());
		await until("it runs", async () => (await launcher.list()).includes(last.workerId));
	});

	it("D44: refuses an address that only this machine reaches, with the setting to change", async () => {
		const { start } = open();
		const spec = script("", { hosts: ["rig1"] }, { url: "http://127.0.0.1:8080" });
		await expect(start(spec)).rejects.toThrow(
			/: on host rig1, workers there do not reach .*: set hosts.rig1.workerUrl or publicUrl/,
		);
	});

	it("D44: reads the GPUs of a machine, or their MIG devices, by nvidia-smi in a container", async () => {
		const image = "sluice-test-smi:1";
		writeFileSync(
			join(root, "nvidia-smi"),
			[
				'#!/bin/sh\nif [ "$1" = -L ]; then',
				"echo 'GPU 0: NVIDIA H100 (UUID: GPU-a)'; echo '  MIG 1g.10gb     Device  0: (UUID: MIG-1)'",
				"echo '  MIG 1g.10gb     Device  1: (UUID: MIG-2)'; else",
				"echo '0, NVIDIA H100, 81559, 0, [N/A], GPU-a, 550.54.15, Enabled'",
				"echo '1, NVIDIA L4, 23034, 0, 0, GPU-b, 550.54.15, [N/A]'\nfi\n",
			].join("\n"),
			{ mode: 0o755 },
		);
		const make = await two.rig1.docker("create", "--network", "none", IMAGE, "/bin/true");
		await two.rig1.docker("cp", join(root, "nvidia-smi"), `${make}:/bin/nvidia-smi`);
		await two.rig1.docker("commit", "--change", "ENV PATH=/bin", make, image);
		const { gpus: _, ...settings } = two.rig1.settings;
		const { start, view } = open({ only: { rig1: { ...settings, gpuImage: image } } });
		const spec = script(SCRIPTS.runs, {}, { gpuCount: 2 });
		expect(await start(spec)).toMatchObject({ hostGpus: "MIG-1,MIG-2" });
		const [mig, own] = [{ model: "NVIDIA H100 MIG 1g.10gb", memoryGb: 10, cuda: "12.4" }, { worker: spec.workerId }];
		expect(view("rig1").gpus).toEqual([
			{ ...mig, id: "MIG-1", parts: [own] },
			{ ...mig, id: "MIG-2", parts: [own] },
			{ id: "GPU-b", model: "NVIDIA L4", memoryGb: 24.2, cuda: "12.4", parts: [] },
		]);
	});
});
