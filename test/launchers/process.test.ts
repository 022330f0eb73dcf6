/** The process launcher with real processes: the common contract, and what only processes do. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import type { WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import { ProcessLauncher } from "../../src/kernel/launchers/process/launcher.ts";
import { logPath } from "../../src/kernel/launchers/logs/log-files.ts";
import type { ProcessSettings } from "../../src/kernel/launchers/process/settings.ts";
import { sweepStrays } from "../../src/kernel/launchers/process/process-group.ts";
import { adapted, conformance, exitsOf, type Subject } from "./index.ts";
import { until } from "../support/until.ts";
import { lines, runs, sampleWorkers } from "./sample-workers.ts";

const samples = sampleWorkers();
const { logDir, serviceId } = samples;
const open = () => new ProcessLauncher({ clock, logDir });
const linux = process.platform === "linux";

afterAll(async () => {
	if (linux) await sweepStrays({ clock, serviceId, known: [] });
	samples.clear();
});

const subject: Subject = {
	...samples,
	open,
	reused: (handle) => ({
		...handle,
		startTime: typeof handle["startTime"] === "number" ? handle["startTime"] + 1 : "earlier",
	}),
};

conformance("process", subject);
if (linux)
	conformance("process", {
		...subject,
		spec: (behaviour) => adapted(samples.spec(behaviour)),
		adapted: "beside a child",
	});

function withSettings(
	spec: WorkerSpec<ProcessSettings>,
	change: Partial<ProcessSettings>,
): WorkerSpec<ProcessSettings> {
	return { ...spec, settings: { ...spec.settings, ...change } };
}

/** Runs a script to its end and returns the exit. */
async function run(spec: WorkerSpec) {
	const launcher = open();
	const exits = exitsOf(launcher);
	await launcher.start(spec);
	const exit = await exits.next(spec.workerId);
	await launcher.close();
	return exit;
}

/** One worker of another launcher from start to reported exit: longer than a report takes. */
const exitsOfAnother = () => run(samples.spec("exits"));

describe("process launcher: start", () => {
	it("gives the worker exactly its environment and its working directory", async () => {
		const spec = samples.script("");
		const env = { ...spec.env, ODD: "a=b c\nd" };
		const script = "process.stdout.write(JSON.stringify([process.cwd(), process.env]))";
		const exit = await run({
			...withSettings(spec, { command: [process.execPath, "-e", script] }),
			env,
		});
		expect(JSON.parse(exit.lastOutput)).toEqual([samples.root, { ...env, RUNPOD_POD_HOSTNAME: spec.workerId }]);
	});

	it.skipIf(!linux)("D25: limits hold for the process and its children", async () => {
		const limits = { memoryMb: 64, openFiles: 40, fileSizeMb: 32 };
		const command = ["sh", "-c", "sh -c 'ulimit -Hn; ulimit -Hd; ulimit -Hf; ulimit -Hc'"];
		const exit = await run(withSettings(samples.script(""), { command, limits }));
		expect(exit).toMatchObject({ code: 0, lastOutput: `40\n${64 * 1024}\n${64 * 1024}\n0` });
	});

	it.skipIf(!linux)("D25: one that allocates more than memoryMb ends; the service does not", async () => {
		const command = ["sh", "-c", "head -c 200m /dev/zero | tail -c 100m >/dev/null; echo over"];
		const limits = { memoryMb: 32 };
		const exit = await run(withSettings(samples.script(""), { command, limits }));
		expect(exit.lastOutput).toMatch(/(memory|allocate)[^]*over/i);
	});

	it.skipIf(process.getuid?.() !== 0)("D25: user is another user, without groups", async () => {
		const command = ["sh", "-c", "id -u; id -G; echo $HOME; touch /etc/sluice-test"];
		const { lastOutput } = await run({
			...withSettings(samples.script(""), { command, user: "nobody", cwd: "/" }),
			env: { PATH: process.env["PATH"]! },
		});
		expect(lastOutput).toMatch(/^65534\n65534\n.*\n.*[Pp]ermission denied/);
	});

	it("D25: a user that does not exist is a problem of the start", async () => {
		const spec = withSettings(samples.script(""), { user: "no-such-user" });
		await expect(open().start(spec)).rejects.toThrow(/passwd has no user no-such-user/);
	});

	it.each([
		["an empty command", { command: [] }, /its command is empty/],
		["a missing folder", { cwd: "/no/such/folder" }, /the working directory \/no\/such\/folder does not exist/],
		["a missing file", { command: ["./absent.sh"] }, /"\.\/absent\.sh", or the interpreter .* was not found/],
		["a file that is no program", { command: [samples.root] }, /may not be executed/],
		["a name that PATH does not have", { command: ["absent"] }, /"absent" was not found on its PATH/],
		["an impossible argument", { command: ["sh", "\0"] }, /failed to start/],
	])("refuses %s with a sentence", async (_, change, sentence) => {
		const launcher = open();
		await expect(launcher.start(withSettings(samples.spec("exits"), change))).rejects.toThrow(sentence);
		await launcher.close();
	});

	it("D25: a named volume is a folder beside the logs, at its path by a link, for all workers", async () => {
		const at = join(samples.root, "runpod-volume");
		const volumeDir = join(samples.root, "volumes");
		const launcher = new ProcessLauncher({ clock, logDir, volumeDir });
		const exits = exitsOf(launcher);
		const volumes = [`models:${at}`];
		const write = withSettings(samples.script(`echo weights > ${at}/model`), { volumes });
		await launcher.start(write);
		await exits.next(write.workerId);
		const read = withSettings(samples.script(`cat ${at}/model`), { volumes });
		await launcher.start(read);
		expect((await exits.next(read.workerId)).lastOutput).toBe("weights");
		expect(readFileSync(join(volumeDir, "models", "model"), "utf8")).toBe("weights\n");

		const other = withSettings(samples.spec("runs"), { volumes: [`others:${at}`] });
		await expect(launcher.start(other)).rejects.toThrow(
			/runpod-volume of launcher.volumes is a link to .*models, not a link to .*others: remove it/,
		);
		const nowhere = withSettings(samples.spec("runs"), { volumes: ["models:/proc/models"] });
		await expect(launcher.start(nowhere)).rejects.toThrow(/a link at \/proc\/models to .*models cannot be created/);
	});

	it("refuses a second worker under the same id, also while the first is being started", async () => {
		const launcher = open();
		const spec = samples.spec("runs");
		const first = launcher.start(spec);
		await expect(launcher.start(spec)).rejects.toThrow(/already runs/);
		await first;
		await expect(launcher.start(spec)).rejects.toThrow(/already runs/);
		await launcher.stop(spec.workerId, 0);
	});
});

describe("process launcher: exit", () => {
	it("reports the signal, and leaves no zombie", async () => {
		const launcher = open();
		const exits = exitsOf(launcher);
		const spec = samples.script("kill -KILL $$");
		const { pid } = await launcher.start(spec);
		expect(await exits.next(spec.workerId)).toEqual({
			workerId: spec.workerId,
			signal: "SIGKILL",
			lastOutput: "",
		});
		expect(() => process.kill(pid as number, 0)).toThrow(/ESRCH/);
	});

	it("hands on the last whole lines of a long output, at most 64 KiB", async () => {
		const exit = await run(
			samples.script('i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo "line $i"; done; echo "the end" >&2'),
		);
		expect(exit.lastOutput.length).toBeLessThanOrEqual(65_536);
		expect(exit.lastOutput.length).toBeGreaterThan(65_000);
		expect(exit.lastOutput).toMatch(/^line \d{5}\nline \d{5}\n/);
		expect(exit.lastOutput).toMatch(/line 19999\nline 20000\nthe end$/);
	});

	it("reports nothing after close", async () => {
		const launcher = open();
		const exits = exitsOf(launcher);
		const spec = samples.spec("orphans");
		await launcher.start(spec);
		await samples.ready(spec);
		await launcher.close();
		samples.release(spec);
		await until("the leader has ended and its child is left alone", () => samples.processes(spec) === 1);
		await exitsOfAnother();
		expect(exits.of(spec.workerId)).toEqual([]);
		expect(samples.processes(spec)).toBe(1);
	});

	it("goes on when a listener throws, and says so", async () => {
		const said: string[] = [];
		const launcher = new ProcessLauncher({ clock, logDir, log: (message) => said.push(message) });
		launcher.onExit(() => {
			throw new Error("broken listener");
		});
		const exits = exitsOf(launcher);
		const spec = samples.spec("exits");
		await launcher.start(spec);
		await exits.next(spec.workerId);
		expect(said).toEqual([expect.stringContaining("broken listener")]);
	});
});

describe("process launcher: adoption", () => {
	it.runIf(linux)("D34: never takes over another service's worker, also while it becomes another program", async () => {
		const starter = open();
		const spec = samples.script("");
		const again = join(samples.root, "again.sh");
		writeFileSync(again, `#!/bin/sh\n${lines.READY}\nexec "$0"\n`, { mode: 0o755 });
		// Its handle does not say who started it, as one of an earlier version.
		const handle = await starter.start(withSettings(spec, { command: [again] }));
		await samples.ready(spec);
		const other = open();
		const adopted: boolean[] = [];
		for (let i = 0; i < 100; i++) adopted.push(await other.adopt(spec.workerId, handle, "another"));
		expect(adopted.filter(Boolean)).toEqual([]);
		await starter.stop(spec.workerId, 0);
	});
});

describe("process launcher: stop", () => {
	it.runIf(linux)("ends a grandchild that left the process group", async () => {
		const launcher = open();
		const spec = samples.script(`${lines.HERE}; setsid sh -c '${lines.HERE}; ${lines.READY}; exec sleep 300' & wait`);
		await launcher.start(spec);
		await samples.ready(spec);
		expect(samples.processes(spec)).toBe(2);
		await launcher.stop(spec.workerId, 600_000);
		expect(samples.processes(spec)).toBe(0);
	});

	it("reports a leader that it meets ended, before it resolves; such a one is not listed", async () => {
		const launcher = open();
		const exits = exitsOf(launcher);
		const spec = samples.spec("exits");
		const { pid } = await launcher.start(spec);
		// Without a turn of the event loop, so that the launcher cannot have received it.
		for (const deadline = performance.now() + 10_000; runs(pid as number) && performance.now() < deadline; );
		expect(await launcher.list()).toEqual([]);
		await launcher.stop(spec.workerId, 0);
		expect(exits.of(spec.workerId)).toEqual([{ workerId: spec.workerId, code: 7, lastOutput: "last words" }]);
	});

	it("reports an adopted worker once when its leader is seen to end during the stop", async () => {
		const starter = open();
		const spec = samples.script(
			`${lines.HERE}; sh -c 'trap "" TERM; ${lines.HERE}; ${lines.READY}; exec sleep 300' & wait`,
		);
		const handle = await starter.start(spec);
		await samples.ready(spec);
		await starter.close();
		const launcher = open();
		const exits = exitsOf(launcher);
		await launcher.adopt(spec.workerId, handle, spec.serviceId);
		const stop = launcher.stop(spec.workerId, 1_200);
		await until("the leader has ended and its child has not", () => samples.processes(spec) === 1);
		expect(await launcher.list()).toEqual([spec.workerId]);
		await stop;
		await exitsOfAnother();
		expect(exits.of(spec.workerId)).toHaveLength(1);
	});

	it("waits for a child that outlives the leader in its grace", async () => {
		const launcher = open();
		const child =
			`trap "sleep 0.3; echo drained; exit" TERM; ${lines.HERE}; ${lines.READY}; while ` + ":; do sleep 0.01; done";
		const spec = samples.script(`${lines.HERE}; sh -c '${child}' & wait`);
		const exits = exitsOf(launcher);
		await launcher.start(spec);
		await samples.ready(spec);
		await launcher.stop(spec.workerId, 600_000);
		expect(exits.of(spec.workerId)[0]?.lastOutput).toMatch(/drained$/);
	});
});
describe("process launcher: logs", () => {
	it("keeps what a worker wrote in a file of its own that only this user can read", async () => {
		const spec = samples.script("echo to stdout; echo to stderr >&2");
		await run(spec);
		const path = logPath(logDir, spec.workerId);
		expect(readFileSync(path, "utf8")).toBe("to stdout\nto stderr\n");
		expect(statSync(path).mode & 0o777).toBe(0o600);
	});

	it("does not start a worker whose log cannot be opened", async () => {
		const file = join(samples.root, "a-file");
		writeFileSync(file, "");
		const launcher = new ProcessLauncher({ clock, logDir: file });
		await expect(launcher.start(samples.spec("exits"))).rejects.toThrow(/cannot open the log of worker/);
		expect(await launcher.list()).toEqual([]);
	});
});
