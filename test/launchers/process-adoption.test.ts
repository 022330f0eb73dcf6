/** The process launcher when the service dies: workers go on, and the next service adopts them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import type { Handle, WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import { ProcessLauncher } from "../../src/kernel/launchers/process/launcher.ts";
import { logPath } from "../../src/kernel/launchers/logs/log-files.ts";
import type { ProcessSettings } from "../../src/kernel/launchers/process/settings.ts";
import { findStrays, type Identity, isRunning, sweepStrays } from "../../src/kernel/launchers/process/process-group.ts";
import { exitsOf } from "./index.ts";
import { until } from "../support/until.ts";
import { lines, sampleWorkers } from "./sample-workers.ts";

const samples = sampleWorkers();
const { logDir, serviceId } = samples;
const open = () => new ProcessLauncher({ clock, logDir });
const linux = process.platform === "linux";

afterAll(async () => {
	if (linux) await sweepStrays({ clock, serviceId, known: [] });
	samples.clear();
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

/**
 * Starts a service process that starts one worker; resolves when it printed the worker's handle.
 */
async function doomedService(spec: WorkerSpec, then = "") {
	const file = fileURLToPath(new URL("./doomed-service.ts", import.meta.url));
	const service = spawn(process.execPath, [file, logDir, JSON.stringify(spec), then], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	const ended = once(service, "exit") as Promise<[number | null, string | null]>;
	let printed = "";
	for await (const chunk of service.stdout) {
		printed += String(chunk);
		if (printed.includes("\n")) break;
	}
	return { service, ended, handle: JSON.parse(printed) as Handle };
}

describe("process launcher: the service dies", () => {
	it("D34: a worker goes on writing after kill -9 of the service, and the next one adopts it", async () => {
		const spec = samples.script(`${lines.HERE}; i=0; while :; do i=$((i+1)); echo "line $i"; sleep 0.01; done`);
		const { service, ended, handle } = await doomedService(spec);
		service.kill("SIGKILL");
		expect(await ended).toEqual([null, "SIGKILL"]);

		const log = logPath(logDir, spec.workerId);
		const { size } = statSync(log);
		await until("the worker goes on writing", () => statSync(log).size > size + 100);
		const launcher = open();
		const exits = exitsOf(launcher);
		expect(await launcher.adopt(spec.workerId, handle, spec.serviceId)).toBe(true);
		expect(await launcher.list()).toEqual([spec.workerId]);
		await launcher.stop(spec.workerId, 600_000);
		expect(samples.processes(spec)).toBe(0);
		const [exit, ...more] = exits.of(spec.workerId);
		expect(more).toEqual([]);
		expect(exit?.lastOutput).toBe(readFileSync(log, "utf8").trimEnd().slice(-exit!.lastOutput.length));
		expect(exit?.lastOutput).toMatch(/line \d+$/);
	});

	it.runIf(linux)("D34: a handle names one process of one boot", async () => {
		const launcher = open();
		const spec = samples.spec("runs");
		const handle = await launcher.start(spec);
		expect(handle).toEqual({
			pid: expect.any(Number),
			startTime: expect.any(Number),
			boot: expect.any(String),
		});
		expect(await open().adopt(spec.workerId, { ...handle, boot: "an earlier one" }, spec.serviceId)).toBe(false);
		await launcher.stop(spec.workerId, 0);
	});

	it.runIf(linux)(
		"D34: adopts a worker without a mark by the handle of an earlier version, which names no service",
		async () => {
			const [first, launcher] = [open(), open()];
			const spec = withSettings(samples.spec("runs"), { command: ["env", "-i", "sleep", "300"] });
			const handle = await first.start(spec);
			const leader = Number(handle["pid"]);
			await until("env has started sleep", () => readFileSync(`/proc/${leader}/comm`, "utf8") === "sleep\n");
			await first.close();
			expect(await launcher.adopt(spec.workerId, { ...handle, sluiceService: "original" }, spec.serviceId)).toBe(false);
			expect(await launcher.adopt(spec.workerId, handle, spec.serviceId)).toBe(true);
			await launcher.stop(spec.workerId, 0);
			expect(isRunning({ ...handle } as object as Identity)).toBe(false);
		},
	);

	it("D34: a service that closed its launcher can end while its worker runs", async () => {
		const spec = samples.spec("runs");
		const { ended, handle } = await doomedService(spec, "close");
		expect(await ended).toEqual([0, null]);
		await samples.ready(spec);
		const launcher = open();
		expect(await launcher.adopt(spec.workerId, handle, spec.serviceId)).toBe(true);
		await launcher.stop(spec.workerId, 0);
	});

	it.runIf(linux)(
		"D34: finds and ends workers that were not recorded, and spares recorded ones with all they started",
		async () => {
			const other = sampleWorkers();
			const { HERE, READY } = lines;
			const launcher = open();
			const recorded = other.script(`${HERE}; setsid sh -c '${HERE}; ${READY}; exec sleep 300' & wait`);
			const unrecorded = other.spec("deaf");
			const nameless = other.spec("deaf");
			const { RUNPOD_POD_ID: _, ...env } = nameless.env;
			try {
				const second = await launcher.start({ ...nameless, env });
				await other.ready(nameless);
				const { pid } = await launcher.start(recorded);
				const { service, ended, handle } = await doomedService(unrecorded);
				service.kill("SIGKILL");
				await ended;
				await other.ready(recorded);
				await other.ready(unrecorded);
				const which = {
					serviceId: other.serviceId,
					known: [pid as number, second["pid"] as number],
				};
				const strays = findStrays(which);
				expect(new Set(strays)).toEqual(new Set(other.pids(unrecorded)));
				expect(strays).toContain(handle["pid"]);
				expect(new Set(await sweepStrays({ clock, ...which }))).toEqual(new Set(strays));
				expect(other.processes(unrecorded)).toBe(0);
				expect(other.processes(recorded)).toBe(2);
				expect(other.processes(nameless)).toBe(2);
				expect(await sweepStrays({ clock, ...which })).toEqual([]);
			} finally {
				await Promise.all([launcher.stop(recorded.workerId, 0), launcher.stop(nameless.workerId, 0)]);
				other.clear();
			}
		},
	);

	it.runIf(linux)("D34: never takes the service itself or another service's worker for a stray", async () => {
		const spec = samples.spec("runs");
		const script =
			"const {sweepStrays} = await import(process.argv[1]); const {systemClock: clock} " +
			"= await import(process.argv[2]); console.log(JSON.stringify(await sweepStrays({clock, " +
			'serviceId: "nested", known: []})))';
		const paths = ["process/process-group.ts", "../system/clock.ts"].map(
			(name) => new URL(`../../src/kernel/launchers/${name}`, import.meta.url).href,
		);
		const command = [process.execPath, "--input-type=module", "-e", script, ...paths];
		const launcher = open();
		await launcher.start(spec);
		const nested = withSettings(samples.script(""), { command });
		const exit = await run({ ...nested, serviceId: "nested" });
		expect(exit).toMatchObject({ code: 0, lastOutput: "[]" });
		expect(await launcher.list()).toEqual([spec.workerId]);
		await launcher.stop(spec.workerId, 0);
	});
});
