/** The slurm launcher with a real Slurm: the common contract, and what only batch jobs do. */
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import type { Exit, Handle, Launcher, Notice, WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import { logPath } from "../../src/kernel/launchers/logs/log-files.ts";
import { type RunCommand, slurmCommands, SlurmFailure } from "../../src/modules/slurm/commands.ts";
import { SlurmLauncher } from "../../src/modules/slurm/launcher.ts";
import { folderOf, variablesPath } from "../../src/modules/slurm/script.ts";
import type { SlurmSettings } from "../../src/modules/slurm/settings.ts";
import { noSlurm, type SlurmCluster, startSlurm, titled } from "../support/slurm.ts";
import { until } from "../support/until.ts";
import { adapted, conformance, exitsOf, type Subject } from "./index.ts";
import { SCRIPTS } from "./sample-workers.ts";
import { logDir, pidsOf, ready, release, root, script, serviceId } from "./slurm-workers.ts";

const QUERY_MS = 200;
const endpoints = [{ id: "sample", settings: { type: "slurm", sharedDir: root } }];

describe.skipIf(noSlurm !== undefined)(titled("slurm launcher"), () => {
	const opened: Launcher[] = [];
	let cluster: SlurmCluster;
	let serviceEnv: Record<string, string>;
	let command: RunCommand;
	/** A job that is no worker. */
	let foreign: Handle;

	beforeAll(async () => {
		cluster = await startSlurm();
		serviceEnv = { ...(process.env as Record<string, string>), ...cluster.env };
		command = slurmCommands(serviceEnv);
		const options = ["--job-name=foreign", "--output=/dev/null", "--parsable", "--wrap=sleep 300"];
		foreign = { job: await cluster.run("sbatch", ...options) };
	}, 60_000);
	afterEach(async () => {
		for (const launcher of opened.splice(0)) await launcher.close();
		await cluster.endJobs(serviceId);
	});
	afterAll(() => {
		cluster.remove();
		rmSync(root, { recursive: true, force: true });
	});

	function open(run?: RunCommand) {
		const said: string[] = [];
		const log = (message: string): void => void said.push(message);
		const launcher = new SlurmLauncher({
			clock,
			logDir,
			serviceEnv,
			log,
			queryMs: QUERY_MS,
			...(run && { run }),
		});
		const notices: Notice[] = [];
		launcher.onNotice?.((notice) => notices.push(notice));
		opened.push(launcher);
		/** The first notice of a worker in this state. */
		const noticed = ({ workerId }: WorkerSpec, state: Notice["state"]) =>
			until(`${workerId} is ${state}`, () =>
				notices.find((each) => each.workerId === workerId && each.state === state),
			);
		return { launcher, exits: exitsOf(launcher), notices, noticed, said };
	}

	/** Runs a worker to its end. */
	async function run(spec: WorkerSpec): Promise<Exit> {
		const { launcher, exits } = open();
		await launcher.start(spec);
		return await exits.next(spec.workerId);
	}

	const subject: Subject = {
		open: () => new SlurmLauncher({ clock, logDir, serviceEnv, log() {}, queryMs: QUERY_MS }),
		spec: (behaviour) => script(SCRIPTS[behaviour]),
		ready,
		release,
		processes: (spec) => pidsOf(spec).length,
		reused: (handle) => ({ ...handle, ...foreign }),
		reportsAdopted: true,
		queues: true,
	};
	conformance("slurm", subject);
	conformance("slurm", {
		...subject,
		spec: (behaviour) => adapted(subject.spec(behaviour)),
		adapted: "beside a child",
	});

	it("D18: a stop that comes before the batch script runs ends the worker as soon as it does", async () => {
		let signals = 0;
		const { launcher } = open(async (program, ...rest) => {
			const output = await command(program, ...rest);
			if (program === "scancel") signals += 1;
			return output;
		});
		const spec = script(SCRIPTS.runs);
		const goOn = cluster.holdNode();
		try {
			await launcher.start(spec);
			await until("its job is placed", async () => (await cluster.active(spec.workerId))[0]?.state === "RUNNING");
			const stopped = launcher.stop(spec.workerId, 600_000);
			await until("the job was signalled", () => signals > 1);
			goOn();
			await stopped;
		} finally {
			goOn();
		}
	});

	describe("notices", () => {
		it("D29: a job that waits for GPUs says so, and runs when they are free", async () => {
			const { launcher, notices, noticed } = open();
			const [first, second] = [0, 0].map(() => script(SCRIPTS.runs, {}, { gpuCount: 2 }));
			await launcher.start(first!);
			await ready(first!);
			await launcher.start(second!);
			expect(await noticed(second!, "waiting")).toMatchObject({ code: "queued" });
			await until("Slurm's reason", () =>
				notices.some((each) => "message" in each && / is pending: (Resources|Priority) \(/.test(each.message)),
			);
			await launcher.stop(first!.workerId, 0);
			await noticed(second!, "running");
			await ready(second!);
		});
	});

	describe("ends", () => {
		it("D28, D29: a job that another user cancels is no crash", async () => {
			const { launcher, exits } = open();
			const spec = script(SCRIPTS.runs);
			const { job } = await launcher.start(spec);
			await ready(spec);
			await cluster.run("scancel", "--full", "--signal=KILL", String(job));
			expect(await exits.next(spec.workerId)).toMatchObject({
				reason: {
					code: "deleted",
					crash: false,
					message: expect.stringMatching(/^Slurm job \d+ on node \S+ was cancelled, not by this/),
				},
			});
		});

		it("D28, D29: a job that another one preempts is no crash", async () => {
			const { launcher, exits } = open();
			const spec = script(SCRIPTS.runs, { cpus: 15 });
			await launcher.start(spec);
			await ready(spec);
			const urgent = script(SCRIPTS.runs, { partition: "urgent", cpus: 15 });
			await launcher.start(urgent);
			expect(await exits.next(spec.workerId)).toMatchObject({
				reason: { code: "preempted", crash: false },
			});
		});

		it("D29: a worker that uses too much memory says its limit", async () => {
			const fill = "const all = []; setInterval(() => all.push(Buffer.alloc(2e7, 1)), 20)";
			const exit = await run(script("", { command: [process.execPath, "-e", fill], memory: "100M" }));
			expect(exit.reason).toEqual({
				code: "out_of_memory",
				crash: true,
				message: expect.stringContaining("used more than its memory: raise launcher.memory."),
			});
		});

		it.each<[string, Partial<SlurmSettings>, RegExp]>([
			["a partition", { partition: "no-such" }, /invalid partition specified: no-such/],
			["a constraint", { constraint: "no-such" }, /Invalid feature specification/],
			[
				"a shared folder",
				{ sharedDir: "/no/such/folder" },
				/\/no\/such\/folder \(launcher.sharedDir\) cannot be written/,
			],
		])("D29: refuses %s that does not exist, and leaves nothing", async (_, settings, why) => {
			const { launcher } = open();
			const spec = script(SCRIPTS.runs, settings);
			await expect(launcher.start(spec)).rejects.toThrow(why);
			expect(await cluster.jobs(spec.workerId)).toEqual([]);
			expect(readdirSync(folderOf(script(""))).join()).not.toContain(spec.workerId);
		});

		it("D29: refuses without Slurm's commands, and says what to install", async () => {
			const launcher = new SlurmLauncher({ clock, logDir, serviceEnv: { PATH: root }, log() {} });
			await expect(launcher.start(script(""))).rejects.toThrow(
				/^cannot start a worker of endpoint "sample": the command squeue was not found: install Slurm's/,
			);
		});
	});

	describe("the controller does not answer", () => {
		const silent = (): never => {
			throw new SlurmFailure("Slurm's controller does not answer: timed out", "answer_lost");
		};

		it("D34: sbatch whose answer is lost starts no second job", async () => {
			const { launcher } = open(async (program, args, q) => {
				const answer = await command(program, args, q);
				return program === "sbatch" ? silent() : answer;
			});
			const spec = script(SCRIPTS.runs);
			const { job } = await launcher.start(spec);
			await ready(spec);
			expect((await cluster.active(spec.workerId)).map(({ id }) => id)).toEqual([job]);
		});

		it("D34: a job that was accepted after its start had failed is cancelled before the next one", async () => {
			let down = true;
			const { launcher } = open(async (program, args, q) => {
				const answer = await command(program, args, q);
				return down && (program === "sbatch" || args.includes("--states=all")) ? silent() : answer;
			});
			down = false;
			expect(await launcher.removeStrays({ serviceId, recorded: ["any"], endpoints })).toBe(0);
			down = true;
			const lost = script(SCRIPTS.runs, { options: ["--begin=now+1hour"] });
			await expect(launcher.start(lost)).rejects.toThrow("Slurm's controller does not answer");
			expect(await cluster.active(lost.workerId)).toMatchObject([{ state: "PENDING" }]);
			down = false;
			const next = script(SCRIPTS.runs);
			await launcher.start(next);
			expect(await cluster.active(lost.workerId)).toEqual([]);
			expect(await launcher.list()).toEqual([next.workerId]);
		});

		it("D34: reports no exit meanwhile, and adopts; the exit is reported afterwards", async () => {
			let down = false;
			const run: RunCommand = async (...call) => (down ? silent() : await command(...call));
			const first = open(run);
			const spec = script(SCRIPTS.orphans);
			const handle = await first.launcher.start(spec);
			await ready(spec);
			down = true;
			await until("it to be noticed", () => first.said.length > 0);
			await first.launcher.close();
			const second = open(run);
			expect(await second.launcher.adopt(spec.workerId, handle, spec.serviceId)).toBe(true);
			await expect(second.launcher.stop(spec.workerId, 1000)).rejects.toThrow("does not answer");
			expect(pidsOf(spec)).toHaveLength(2);
			release(spec);
			await until("it to end", () => pidsOf(spec).length === 0);
			expect([...first.exits.of(spec.workerId), ...second.exits.of(spec.workerId)]).toEqual([]);
			down = false;
			expect(await second.exits.next(spec.workerId)).toMatchObject({ code: 3 });
			expect(second.said.filter((text) => text.includes("the queue could not be read"))).toHaveLength(1);
		});
	});

	it("D34: a worker ends when its file is removed, whatever Slurm knows of its job", async () => {
		const { launcher, exits } = open();
		const spec = script(SCRIPTS.deaf);
		await launcher.start(spec);
		await ready(spec);
		rmSync(variablesPath(folderOf(spec), spec.workerId));
		expect(await exits.next(spec.workerId)).toMatchObject({
			signal: "SIGKILL",
			lastOutput: expect.stringContaining("The file of this worker was removed"),
		});
		expect(pidsOf(spec)).toEqual([]);
	});

	describe("the service dies", () => {
		it("D34: a query in flight while the launcher closes cancels no job", async () => {
			const asked = Promise.withResolvers<void>();
			const held = Promise.withResolvers<void>();
			const calls: string[] = [];
			let holds = false;
			const { launcher } = open(async (program, args, q) => {
				calls.push(program);
				const answer = await command(program, args, q);
				if (!holds) return answer;
				asked.resolve();
				await held.promise;
				return answer;
			});
			const spec = script(SCRIPTS.runs);
			await launcher.start(spec);
			await ready(spec);
			holds = true;
			await asked.promise;
			await launcher.close();
			held.resolve();
			expect(await cluster.active(spec.workerId)).toHaveLength(1);
			expect(calls).not.toContain("scancel");
		});

		it("D34: a job that was submitted while it died, and is accepted after its next start, is cancelled", async () => {
			const mine = `${serviceId}-late`;
			const next = open();
			const strays = { serviceId: mine, recorded: ["any"], endpoints };
			expect(await next.launcher.removeStrays(strays)).toBe(0);
			const dead = open();
			const late = script(SCRIPTS.runs, {}, { serviceId: mine });
			await dead.launcher.start(late);
			await dead.launcher.close();
			await until("it to end", async () => (await cluster.active(mine)).length === 0);
			expect(pidsOf(late)).toEqual([]);
		});

		it("D34: one that another server has just submitted is adopted", async () => {
			const first = open();
			const second = open();
			const known = script(SCRIPTS.runs);
			await second.launcher.start(known);
			const spec = script(SCRIPTS.runs);
			await until("a fresh query", async () => (await second.launcher.list()).length === 1);
			const handle = await first.launcher.start(spec);
			await first.launcher.close();
			expect(await second.launcher.adopt(spec.workerId, handle, spec.serviceId)).toBe(true);
			for (const { workerId } of [known, spec]) await second.launcher.stop(workerId, 0);
		});

		it("D34: jobs that no service recorded are cancelled, those of others are not", async () => {
			const [mine, others] = [`${serviceId}-mine`, `${serviceId}-others`];
			const first = open();
			const kept = script(SCRIPTS.runs, {}, { serviceId: mine });
			const lost = script(SCRIPTS.runs, {}, { serviceId: mine });
			const other = script(SCRIPTS.runs, {}, { serviceId: others });
			const handle = await first.launcher.start(kept);
			await first.launcher.start(lost);
			const third = open();
			await third.launcher.start(other);
			for (const each of [kept, lost, other]) await ready(each);
			await first.launcher.close();
			const { launcher } = open();
			expect(await launcher.adopt(kept.workerId, handle, kept.serviceId)).toBe(true);
			expect(await launcher.removeStrays({ serviceId: mine, recorded: [kept.workerId], endpoints })).toBe(1);
			await until("the stray to end", () => pidsOf(lost).length === 0);
			expect([kept, other].map((each) => pidsOf(each).length)).toEqual([1, 1]);
		});

		it("D34: a server that no longer scales the endpoint leaves its workers to the next one", async () => {
			const first = open();
			await first.launcher.removeStrays({ serviceId, recorded: [], endpoints });
			const [moved, ended] = [script(SCRIPTS.runs), script(SCRIPTS.runs)];
			const handle = await first.launcher.start(moved);
			await first.launcher.start(ended);
			for (const each of [moved, ended]) await ready(each);
			const stop = first.launcher.stop(ended.workerId, 600_000);
			first.launcher.release?.("sample");
			await stop;
			expect(await first.launcher.list()).toEqual([]);
			const second = open();
			rmSync(logPath(logDir, moved.workerId));
			expect(await second.launcher.adopt(moved.workerId, handle, moved.serviceId)).toBe(true);
			expect(readFileSync(logPath(logDir, moved.workerId), "utf8")).toBe("");
			const other = script(SCRIPTS.runs, {}, { endpoint: "other" });
			await first.launcher.start(other);
			await ready(other);
			expect(pidsOf(moved)).toHaveLength(1);
			await second.launcher.stop(moved.workerId, 600_000);
			expect(second.exits.of(moved.workerId)).toHaveLength(1);
			expect(first.exits.of(moved.workerId)).toEqual([]);
		});

		it("D36: what a worker writes meanwhile is in its log, each line once", async () => {
			const first = open();
			const spec = script(
				'i=0; while [ ! -e "$PIDS/release" ]; do i=$((i+1)); echo "line $i"; sleep 0.05; done; echo end',
			);
			const handle = await first.launcher.start(spec);
			const log = logPath(logDir, spec.workerId);
			await until("lines", () => readFileSync(log, "utf8").includes("line 5\n"));
			await first.launcher.close();
			const { launcher, exits } = open();
			expect(await launcher.adopt(spec.workerId, handle, spec.serviceId)).toBe(true);
			release(spec);
			expect(await exits.next(spec.workerId)).toMatchObject({
				code: 0,
				lastOutput: expect.stringMatching(/end$/),
			});
			const numbers = [...readFileSync(log, "utf8").matchAll(/line (\d+)/g)].map((each) => Number(each[1]));
			expect(numbers).toEqual(numbers.map((_, index) => index + 1));
			expect(statSync(log).mode & 0o777).toBe(0o600);
		});
	});
});
