/** What the ends and faults of workers say about their endpoints: crashes pause their starts (D28, D29). */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { CRASH_MS, exitText, type WorkerExit } from "../../core/workers/ended-worker.ts";
import type { WorkerReasonCode } from "../../core/workers/worker-reason.ts";
import type { EngineContext } from "../context.ts";
import type { Worker } from "../workers/worker-registry.ts";
import type { Workers } from "../workers/workers.ts";
import type { crashBackoff } from "./crash-backoff.ts";
import type { Stops } from "./stops.ts";

interface Deps extends Pick<EngineContext, "now"> {
	workers: Workers;
	crashes: ReturnType<typeof crashBackoff>;
	stop: Stops["stop"];
	/** Whether no worker of its release was healthy so far. */
	isUnproven: (worker: Worker) => boolean;
}

export function workerFaults({ now, workers: { launcher, registry, startProblems }, crashes, stop, isUnproven }: Deps) {
	function replace(worker: Worker, code: WorkerReasonCode, { why, details }: { why: string; details: string }): void {
		if (!worker.managed || launcher.isLeaving(worker)) return;
		crashes.crashed(worker, code, details);
		launcher.retire(worker, why, code);
	}

	/** Before it was ready: it is stopped, and counts as one that crashed. */
	function failed(worker: Worker, why: string, code: WorkerReasonCode): void {
		crashes.crashed(worker, code, why);
		stop(worker, why, { code });
	}

	return {
		failed,
		exited(worker: Worker, end: WorkerExit): void {
			const { endpoint } = worker;
			// One that exits with 0 after a call may have been stopped by its own code (protocol B.5).
			const lasted = now() - worker.createdAt >= CRASH_MS && !isUnproven(worker);
			const works = worker.ready && (end.code === 0 || lasted);
			const crashed = !works && (end.reason?.crash ?? true);
			if (!worker.draining) {
				const { code, message } = end.reason ?? {
					code: "crashed",
					message: exitText(end, { ...worker, endedAt: now() }),
				};
				if (crashed) crashes.crashed(worker, code, message);
				else if (end.reason || end.code !== 0) startProblems.set(endpoint, { ended: { code, message, at: now() } });
			}
			if (worker.ready && !worker.unhealthy && (works || worker.draining) && !crashes.holds(endpoint))
				crashes.worked(endpoint);
		},
		unhealthy(worker: Worker, reason: string): void {
			const why = "it reports that it is unhealthy";
			replace(worker, "unhealthy", { why, details: `${why}: ${reason}` });
		},
		exceeded(worker: Worker, why: string): void {
			replace(worker, "gpu_memory_exceeded", { why, details: why });
		},
		stopOverdue({ id, initTimeoutMs }: Endpoint): void {
			for (const worker of registry.of(id)) {
				if (!worker.managed || worker.ready || launcher.isLeaving(worker)) continue;
				if (worker.notice?.state === "waiting" || now() - worker.startingSince < initTimeoutMs) continue;
				const when = `within ${initTimeoutMs} ms of its start (initTimeoutMs)`;
				const what = worker.warmup?.sent
					? `its warm-up was not over ${when}`
					: `it did not ask for a job ${when}; unless it loads a model, it may never call runpod.serverless.start`;
				failed(worker, what, "init_timeout");
			}
		},
	};
}
