/** Copies the output of a worker's containers to its log file, which outlives the Pod. */
import type { Clock } from "../../../kernel/system/clock.ts";
import { linesOf } from "../../../kernel/launchers/platform-streams.ts";
import type { LogSource } from "../../../kernel/launchers/logs/log-sources.ts";
import { copyToLog, type LogTarget } from "../../../kernel/launchers/logs/timed-log.ts";
import { type KubernetesClient, sentenceOf } from "../api/client.ts";
import type { Cluster } from "../cluster.ts";
import { CONTAINER, SERVER } from "../objects/names.ts";

const RETRY_MS = 1000;
/** Consecutive failures until one is logged, or until copying ends after the program's end. */
const TRIES = 3;

interface Source {
	id: string;
	cluster: Cluster;
	clock: Clock;
	logDir: string;
	log: (message: string) => void;
}

/** Resolves when `over` has aborted and all lines are copied, or when `left` aborts. */
export async function copyWholeOutput(
	{ id, cluster, clock, logDir, log }: Source,
	{ over, left, ...of }: { pod: string; source: LogSource | undefined; over: AbortSignal; left: AbortSignal },
): Promise<void> {
	const { client, namespace } = cluster;
	for (let tries = 0; !left.aborted; ) {
		const hadEnded = over.aborted;
		try {
			await copyOutput(client, { ...of, namespace, logDir, workerId: id, signal: left });
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

/** `source`: of a worker with an adapter, whose log has the lines of both containers. */
export async function copyOutput(
	client: KubernetesClient,
	q: LogTarget & { namespace: string; pod: string; signal: AbortSignal },
): Promise<void> {
	const { signal } = q;
	const container = q.source === "server" ? SERVER : CONTAINER;
	const path = `/api/v1/namespaces/${encodeURIComponent(q.namespace)}/pods/${q.pod}/log`;
	await copyToLog(q, async (since) => {
		// `sinceTime` has whole seconds. Earlier lines of the first second are dropped later.
		const from = since > 0 && { sinceTime: new Date(since * 1000).toISOString() };
		const query = { container, follow: "true", timestamps: "true", ...from };
		return linesOf(await client.stream(path, { query, signal }));
	});
}
