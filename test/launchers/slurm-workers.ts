/** Workers for tests of the Slurm launcher, in a folder that stands for the shared one. */
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";
import { systemClock as clock } from "../../src/kernel/system/clock.ts";
import type { WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import { SlurmLauncher } from "../../src/modules/slurm/launcher.ts";
import type { SlurmSpec } from "../../src/modules/slurm/script.ts";
import type { SlurmSettings } from "../../src/modules/slurm/settings.ts";
import { type SlurmCluster, startSlurm } from "../support/slurm.ts";
import { until } from "../support/until.ts";
import { runs } from "./sample-workers.ts";

export const TOKEN = "token-0123456789";

export const root = mkdtempSync(join(tmpdir(), "sluice-slurm-"));
export const logDir = join(root, "logs");
export const serviceId = `test-${randomUUID()}`;
const folder = ({ workerId }: WorkerSpec): string => join(root, workerId);

export function script(
	text: string,
	settings: Partial<SlurmSettings> = {},
	change: Partial<SlurmSpec> = {},
): SlurmSpec {
	const workerId = `worker-${randomUUID()}`;
	mkdirSync(join(root, workerId));
	return {
		workerId,
		endpoint: "sample",
		env: { PIDS: join(root, workerId), RUNPOD_AI_API_KEY: TOKEN },
		serviceId,
		settings: {
			type: "slurm",
			command: ["sh", "-c", text],
			sharedDir: root,
			cwd: root,
			...settings,
		},
		url: "http://127.0.0.1:9",
		gpus: [],
		gpuCount: 0,
		workersMax: 3,
		stopGraceMs: 5000,
		...change,
	};
}

export function pidsOf(spec: WorkerSpec): number[] {
	return readdirSync(folder(spec))
		.filter((name) => /^\d+$/.test(name))
		.map(Number)
		.filter(runs);
}

export const ready = (spec: WorkerSpec): Promise<true> =>
	until(`${spec.workerId} is ready`, () => readdirSync(folder(spec)).includes("ready"));

export const release = (spec: WorkerSpec): void => writeFileSync(join(folder(spec), "release"), "");

/** A cluster for the tests of a suite, and launchers that are closed after each of them. */
export function suiteOfSlurm(): { cluster: () => SlurmCluster; open: () => SlurmLauncher } {
	const opened: SlurmLauncher[] = [];
	let cluster: SlurmCluster;
	beforeAll(async () => {
		cluster = await startSlurm();
	}, 60_000);
	afterEach(async () => {
		for (const launcher of opened.splice(0)) await launcher.close();
	});
	afterAll(() => {
		cluster.remove();
		rmSync(root, { recursive: true, force: true });
	});
	return {
		cluster: () => cluster,
		open() {
			const serviceEnv = { ...(process.env as Record<string, string>), ...cluster.env };
			const launcher = new SlurmLauncher({ clock, logDir, serviceEnv, log() {}, queryMs: 200 });
			opened.push(launcher);
			return launcher;
		},
	};
}
