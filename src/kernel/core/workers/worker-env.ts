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

/** What addresses have in place of the worker's id, which RunPod's SDK replaces (protocol B.1). */
const PLACEHOLDERS = { take: "$ID", others: "$RUNPOD_POD_ID" } as const;

/** Whether the worker's id in a path is a placeholder that the worker has not replaced. */
export function isPlaceholder(worker: string): boolean {
	return worker === PLACEHOLDERS.take || worker === PLACEHOLDERS.others;
}

/**
 * The worker replaces `$ID` by the job's id (protocol B.1). Its own id is in the addresses, since some workers replace
 * nothing else; without `worker` (`--replicas`) its id is set elsewhere, and the worker replaces that as well.
 */
export function workerEnv(q: {
	url: string;
	endpoint: string;
	worker?: string | undefined;
	token: string;
	leaseMs: number;
}): Record<string, string> {
	const base = `${q.url}/worker/${q.endpoint}`;
	const inPath = q.worker ?? PLACEHOLDERS.others;
	return {
		RUNPOD_WEBHOOK_GET_JOB: `${base}/job-take/${q.worker ?? PLACEHOLDERS.take}?gpu=none`,
		RUNPOD_WEBHOOK_POST_OUTPUT: `${base}/job-done/${inPath}/$ID?gpu=none`,
		RUNPOD_WEBHOOK_POST_STREAM: `${base}/job-stream/${inPath}/$ID?gpu=none`,
		RUNPOD_WEBHOOK_PING: `${base}/ping/${inPath}?gpu=none`,
		RUNPOD_AI_API_KEY: q.token,
		...(q.worker === undefined ? {} : { RUNPOD_POD_ID: q.worker }),
		RUNPOD_ENDPOINT_ID: q.endpoint,
		RUNPOD_PING_INTERVAL: String(pingIntervalMs(q.leaseMs)),
		RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: "true",
	};
}

/** The variable from which an adapter (`WorkerSpec.adapter`) reads its mapping. */
export const MAPPING_VARIABLE = "SLUICE_HTTP";

const WORKER_VARIABLES = new Set([
	...Object.keys(workerEnv({ url: "", endpoint: "", worker: "", token: "", leaseMs: 0 })),
	MAPPING_VARIABLE,
]);

/**
 * Returns the variables without those of {@link workerEnv} and the mapping: for a server that an adapter stands before,
 * which must not reach the service.
 */
export function withoutWorkerEnv(env: Readonly<Record<string, string>>): Record<string, string> {
	return Object.fromEntries(Object.entries(env).filter(([name]) => !WORKER_VARIABLES.has(name)));
}
