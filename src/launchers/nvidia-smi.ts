import { execFile } from "node:child_process";
import type { Clock } from "../system/clock.ts";
import type { GpuUsage } from "../core/workers/worker-usage.ts";

const QUERY = ["--query-gpu=index,name,memory.total,memory.used,utilization.gpu", "--format=csv,noheader,nounits"];

/** Minimum time between readings, also after a failed one, ms. */
const FRESH_MS = 2000;
const FAILED_MS = 60_000;
const TIMEOUT_MS = 5000;

const MIB = 1024 ** 2;

type Env = Readonly<Record<string, string>>;

/** Empty without the program or if it fails. */
export function localGpus(clock: Pick<Clock, "now">, env: Env): () => Promise<readonly GpuUsage[]> {
	let last: Promise<readonly GpuUsage[]> | undefined;
	let nextAt = -Infinity;
	return () => {
		if (last && clock.now() < nextAt) return last;
		nextAt = clock.now() + FRESH_MS;
		last = read(env).catch(() => {
			nextAt = clock.now() + FAILED_MS;
			return [];
		});
		return last;
	};
}

function read(env: Env): Promise<GpuUsage[]> {
	return new Promise((resolve, reject) => {
		execFile("nvidia-smi", QUERY, { env, timeout: TIMEOUT_MS, encoding: "utf8" }, (error, stdout) =>
			error ? reject(error) : resolve(gpusIn(stdout)),
		);
	});
}

/** Lines such as `0, NVIDIA L4, 23034, 512, 37`, memory in MiB; `[N/A]` is unknown. */
export function gpusIn(text: string): GpuUsage[] {
	return text.split("\n").flatMap((line) => {
		const fields = line.split(",").map((each) => each.trim());
		const [id, model, total, used, busy] = fields;
		if (id === undefined || !/^\d+$/.test(id) || model === undefined) return [];
		const bytes = (mib: string | undefined): number | undefined =>
			/^\d+$/.test(mib ?? "") ? Number(mib) * MIB : undefined;
		return [
			{
				id,
				model,
				memory: bytes(total) ?? 0,
				memoryUsed: bytes(used),
				busy: /^\d+$/.test(busy ?? "") ? Number(busy) : undefined,
			},
		];
	});
}
