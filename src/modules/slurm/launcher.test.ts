/** The watch over batch jobs, on real folders, with a Slurm that prints what a test says. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type ManualClock, manualClock } from "../../../test/support/manual-clock.ts";
import type { Exit, StraySearch, WorkerSpec } from "../../kernel/launchers/launcher.ts";
import { type RunCommand, SlurmFailure } from "./commands.ts";
import { SlurmLauncher } from "./launcher.ts";
import { nameOf, variablesPath } from "./script.ts";
import type { SharedAdapter } from "./shared-adapter.ts";

/** A launcher whose commands are `run`, and the lines of its log. */
function opened(q: { clock: ManualClock; run: RunCommand; shared: string; adapter?: SharedAdapter }) {
	const lines: string[] = [];
	const launcher = new SlurmLauncher({
		clock: q.clock,
		run: q.run,
		adapter: q.adapter,
		logDir: join(q.shared, "logs"),
		log: (line: string) => void lines.push(line),
		serviceEnv: {},
	} as unknown as ConstructorParameters<typeof SlurmLauncher>[0]);
	return { launcher, lines };
}

it("D25: a worker whose shared folder fails does not hide the end of another one", async () => {
	const shared = mkdtempSync(join(tmpdir(), "sluice-slurm-"));
	onTestFinished(() => rmSync(shared, { recursive: true, force: true }));
	const folderOf = (endpoint: string): string => join(shared, "sluice-s", endpoint);
	const names = ["one", "two"].map((endpoint) => nameOf({ serviceId: "s", endpoint, workerId: `w-${endpoint}` }));
	const states = ["PENDING", "RUNNING"];
	const run: RunCommand = async (program) =>
		program === "squeue"
			? names.map((name, at) => `${at}|${states[at]}|None|1:00|1:00|${name}\n`).join("")
			: `JobId=1 JobName=${names[1]} JobState=${states[1]} ExitCode=7:0`;
	const clock = manualClock();
	const { launcher, lines } = opened({ clock, run, shared });
	const exits: Exit[] = [];
	launcher.onExit((exit) => exits.push(exit));
	for (const [at, endpoint] of ["one", "two"].entries()) {
		mkdirSync(folderOf(endpoint), { recursive: true, mode: 0o700 });
		const handle = { job: String(at), name: names[at]!, folder: folderOf(endpoint) };
		expect(await launcher.adopt(`w-${endpoint}`, handle, "s")).toBe(true);
	}
	// Fails as a stale mount does: not by ENOENT.
	const file = variablesPath(folderOf("one"), "w-one");
	symlinkSync(file, file);
	states[1] = "FAILED";
	await clock.advance(10_000);
	expect(exits).toMatchObject([{ workerId: "w-two", code: 7 }]);
	expect(lines.filter((line) => line.includes("ELOOP"))).toHaveLength(1);
	await launcher.close();
});

it("D34: while their shared folder hangs, a worker is stopped and an ended one is reported", async () => {
	const shared = mkdtempSync(join(tmpdir(), "sluice-slurm-"));
	onTestFinished(() => rmSync(shared, { recursive: true, force: true }));
	const names = ["one", "two"].map((endpoint) => nameOf({ serviceId: "s", endpoint, workerId: `w-${endpoint}` }));
	const states = ["RUNNING", "RUNNING"];
	const calls: string[] = [];
	const killed = Promise.withResolvers<void>();
	const run: RunCommand = async (program, args) => {
		const rows = names.map((name, at) => `${at}|${states[at]}|None|1:00|1:00|${name}\n`);
		if (program === "squeue") return rows.join("");
		const at = Number(args.at(-1));
		if (program === "scontrol") return `JobId=${at} JobName=${names[at]} JobState=${states[at]} ExitCode=7:0`;
		if (program !== "scancel") return "";
		calls.push(args.join(" "));
		if (args.includes("--signal=KILL") && args.includes("--batch")) killed.resolve();
		// Takes no signal, as a job that is suspended.
		if (args.length === 1) states[0] = "CANCELLED";
		return "";
	};
	const clock = manualClock();
	const { launcher, lines } = opened({ clock, run, shared });
	const exits = new Map<string, Exit>();
	const bothEnded = Promise.withResolvers<void>();
	launcher.onExit((exit) => {
		exits.set(exit.workerId, exit);
		if (exits.size === 2) bothEnded.resolve();
	});
	for (const [at, endpoint] of ["one", "two"].entries()) {
		const folder = join(shared, "sluice-s", endpoint);
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		expect(await launcher.adopt(`w-${endpoint}`, { job: String(at), name: names[at]!, folder }, "s")).toBe(true);
		const file = variablesPath(folder, `w-${endpoint}`);
		execFileSync("mkfifo", [file]);
		// Ends the wait of all that open it.
		onTestFinished(() => closeSync(openSync(file, "r+")));
	}
	const stop = launcher.stop("w-one", 1000);
	stop.catch(killed.reject);
	states[1] = "FAILED";
	await clock.advance(5000);
	await expect.poll(() => calls, { timeout: 20_000 }).toContain("--state=RUNNING --batch --signal=TERM 0");
	await clock.advance(1000);
	await killed.promise;
	await clock.advance(20_000);
	await stop;
	await bothEnded.promise;
	expect(calls.at(-1)).toBe("0");
	expect(exits.get("w-two")).toMatchObject({ code: 7 });
	expect(lines.filter((line) => line.includes("was not removed"))).not.toEqual([]);
	await launcher.close();
});

it.each([
	["own", ["7"]],
	["another", []],
])(
	"D34: adopted without an answer, a job is signalled only if the queue then shows its name: %s",
	async (which, signalled) => {
		const shared = mkdtempSync(join(tmpdir(), "sluice-slurm-"));
		onTestFinished(() => rmSync(shared, { recursive: true, force: true }));
		const folder = join(shared, "sluice-s", "one");
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		const name = nameOf({ serviceId: "s", endpoint: "one", workerId: "w-one" });
		const cancelled: string[] = [];
		let queue: string | undefined;
		const run: RunCommand = async (program, args) => {
			if (program === "scancel") cancelled.push(args.at(-1)!);
			if (program === "squeue" && queue === undefined) throw new SlurmFailure("no answer", "answer_lost");
			return program === "squeue" ? queue! : "";
		};
		const clock = manualClock();
		const { launcher } = opened({ clock, run, shared });
		expect(await launcher.adopt("w-one", { job: "7", name, folder }, "another")).toBe(false);
		expect(await launcher.adopt("w-one", { job: "7", name, folder }, "s")).toBe(true);
		await expect(launcher.stop("w-one", 1000)).rejects.toThrow("no answer");
		expect(cancelled).toEqual([]);
		queue = `7|RUNNING|None|1:00|1:00|${which === "own" ? name : "another job"}\n`;
		const exits: Exit[] = [];
		launcher.onExit((exit) => exits.push(exit));
		const stop = launcher.stop("w-one", 1000).catch((error: Error) => error.message);
		await clock.advance(100);
		queue = "";
		await clock.advance(20_000);
		expect(await stop).toEqual(which === "own" ? undefined : expect.stringContaining("Slurm does not show its job 7"));
		expect([[...new Set(cancelled)], exits]).toMatchObject([signalled, [{ workerId: "w-one" }]]);
		await launcher.close();
	},
);

it.each(["the file of a stray", "scancel"])(
	"D34: %s that fails does not keep other endpoints from starts",
	async (what) => {
		const shared = mkdtempSync(join(tmpdir(), "sluice-slurm-"));
		onTestFinished(() => rmSync(shared, { recursive: true, force: true }));
		const file = variablesPath(join(shared, "one", "sluice-s", "one"), "w-one");
		let fails = true;
		const killed = new Set<string>();
		if (what !== "scancel") {
			mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
			symlinkSync(file, file);
		}
		mkdirSync(join(shared, "two"), { mode: 0o700 });
		const stray = nameOf({ serviceId: "s", endpoint: "one", workerId: "w-one" });
		const run: RunCommand = async (program, args) => {
			if (program === "squeue") return killed.has("7") ? "" : `7|RUNNING|None|1:00|1:00|${stray}\n`;
			if (program === "sbatch") return "8\n";
			if (program !== "scancel") return "";
			if (what === "scancel" && fails) throw new SlurmFailure("scancel: Access/permission denied");
			killed.add(args.at(-1)!);
			return "";
		};
		const clock = manualClock();
		const { launcher, lines } = opened({ clock, run, shared });
		const settings = (endpoint: string): object => ({ command: ["x"], sharedDir: join(shared, endpoint) });
		const endpoints = ["one", "two"].map((id) => ({ id, settings: settings(id) }));
		const search = { serviceId: "s", recorded: ["w-one"], endpoints } as unknown as StraySearch;
		expect(await launcher.removeStrays(search)).toBe(0);
		const spec = {
			workerId: "w-two",
			endpoint: "two",
			serviceId: "s",
			env: {},
			gpuCount: 0,
			settings: settings("two"),
		};
		expect(await launcher.start(spec as unknown as WorkerSpec)).toMatchObject({ job: "8" });
		// Longer than a lost submission is waited for.
		await clock.advance(90_000);
		expect(lines.filter((line) => line.includes("job 7"))).toHaveLength(1);
		expect([...killed]).toEqual([]);
		fails = false;
		if (what !== "scancel") rmSync(file);
		launcher.release("two");
		await clock.advance(10_000);
		expect([...killed]).toContain("7");
		await launcher.close();
	},
);

it.each([
	["that the controller shows as pending after its start", ["PENDING", "PENDING"], "deleted"],
	["that starts while the queue is read", ["PENDING", "RUNNING"], undefined],
])("D34: a job %s and that then fails has crashed only if its worker has", async (_, states, code) => {
	const shared = mkdtempSync(join(tmpdir(), "sluice-slurm-"));
	onTestFinished(() => rmSync(shared, { recursive: true, force: true }));
	const folder = join(shared, "sluice-s", "one");
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	const name = nameOf({ serviceId: "s", endpoint: "one", workerId: "w" });
	const file = variablesPath(folder, "w");
	// An adoption reads the queue, too.
	const left = ["RUNNING", ...states];
	const asked: number[] = [];
	const clock = manualClock();
	const run: RunCommand = async (program) => {
		// A second start that the node refuses.
		if (program === "scontrol") return `JobId=7 JobName=${name} JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0`;
		if (program !== "squeue") return "";
		asked.push(clock.now());
		const state = left.shift() ?? "FAILED";
		// It has read its variables when the answer is there.
		writeFileSync(file, "");
		return `7|${state}|None|1:00|1:00|${name}\n`;
	};
	const { launcher, lines } = opened({ clock, run, shared });
	const exits: Exit[] = [];
	launcher.onExit((exit) => exits.push(exit));
	expect(await launcher.adopt("w", { job: "7", name, folder }, "s")).toBe(true);
	await clock.advance(20_000);
	expect([left, exits.length, exits[0]?.code, exits[0]?.reason?.code]).toEqual([[], 1, code ? undefined : 1, code]);
	expect(lines).toHaveLength(code ? 1 : 0);
	expect(asked[2], "asked again at once").toBe(asked[1]);
	await launcher.close();
});

it("the adapter of a worker is put into its shared folder, and gets the signals of the job", async () => {
	const shared = mkdtempSync(join(tmpdir(), "sluice-slurm-"));
	onTestFinished(() => rmSync(shared, { recursive: true, force: true }));
	const scripts: (string | undefined)[] = [];
	const run: RunCommand = async (program, _args, q) => {
		if (program === "sbatch") scripts.push(q?.input);
		return program === "sbatch" ? `${scripts.length}\n` : "";
	};
	const asked: string[] = [];
	const adapter: SharedAdapter = {
		async commandFor({ settings }) {
			asked.push(settings.sharedDir);
			if (asked.length === 2) throw new Error("the adapter cannot be copied");
			return ["/s/node", "/s/http.js"];
		},
	};
	const { launcher } = opened({ clock: manualClock(), run, shared, adapter });
	const start = (workerId: string, settings: object = {}, isAdapter = true) =>
		launcher.start({
			workerId,
			endpoint: "one",
			serviceId: "s",
			env: {},
			gpuCount: 0,
			settings: { command: ["x"], sharedDir: shared, image: "i", container: "pyxis", ...settings },
			...(isAdapter && { adapter: { mapping: "{}", port: 0 } }),
		} as unknown as WorkerSpec);
	const lastLine = (): string | undefined => scripts.at(-1)?.trimEnd().split("\n").at(-1);
	expect(await start("w-1")).not.toHaveProperty("step");
	expect(lastLine()).toBe("exec '/s/node' '/s/http.js' '--' 'srun' '--ntasks=1' '--container-image=i' 'x'");
	await expect(start("w-2")).rejects.toThrow('cannot start a worker of endpoint "one": the adapter cannot be copied');
	await start("w-3", { adapterCommand: ["own", "-a"] });
	expect(lastLine()).toMatch(/^exec 'own' '-a' '--' 'srun' /);
	expect(await start("w-4", {}, false)).toHaveProperty("step", 0);
	expect([lastLine()?.slice(0, 11), asked, scripts.length]).toEqual(["exec 'srun'", [shared, shared], 3]);
	const unfit = { volumes: ["models:/m"], image: undefined, adapterCommand: ["own"] };
	await expect(start("w-5", unfit)).rejects.toThrow("launcher.volumes needs launcher.image");
	expect(readdirSync(shared, { recursive: true, encoding: "utf8" }).join()).not.toMatch(/w-[25]/);
	await launcher.close();
});
