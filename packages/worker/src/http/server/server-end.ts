/**
 * What becomes of the worker when its server ends: a job on a server that no longer answers waits here until the end
 * of the server is known, because its exit code says more than a lost connection.
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { Readiness } from "./readiness.ts";
import type { ServerProcess } from "./server-process.ts";

export interface ServerEndOptions {
	readiness: Readiness;
	/** Undefined for a server that is no child of this process. */
	child: ServerProcess | undefined;
	isLaunched: boolean;
	/** Time for the end of a server that no longer answers, ms. */
	exitMs: number;
	clock: Clock;
	log: Log;
	isStopping: () => boolean;
	/** Ends the worker because its server is lost. */
	lose: () => void;
	/** Ends the worker in place of a server in another container, which its launcher ends then. */
	endWorker: () => void;
	/** The handler of a job has ended; its report follows. */
	onJobEnd: () => void;
}

/** The readiness and the end of the server, as jobs on it see them. */
export function serverOfJobs(options: ServerEndOptions): { readiness: Readiness; kill: (reason: string) => void } {
	const { readiness, child, isLaunched, exitMs, clock, log } = options;

	async function probe(): Promise<boolean> {
		if (await readiness.probe()) return true;
		if (!child && !isLaunched) return false;
		const end = child ? [child.ended.then(() => true)] : [];
		let isLost = await Promise.race([...end, clock.sleep(exitMs)]);
		if (!child && options.isStopping() && !(await readiness.probe())) {
			// The launcher ends the adapter of a server that has ended.
			options.lose();
			isLost = true;
		}
		// The worker ends with its server now, and the service counts the loss by the exit code.
		if (isLost) await new Promise(() => {});
		return false;
	}

	return {
		readiness: {
			...readiness,
			get open() {
				return readiness.open;
			},
			opened() {
				const closed = readiness.opened();
				return () => {
					options.onJobEnd();
					closed();
				};
			},
			probe,
		},
		kill(reason) {
			if (!child && !isLaunched)
				return log("WARN", `The server runs on although ${reason}: it is not the worker's own.`);
			log("ERROR", `Ending the server: ${reason}.`);
			if (child) child.kill();
			else options.endWorker();
		},
	};
}
