/** Stops workers of removed endpoints and silent ones; forgets external ones that call no more. */
import { loop, type Loop } from "../../system/loop.ts";
import type { WorkerLauncher } from "./launch/launch.ts";
import { silentWorkers } from "./silent-workers.ts";
import type { Worker } from "./worker-registry.ts";
import { clearUnstopped, closeWorker } from "./worker-transitions.ts";
import { FORGET_MS } from "./worker-views.ts";
import type { WorkersContext } from "./workers-context.ts";

const CHECK_MS = 500;
const STOP_AGAIN_MS = 5000;

export function workerHousekeeping(d: WorkersContext & { launcher: WorkerLauncher }): Loop {
	const { registry } = d;
	const killSilent = silentWorkers({ ...d, checkMs: CHECK_MS });

	/** Also workers that a start took over, or that were being launched meanwhile (D39). */
	function stopRemoved(): void {
		for (const worker of registry.all()) {
			if (d.endpoints.has(worker.endpoint) || worker.draining) continue;
			closeWorker(worker);
			if (!worker.managed) continue;
			const graceMs = d.endpoints.stopGraceMs(worker.endpoint);
			const why = "its endpoint was deleted";
			d.background.run(`stopping ${worker.id}`, d.launcher.stop(worker, { why, graceMs }));
		}
	}

	/** Their platform did not respond before, and their grace is over. */
	function stopAgain(worker: Worker): void {
		const { unstopped } = worker;
		if (!unstopped || !d.launcher.isStopping(worker) || d.now() - unstopped.at < STOP_AGAIN_MS) return;
		clearUnstopped(worker);
		const stop = d.launcher.stop(worker, { why: unstopped.why, graceMs: 0 });
		d.background.run(`stopping ${worker.id}`, stop);
	}

	d.events.on(["endpoint.removed", "endpoints.changed"], stopRemoved);
	d.events.on("endpoint.deleted", ({ endpoint }) => {
		for (const worker of [...registry.of(endpoint)]) if (!worker.managed) registry.forget(worker);
	});

	return loop({
		clock: d.clock,
		retryMs: CHECK_MS,
		onError: (error) => d.events.emit("fault", { where: "checking workers", error }),
		step: async () => {
			stopRemoved();
			killSilent();
			for (const worker of registry.all()) {
				d.launcher.reportBusy(worker);
				stopAgain(worker);
				const isPolling = worker.takes + worker.stops > 0;
				if (!worker.managed && !isPolling && d.now() - worker.seenAt >= FORGET_MS) registry.forget(worker);
			}
			return CHECK_MS;
		},
	});
}
