/**
 * Shell scripts that behave as the launcher suite needs, in a folder where each of their processes
 * leaves its pid.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { SERVICE_VARIABLE, WORKER_VARIABLE } from "../../src/kernel/launchers/process/process-group.ts";
import type { WorkerSpec } from "../../src/kernel/launchers/launcher.ts";
import type { ProcessSettings } from "../../src/kernel/launchers/process/settings.ts";
import { until } from "../support/until.ts";
import type { Behaviour } from "./index.ts";

/** Writes down the pid of the shell that runs it. */
const HERE = ': > "$PIDS/$$"';
/** Starts a child that stays, and waits until it wrote down its pid. */
const CHILD = `sh -c '${HERE}; exec sleep 300' & while [ ! -e "$PIDS/$!" ]; do sleep 0.05; done`;
const READY = ': > "$PIDS/ready"';

/** What a shell runs for each behaviour, with the folder in `PIDS`. */
export const SCRIPTS: Record<Behaviour, string> = {
	runs: `${HERE}; ${READY}; exec sleep 300`,
	exits: `${HERE}; echo last words; exit 7`,
	drains:
		`exec 2>/dev/null; trap 'sleep 0.2; echo drained; exit 5' TERM; ${HERE}; ${READY}; ` +
		"while :; do sleep 0.05; done",
	deaf: `trap "" TERM; ${HERE}; ${CHILD}; ${READY}; wait`,
	orphans: `${HERE}; ${CHILD}; ${READY}; while [ ! -e "$PIDS/release" ]; do sleep 0.05; done; exit 3`,
};

/**
 * A folder for samples, and what can be asked of them. `clear` kills what still runs and removes
 * it.
 */
export function sampleWorkers() {
	const root = mkdtempSync(join(tmpdir(), "sluice-launchers-"));
	const serviceId = `test-${randomUUID()}`;
	const folder = ({ workerId }: WorkerSpec<ProcessSettings>) => join(root, workerId);

	function pids(spec: WorkerSpec<ProcessSettings>): number[] {
		return readdirSync(folder(spec))
			.filter((name) => /^\d+$/.test(name))
			.map(Number)
			.filter(runs);
	}

	/** A worker with this script. */
	function script(text: string): WorkerSpec<ProcessSettings> {
		const workerId = `worker-${randomUUID()}`;
		mkdirSync(join(root, workerId));
		return {
			workerId,
			endpoint: "sample",
			settings: { type: "process", command: ["sh", "-c", text], cwd: root },
			serviceId,
			url: "http://127.0.0.1:9",
			gpus: [],
			gpuCount: 0,
			workersMax: 3,
			stopGraceMs: 5000,
			env: {
				PATH: process.env["PATH"] ?? "/usr/bin:/bin",
				PIDS: join(root, workerId),
				[WORKER_VARIABLE]: workerId,
				[SERVICE_VARIABLE]: serviceId,
			},
		};
	}

	return {
		root,
		serviceId,
		/** Where a launcher under test may keep its logs. */
		logDir: join(root, "logs"),
		script,
		spec: (behaviour: Behaviour) => script(SCRIPTS[behaviour]),
		ready: (spec: WorkerSpec<ProcessSettings>) =>
			until(`${spec.workerId} is ready`, () => readdirSync(folder(spec)).includes("ready")),
		release: (spec: WorkerSpec<ProcessSettings>) => writeFileSync(join(folder(spec), "release"), ""),
		pids,
		processes: (spec: WorkerSpec<ProcessSettings>) => pids(spec).length,
		clear() {
			for (const path of readdirSync(root, { recursive: true, encoding: "utf8" })) {
				const pid = Number(basename(path));
				if (pid > 1 && runs(pid)) process.kill(pid, "SIGKILL");
			}
			rmSync(root, { recursive: true, force: true });
		},
	};
}

/** The shell lines the scripts are made of, for tests with a script of their own. */
export const lines = { HERE, CHILD, READY };

/** Whether a process is there and no zombie. */
export function runs(pid: number): boolean {
	try {
		if (process.platform === "linux") return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
		return process.kill(pid, 0);
	} catch {
		return false;
	}
}
