/** The GPUs of this machine, read by `nvidia-smi`, or by `rocm-smi` where that is missing. */
import { execFile } from "node:child_process";
import type { MachineGpu } from "../core/workers/gpus.ts";
import type { Clock } from "../system/clock.ts";
import { type GpuProcess, PROCESSES, processesIn, readSmi } from "./nvidia-smi.ts";
import { ROCM_GPUS, rocmGpusIn } from "./rocm-smi.ts";

/** Minimum time between readings, also after a failed one, ms. */
const FRESH_MS = 2000;
const FAILED_MS = 60_000;
const TIMEOUT_MS = 5000;

type Env = Readonly<Record<string, string>>;

/** Lists are empty without a program, or if it fails. */
export function machineGpus(clock: Pick<Clock, "now">, env: Env) {
	const run = (program: string, args: readonly string[]): Promise<string> =>
		new Promise((resolve, reject) => {
			// The signal also ends the wait for one that a broken driver keeps from ending.
			const limits = { timeout: TIMEOUT_MS, killSignal: "SIGKILL", signal: AbortSignal.timeout(TIMEOUT_MS) } as const;
			execFile(program, args, { env, encoding: "utf8", ...limits }, (error, stdout) => {
				if (error) reject(stdout === "" ? error : new Error(stdout));
				else resolve(stdout);
			});
		});

	async function readGpus(): Promise<readonly MachineGpu[]> {
		try {
			return await readSmi((args) => run("nvidia-smi", args));
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
			return rocmGpusIn(await run("rocm-smi", ROCM_GPUS));
		}
	}

	return {
		gpus: cached(clock, readGpus),
		/** Processes that compute, with their pids on this machine. */
		processes: cached<GpuProcess>(clock, async () => processesIn(await run("nvidia-smi", PROCESSES))),
	};
}

function cached<T>(clock: Pick<Clock, "now">, read: () => Promise<readonly T[]>): () => Promise<readonly T[]> {
	let last: Promise<readonly T[]> | undefined;
	let nextAt = -Infinity;
	return () => {
		if (last && clock.now() < nextAt) return last;
		nextAt = clock.now() + FRESH_MS;
		last = read().catch(() => {
			nextAt = clock.now() + FAILED_MS;
			return [];
		});
		return last;
	};
}
