/** Copies a container's output from the daemon to the worker's log file, which outlives it. */
import { framesOf } from "../platform-streams.ts";
import { timedLog } from "../timed-log.ts";
import type { Daemon } from "./daemon.ts";

/** Copies until the container ends or `signal` aborts; rejects if the daemon fails. */
export async function copyOutput(
	daemon: Daemon,
	container: string,
	q: { logDir: string; workerId: string; signal: AbortSignal },
): Promise<void> {
	const log = timedLog(q.logDir, q.workerId);
	try {
		const stream = await daemon.logs(container, { since: log.since, signal: q.signal });
		for await (const pieces of framesOf(stream)) log.append(pieces);
	} catch (error) {
		if (!q.signal.aborted) throw error;
	} finally {
		log.close();
	}
}
