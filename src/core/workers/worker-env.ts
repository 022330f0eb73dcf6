/** Variables that connect a RunPod worker to this service (D36, protocol B.1). */

/** A quarter of the lease in whole seconds, so that it survives three lost pings. */
export function pingIntervalMs(leaseMs: number): number {
	return Math.min(5000, Math.max(1000, Math.floor(leaseMs / 4000) * 1000));
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
