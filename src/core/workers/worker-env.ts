/** Variables that connect a RunPod worker to this service (D36, protocol B.1). */

/** A quarter of the lease in whole seconds, so that it survives three lost pings. */
export function pingIntervalMs(leaseMs: number): number {
	return Math.min(5000, Math.max(1000, Math.floor(leaseMs / 4000) * 1000));
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
