/** Variables that connect a RunPod worker to this service (D36, protocol B.1). */

/** A quarter of the lease in whole seconds, so that it survives three lost pings. */
export function pingIntervalMs(leaseMs: number): number {
	return Math.min(5000, Math.max(1000, Math.floor(leaseMs / 4000) * 1000));
}

/** Where the network volume of a worker is on RunPod. */
const VOLUME_PATH = "/runpod-volume";

/** A volume, in contrast to a folder of the host. */
const VOLUME_NAME = /^[a-zA-Z0-9][\w.-]*$/;

/**
 * Variables that RunPod's machines have and handlers read, as far as they mean something here. The endpoint's `env`
 * takes precedence. `place`: the machine's name among several. `volumes`: as `source:/path`.
 */
export function machineEnv(q: {
	worker: string;
	/** 0: none, or an unknown number. */
	gpus: number;
	cpus?: number | undefined;
	memoryBytes?: number | undefined;
	place?: string | undefined;
	volumes?: readonly string[] | undefined;
}): Record<string, string> {
	const { gpus, cpus, memoryBytes, place } = q;
	const [source] = q.volumes?.map((text) => text.split(":")).find(([, path]) => path === VOLUME_PATH) ?? [];
	const volume = source !== undefined && VOLUME_NAME.test(source) ? source : undefined;
	const whole = (value: number): string => String(Math.max(1, Math.floor(value)));
	return {
		RUNPOD_POD_HOSTNAME: q.worker,
		...(gpus > 0 && { RUNPOD_GPU_COUNT: String(gpus) }),
		...(cpus !== undefined && { RUNPOD_CPU_COUNT: whole(cpus) }),
		...(memoryBytes !== undefined && { RUNPOD_MEM_GB: whole(memoryBytes / 2 ** 30) }),
		...(place !== undefined && { RUNPOD_DC_ID: place }),
		...(volume !== undefined && { RUNPOD_VOLUME_ID: volume }),
	};
}

/**
 * Variables with a worker's part of a GPU of `sizeGb`, both in 10^9 bytes. RunPod's vLLM worker and JAX read the last
 * two; other programs would take all memory that is free.
 */
export function gpuPartEnv(partGb: number, sizeGb: number): Record<string, string> {
	const fraction = String(Math.max(1, Math.floor((1000 * partGb) / sizeGb)) / 1000);
	return {
		SLUICE_GPU_MEMORY_GB: String(partGb),
		SLUICE_GPU_MEMORY_FRACTION: fraction,
		GPU_MEMORY_UTILIZATION: fraction,
		XLA_PYTHON_CLIENT_MEM_FRACTION: fraction,
	};
}

/**
 * The worker replaces `$ID` and `$RUNPOD_POD_ID` (protocol B.1). Its id is set elsewhere if `worker` is absent
 * (`--replicas`).
 */
export function workerEnv(q: {
	url: string;
	endpoint: string;
	worker?: string | undefined;
	token: string;
	leaseMs: number;
}): Record<string, string> {
	const base = `${q.url}/worker/${q.endpoint}`;
	return {
		RUNPOD_WEBHOOK_GET_JOB: `${base}/job-take/$ID?gpu=none`,
		RUNPOD_WEBHOOK_POST_OUTPUT: `${base}/job-done/$RUNPOD_POD_ID/$ID?gpu=none`,
		RUNPOD_WEBHOOK_POST_STREAM: `${base}/job-stream/$RUNPOD_POD_ID/$ID?gpu=none`,
		RUNPOD_WEBHOOK_PING: `${base}/ping/$RUNPOD_POD_ID?gpu=none`,
		RUNPOD_AI_API_KEY: q.token,
		...(q.worker === undefined ? {} : { RUNPOD_POD_ID: q.worker }),
		RUNPOD_ENDPOINT_ID: q.endpoint,
		RUNPOD_PING_INTERVAL: String(pingIntervalMs(q.leaseMs)),
		RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: "true",
	};
}
