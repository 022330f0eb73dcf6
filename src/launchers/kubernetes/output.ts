/** Copies a worker's output from `pods/log` to its log file, which outlives the Pod. */
import type { Clock } from "../../clock.ts";
import { linesOf } from "../platform-streams.ts";
import { timedLog } from "../timed-log.ts";
import { type KubernetesClient, sentenceOf } from "./client.ts";
import type { Cluster } from "./cluster.ts";
import { CONTAINER } from "./names.ts";

/** Pause between repeated calls, ms. */
const RETRY_MS = 1000;
/** Failed calls in a row until that is logged; after the end of the program until no more are tried. */
const TRIES = 3;

interface Source {
	id: string;
	cluster: Cluster;
	clock: Clock;
	logDir: string;
	log: (message: string) => void;
}

/** Copies until `over` has aborted, when the program has ended, and all its lines are copied; or `left` aborts. */
export async function copyWholeOutput(
	{ id, cluster, clock, logDir, log }: Source,
	{ pod, over, left }: { pod: string; over: AbortSignal; left: AbortSignal },
): Promise<void> {
	const { client, namespace } = cluster;
	for (let tries = 0; !left.aborted; ) {
		const hadEnded = over.aborted;
		try {
			await copyOutput(client, { namespace, pod, logDir, workerId: id, signal: left });
			tries = 0;
			if (hadEnded) return;
		} catch (error) {
			tries += 1;
			if (hadEnded && tries >= TRIES) return;
			if (tries === TRIES && !hadEnded)
				log(`the output of worker ${id} is not read: ${sentenceOf(error, client.server)}`);
		}
		await clock.sleep(RETRY_MS, hadEnded ? left : AbortSignal.any([over, left]));
	}
}

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
