/** The docker launcher with a real daemon: the common contract, and what only containers do. */
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import { DockerLauncher } from "../../src/modules/docker/launcher.ts";
import type { DockerSettings } from "../../src/modules/docker/settings.ts";
import type { Exit, Handle, Launcher, WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import type { WorkerUsage } from "../../src/kernel/core/workers/worker-usage.ts";
import { logPath } from "../../src/kernel/launchers/logs/log-files.ts";
import { importAdapterImage } from "../support/adapter-image.ts";
import {
	containersOf,
	docker,
	IMAGE,
	makeImage,
	noDocker,
	processesIn,
	processesOf,
	removeAll,
	TAKES_ALL_MEMORY,
	titled,
} from "../support/docker.ts";
import { withSmi } from "../support/gpu-programs.ts";
import { adapted, conformance, exitsOf, type Subject } from "./index.ts";
import { until } from "../support/until.ts";
import { ENV, folder, logDir, root, script, serviceId, type Spec, withSettings } from "./docker-workers.ts";
import { SCRIPTS } from "./sample-workers.ts";

/** A reading of a daemon takes up to a second. */
const SLOW = { timeout: 15_000 };

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe.skipIf(noDocker !== undefined)(titled("docker launcher"), () => {
	/** A container that is no worker. */
	let foreign: Handle;
	const opened: Launcher[] = [];

	function open(serviceEnv = ENV): {
		launcher: Launcher;
		exits: ReturnType<typeof exitsOf>;
		said: string[];
	} {
		const said: string[] = [];
		const log = (message: string): void => void said.push(message);
		const launcher = new DockerLauncher({ clock, logDir, serviceEnv, log });
		opened.push(launcher);
		return { launcher, exits: exitsOf(launcher), said };
	}

	/** Runs a worker to its end. */
	async function run(spec: WorkerSpec): Promise<Exit> {
		const { launcher, exits } = open();
		await launcher.start(spec);
		return await exits.next(spec.workerId);
	}

	beforeAll(async () => {
		await makeImage();
		// Until the image of the adapter is there, a start of a worker with one is only accepted.
		await importAdapterImage(ENV["DOCKER_HOST"]!);
		const label = `foreign-${serviceId}`;
		const command = ["run", "--detach", "--network", "none", "--label", label, IMAGE];
		foreign = { container: await docker(...command, "/bin/sleep", "300") };
	}, 60_000);
	afterEach(async () => {
		for (const launcher of opened.splice(0)) await launcher.close();
	});
	afterAll(async () => {
		await removeAll(`sluice.service=${serviceId}`);
		await removeAll(`sluice.service=${serviceId}-contract`);
		await removeAll(`foreign-${serviceId}`);
	}, 60_000);

	const subject: Subject = {
		open: () => new DockerLauncher({ clock, logDir, serviceEnv: ENV, log() {} }),
		spec: (behaviour) => script(SCRIPTS[behaviour], { serviceId: `${serviceId}-contract` }),
		ready: (spec) => until(`${spec.workerId} is ready`, () => readdirSync(folder(spec)).includes("ready")),
		release: (spec) => writeFileSync(join(folder(spec), "release"), ""),
		processes: ({ workerId }) => processesOf(workerId),
		reused: () => foreign,
		reportsAdopted: true,
	};
	conformance("docker", subject);
	conformance("docker", {
		...subject,
		// On the network "none" an adapter would not reach its server.
		spec: (behaviour) => adapted(withSettings(subject.spec(behaviour) as Spec, { network: "host" })),
		processes: ({ workerId }) => processesIn(`sluice-${workerId}-server`),
		adapted: "beside a container",
	});

	describe("stop", () => {
		it.each([0, 300])("D16: a paused container ends after a grace of %i ms", async (graceMs) => {
			const { launcher, exits } = open();
			const spec = script("sleep 300");
			const { container } = (await launcher.start(spec)) as { container: string };
			await docker("pause", container);
			await launcher.stop(spec.workerId, graceMs);
			expect(await exits.next(spec.workerId)).toMatchObject({ workerId: spec.workerId });
			expect(await processesOf(spec.workerId)).toBe(0);
		});
	});

	describe("start", () => {
		it("gives the worker its environment, and no other variable of the service", async () => {
			const spec = script("");
			const { lastOutput } = await run({
				...withSettings(spec, {
					command: ["node", "-e", "console.log(JSON.stringify(process.env))"],
				}),
				env: { PATH: "/bin", ODD: "a=b c\nd" },
			});
			expect(JSON.parse(lastOutput)).toEqual({
				PATH: "/bin",
				ODD: "a=b c\nd",
				RUNPOD_POD_HOSTNAME: spec.workerId,
				HOSTNAME: expect.any(String),
				HOME: expect.any(String),
			});
		});

		it("D25: a command replaces the CMD of an image, and entrypoint its ENTRYPOINT", async () => {
			const image = `${IMAGE}-with-entry`;
			const container = await docker("create", IMAGE, "sh");
			const print = '["node", "-p", "process.argv.slice(1).join()", "--", "own"]';
			await docker("commit", "--change", `ENTRYPOINT ${print}`, "--change", 'CMD ["cmd"]', container, image);
			await docker("rm", container);
			const of = async ({ command, entrypoint }: Partial<DockerSettings>): Promise<string> => {
				const { command: _, ...settings } = script("").settings;
				const change = { image, ...(command && { command }), ...(entrypoint && { entrypoint }) };
				return (await run({ ...script(""), settings: { ...settings, ...change } })).lastOutput.trim();
			};
			expect(await of({})).toBe("own,cmd");
			expect(await of({ command: ["a b", "c"] })).toBe("own,a b,c");
			expect(await of({ entrypoint: ["node", "-p", "1 + 1"] })).toBe("2");
			expect(await of({ entrypoint: ["sh", "-c"], command: ["echo $0 hi", "it"] })).toBe("it hi");
		});

		it.each<[string, { image?: string; network?: string; volumes?: string[] }, RegExp]>([
			[
				"an image that is not there",
				{ image: "no-such-image:1" },
				/No such image: no-such-image:1; it must be on the machine/,
			],
			["a network that is not there", { network: "no-such-network" }, /network no-such-network not found/],
			["a folder that cannot be mounted", { volumes: ["relative/path:/x"] }, /relative\/path/],
		])("refuses %s with a sentence, and leaves no container", async (_, change, sentence) => {
			const { launcher } = open();
			const spec = script("exit 0");
			await expect(launcher.start(withSettings(spec, change))).rejects.toThrow(sentence);
			expect(await containersOf(`sluice.worker=${spec.workerId}`)).toEqual([]);
		});

		it("D29: says which daemon does not answer, and goes on without it", async () => {
			const socket = join(root, "no.sock");
			const { launcher, said } = open({ DOCKER_HOST: `unix://${socket}` });
			await expect(launcher.start(script(""))).rejects.toThrow(
				`cannot start a worker of endpoint "sample": no Docker daemon answers at ${socket}; ` +
					"start it, or set DOCKER_HOST",
			);
			expect(await launcher.list()).toEqual([]);
			await launcher.stop("worker", 0);
			expect(await launcher.removeStrays({ serviceId, recorded: ["worker"], endpoints: [] })).toBe(0);
			expect(await launcher.adopt("worker", foreign, serviceId), "its pings decide").toBe(true);
			expect(said).toEqual([
				expect.stringMatching(/^host local is unreachable: no Docker daemon answers at /),
				expect.stringMatching(/^worker worker is adopted without an answer: host local is unre/),
			]);
		});
	});

	describe("network", () => {
		const CALL =
			"require('net').connect(new URL(process.env.AT).port, new URL(process.env.AT).hostname).on('error', " +
			"(e) => console.log(e.code)).on('data', (d) => { console.log(String(d)); process.exit(); })";

		async function listener(host: string): Promise<{ url: string; close: () => void }> {
			const server = createServer((socket) => socket.on("error", () => {}).write("hello"));
			await once(server.listen(0, host), "listening");
			return {
				url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
				close: () => server.close(),
			};
		}

		function caller(url: string, network?: string): Spec {
			const { network: _, ...settings } = script("").settings;
			return script("", {
				url,
				env: { PATH: "/bin", AT: `${url}/x` },
				settings: {
					...settings,
					command: ["node", "-e", CALL],
					...(network === undefined ? {} : { network }),
				},
			});
		}

		it("D25: by default the worker shares the network of the machine and reaches a service on loopback", async () => {
			const { url, close } = await listener("127.0.0.1");
			expect(await run(caller(url))).toMatchObject({ lastOutput: "hello" });
			close();
		});

		it("D25: on its own network it reaches a service on all addresses; on loopback the start says how", async () => {
			await docker("network", "create", serviceId);
			try {
				const everywhere = await listener("0.0.0.0");
				expect(await run(caller(everywhere.url, serviceId))).toMatchObject({ lastOutput: "hello" });
				everywhere.close();
				const alone = await listener("127.0.0.1");
				const unreached = open().launcher.start(caller(alone.url, serviceId));
				await expect(unreached).rejects.toThrow(
					/does not reach the service, which listens at http:\/\/127.0.0.1:\d+: start it with --host /,
				);
				await expect(unreached).rejects.toThrow(
					/ --host \d+\.\d+\.\d+\.\d+ or --host 0.0.0.0, set publicUrl, or use network: host/,
				);
				alone.close();
			} finally {
				await docker("network", "rm", serviceId);
			}
		});
	});

	describe("the service dies", () => {
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
			expect(
				await second.launcher.adopt(spec.workerId, JSON.parse(JSON.stringify(handle)) as Handle, spec.serviceId),
			).toBe(true);
			const before = readFileSync(log, "utf8").length;
			await until("lines are copied again", () => readFileSync(log, "utf8").length > before + 200);
			writeFileSync(join(folder(spec), "release"), "");
			expect(await second.exits.next(spec.workerId)).toMatchObject({
				code: 0,
				lastOutput: expect.stringMatching(/end$/),
			});
			const numbers = [...readFileSync(log, "utf8").matchAll(/line (\d+)/g)].map((match) => Number(match[1]));
			expect(numbers).toEqual(numbers.map((_, index) => index + 1));
		});

		it("D34: a worker that ended meanwhile is not adopted; its output is kept, its container is not", async () => {
			const first = open();
			const spec = script(SCRIPTS.orphans.replace("exit 3", "echo last words; exit 3"));
			const handle = await first.launcher.start(spec);
			await first.launcher.close();
			writeFileSync(join(folder(spec), "release"), "");
			await docker("wait", String(handle["container"]));
			const { launcher } = open();
			expect(await launcher.adopt(spec.workerId, handle, spec.serviceId)).toBe(false);
			expect(readFileSync(logPath(logDir, spec.workerId), "utf8")).toBe("last words\n");
			expect(await containersOf(`sluice.worker=${spec.workerId}`)).toEqual([]);
		});

		it("D34: containers that no service recorded are ended, those of others are not", async () => {
			const [mine, others] = [`${serviceId}-mine`, `${serviceId}-others`];
			const first = open();
			const kept = script(SCRIPTS.runs, { serviceId: mine });
			const lost = script(SCRIPTS.runs, { serviceId: mine });
			const other = script(SCRIPTS.runs, { serviceId: others });
			const handle = await first.launcher.start(kept);
			for (const spec of [lost, other]) await first.launcher.start(spec);
			await first.launcher.close();
			try {
				const second = open();
				expect(await second.launcher.adopt(kept.workerId, handle, kept.serviceId)).toBe(true);
				const recorded = [kept.workerId];
				expect(await second.launcher.removeStrays({ serviceId: mine, recorded, endpoints: [] })).toBe(1);
				expect(await Promise.all([kept, lost, other].map(({ workerId }) => processesOf(workerId)))).toEqual([1, 0, 1]);
				const third = open();
				const next = script(SCRIPTS.runs, { serviceId: mine });
				await third.launcher.start(next);
				expect(
					await Promise.all([kept, next, other].map(({ workerId }) => processesOf(workerId))),
					"also before a first start",
				).toEqual([0, 1, 1]);
				await third.launcher.stop(next.workerId, 0);
			} finally {
				await removeAll(`sluice.service=${mine}`);
				await removeAll(`sluice.service=${others}`);
			}
		});
	});

	it("a container that another client removed is a worker that ended, also for a stop in that moment", async () => {
		const { launcher, exits } = open();
		const [one, two] = [script(SCRIPTS.runs), script(SCRIPTS.runs)];
		const handles = [await launcher.start(one), await launcher.start(two)];
		await Promise.all(handles.map(({ container }) => docker("rm", "--force", String(container))));
		await launcher.stop(one.workerId, 600_000);
		await exits.next(two.workerId);
		expect([exits.of(one.workerId).length, exits.of(two.workerId).length, await launcher.list()]).toEqual([1, 1, []]);
	});

	it("D48: what a container uses is read from its daemon", async () => {
		const { launcher } = open();
		const spec = withSettings(script(""), {
			command: ["node", "-e", "const all = Buffer.alloc(3e7, 1); for (;;) all.fill(2)"],
			memory: "256m",
		});
		await launcher.start(spec);
		const usage = async (): Promise<WorkerUsage | undefined> =>
			(await launcher.usage!([{ id: spec.workerId, gpus: [] }])).get(spec.workerId);
		await expect.poll(async () => (await usage())?.cores, SLOW).toBeGreaterThan(0);
		const { memory, memoryMax, processes, image } = (await usage())!;
		expect(memory).toBeGreaterThan(20_000_000);
		expect(memoryMax).toBe(256 * 1024 ** 2);
		expect([processes! > 0, image]).toEqual([true, spec.settings.image]);
		await launcher.stop(spec.workerId, 0);
		expect(await usage()).toBeUndefined();
	});

	it("D27: GPU memory of the processes of a container, by the pids of its daemon", async () => {
		const smi = withSmi(root, [{ uuid: "GPU-a" }]);
		const { launcher } = open({ ...ENV, PATH: process.env["PATH"]! });
		vi.unstubAllEnvs();
		const specs = [script("sleep 300 & exec sleep 300"), script(SCRIPTS.runs)];
		for (const spec of specs) await launcher.start(spec);
		const ids = specs.map(({ workerId }) => workerId);
		const used = async (): Promise<unknown> => Object.fromEntries(await launcher.gpuMemory!(ids));
		let pids: number[] = [];
		await until("both processes", async () => {
			const [container] = await containersOf(`sluice.worker=${ids[0]}`);
			const lines = (await docker("top", container!, "-eo", "pid,args")).split("\n");
			pids = lines.flatMap((line) =>
				/ sleep 300$/.exec(line) && !line.includes("init") ? Number.parseInt(line, 10) : [],
			);
			return pids.length === 2;
		});
		smi.runs(
			{ gpu: "GPU-a", pid: pids[0]!, mib: 100 },
			{ gpu: "GPU-a", pid: pids[1]!, mib: 50 },
			{ gpu: "GPU-a", pid: process.pid, mib: 7 },
		);
		expect(await used()).toEqual({ [ids[0]!]: new Map([["GPU-a", 150 * 1024 ** 2]]) });
		await launcher.stop(ids[0]!, 0);
		expect(await used()).toEqual({});
	});

	it("D29: a container that uses too much memory ends, with that reason", async () => {
		const spec = script("");
		const exit = await run({
			...withSettings(spec, {
				command: ["sh", "-c", TAKES_ALL_MEMORY],
				memory: "64m",
			}),
		});
		expect(exit).toMatchObject({
			code: 137,
			reason: {
				code: "out_of_memory",
				message: "Its container was killed: it used more memory than its limit of 64 MiB.",
				crash: true,
			},
		});
	});
});
