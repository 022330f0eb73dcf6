/** The GPUs of this machine, read by `nvidia-smi`, or by `rocm-smi` where that is missing. */
import type { MachineGpu } from "../core/workers/gpus.ts";
import type { Clock } from "../system/clock.ts";
import { runProgram } from "../system/run-program.ts";
import { type GpuProcess, PROCESSES, processesIn, readSmi } from "./nvidia-smi.ts";

/** What `rocm-smi` prints of AMD's GPUs. */
export const ROCM_GPUS = ["--showproductname", "--showmeminfo", "vram", "--showuse", "--json"];

/**
 * JSON such as `{"card0": {"Card Series": "AMD Instinct MI300X", "VRAM Total Memory (B)": "205822885888", ...}}`, with
 * warnings around it. All values are text.
 */
export function rocmGpusIn(text: string): MachineGpu[] {
	const cards = parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
	return Object.entries(cards).flatMap(([name, facts]) => {
		const id = /^card(\d+)$/.exec(name)?.[1];
		if (id === undefined || typeof facts !== "object" || facts === null) return [];
		// Letters differ between versions, such as in "Card series".
		const values = new Map(Object.entries(facts).map(([key, value]) => [key.toLowerCase(), String(value)]));
		const numberAt = (key: string): number | undefined => {
			const value = values.get(key) ?? "";
			return /^\d{1,15}$/.test(value) ? Number(value) : undefined;
		};
		return {
			id,
			model: values.get("card series") ?? "AMD GPU",
			memory: numberAt("vram total memory (b)") ?? 0,
			memoryUsed: numberAt("vram total used memory (b)"),
			busy: numberAt("gpu use (%)"),
		};
	});
}

function parse(json: string): object {
	try {
		const value: unknown = JSON.parse(json);
		return typeof value === "object" && value !== null ? value : {};
	} catch {
		return {};
	}
}

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
