/** Workers of the launcher process that are adapters, with a shell script in the place of an HTTP server. */
import { afterAll, describe, expect, it } from "vitest";
import type { Handle, WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import { ProcessLauncher } from "../../src/kernel/launchers/process/launcher.ts";
import { sweepStrays } from "../../src/kernel/launchers/process/process-group.ts";
import { processTable } from "../../src/kernel/launchers/process/process-table.ts";
import type { ProcessSettings } from "../../src/kernel/launchers/process/settings.ts";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import { untilTrue } from "../support/until.ts";
import { adapted, exitsOf } from "./index.ts";
import { lines, sampleWorkers } from "./sample-workers.ts";

const samples = sampleWorkers();
const { logDir, serviceId } = samples;
const open = () => new ProcessLauncher({ clock, logDir });

afterAll(async () => {
	await sweepStrays({ clock, serviceId, known: [] });
	samples.clear();
});

type Spec = WorkerSpec<ProcessSettings>;

describe.runIf(process.platform === "linux")("an adapter of the process launcher", () => {
	it("ends with its server, whose exit code and output are the worker's", async () => {
		const launcher = open();
		const exits = exitsOf(launcher);
		const spec = adapted(samples.spec("exits"));
		await launcher.start(spec);
		const exit = await exits.next(spec.workerId);
		expect(exit).toMatchObject({ code: 7, lastOutput: expect.stringContaining("last words\n") });
		await launcher.close();
	});

	it("D25: its limits hold for the server", async () => {
		const launcher = open();
		const exits = exitsOf(launcher);
		const spec = adapted(samples.script("ulimit -Hf; exit 3"));
		const limited: Spec = { ...spec, settings: { ...spec.settings, limits: { fileSizeMb: 32 } } };
		await launcher.start(limited);
		const exit = await exits.next(spec.workerId);
		expect(exit).toMatchObject({ code: 3, lastOutput: expect.stringMatching(/^65536$/m) });
		await launcher.close();
	});

	it("D18: a server that ignores the signal is killed after the grace, with what it started", async () => {
		const launcher = open();
		const exits = exitsOf(launcher);
		const spec = adapted(samples.spec("deaf"));
		await launcher.start(spec);
		await samples.ready(spec);
		expect(samples.processes(spec)).toBe(2);
		await launcher.stop(spec.workerId, 500);
		await exits.next(spec.workerId);
		expect(samples.processes(spec)).toBe(0);
		await launcher.close();
	});

	it("D34: is adopted with its server, which is no stray", async () => {
		const before = open();
		const spec = adapted(samples.script(`${lines.HERE}; ${lines.READY}; exec sleep 300`));
		const handle = await before.start(spec);
		await samples.ready(spec);
		await before.close();
		const launcher = open();
		const exits = exitsOf(launcher);
		expect(await launcher.adopt(spec.workerId, handle, serviceId)).toBe(true);
		const q = { serviceId, recorded: [spec.workerId], endpoints: [] };
		expect(await launcher.removeStrays(q)).toBe(0);
		expect(samples.processes(spec)).toBe(1);
		await launcher.stop(spec.workerId, 10_000);
		await exits.next(spec.workerId);
		expect(samples.processes(spec)).toBe(0);
		await launcher.close();
	});

	it("D34: a server whose adapter was killed while nothing watched is a stray", async () => {
		const before = open();
		const spec = adapted(samples.spec("runs"));
		const handle: Handle = await before.start(spec);
		await samples.ready(spec);
		await before.close();
		const pid = Number(handle["pid"]);
		process.kill(pid, "SIGKILL");
		await untilTrue(() => processTable.find(pid)?.ended !== false);
		const launcher = open();
		expect(samples.processes(spec)).toBe(1);
		expect(await launcher.removeStrays({ serviceId, recorded: [], endpoints: [] })).toBeGreaterThan(0);
		expect(samples.processes(spec)).toBe(0);
		await launcher.close();
	});
});
