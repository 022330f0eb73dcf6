/** Copies a worker's output from `pods/log` to its log file, which outlives the Pod. */
import { linesOf } from "../platform-streams.ts";
import { timedLog } from "../timed-log.ts";
import type { KubernetesClient } from "./client.ts";
import { CONTAINER } from "./names.ts";

/** Copies until the container ends or `signal` aborts; rejects if the API server fails. */
export async function copyOutput(
	client: KubernetesClient,
	q: { namespace: string; pod: string; logDir: string; workerId: string; signal: AbortSignal },
): Promise<void> {
	const log = timedLog(q.logDir, q.workerId);
	try {
		const stream = await client.stream(`/api/v1/namespaces/${encodeURIComponent(q.namespace)}/pods/${q.pod}/log`, {
			query: {
				container: CONTAINER,
				follow: "true",
				timestamps: "true",
				// Whole seconds; earlier lines of the first one are left out.
				...(log.since > 0 && { sinceTime: new Date(log.since * 1000).toISOString() }),
			},
			signal: q.signal,
		});
		for await (const pieces of linesOf(stream)) log.append(pieces);
	} catch (error) {
		if (!q.signal.aborted) throw error;
	} finally {
		log.close();
	}
}
