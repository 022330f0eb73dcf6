/** The GPUs of this machine, read by `nvidia-smi`, or by `rocm-smi` where that is missing. */
import type { MachineGpu } from "../core/workers/gpus.ts";
import type { Clock } from "../system/clock.ts";
import { runProgram } from "../system/run-program.ts";
import { type GpuProcess, PROCESSES, processesIn, readSmi } from "./nvidia-smi.ts";
import { ROCM_GPUS, rocmGpusIn } from "./rocm-smi.ts";

/** Minimum time between readings, also after a failed one, ms. */
const FRESH_MS = 2000;
const FAILED_MS = 60_000;
const TIMEOUT_MS = 5000;

type Env = Readonly<Record<string, string>>;

/** Lists are empty without a program, or if it fails. */
export function machineGpus(clock: Pick<Clock, "now">, env: Env) {
	async function run(program: string, args: readonly string[]): Promise<string> {
		const { how, code, stdout } = await runProgram(program, args, { env, timeoutMs: TIMEOUT_MS });
		if (how === "exited" && code === 0) return stdout;
		throw new Error(stdout === "" ? `${program} ended with ${code ?? how}` : stdout);
	}

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
