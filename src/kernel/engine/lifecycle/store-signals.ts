/** Applies signals of the store as long as the server runs. */
import type { Domains } from "./domains.ts";

/** Applies signals of the store until the returned function is called. */
export function listenToStore(d: Domains): () => void {
	return d.store.onSignal((signal, elsewhere) => {
		switch (signal.kind) {
			case "purged":
				return d.jobs.onPurged(signal.endpoint);
			case "stop":
				return d.workers.stopSignals.request(signal);
			case "queued": {
				const { endpoint, id, worker, silent } = signal;
				d.jobs.onQueued({ endpoint, id, silent, from: worker === undefined ? undefined : { worker, why: "lost" } });
				return d.scaling.queued(endpoint);
			}
			case "settled":
				return d.jobs.onSettled({ ...signal, ...(elsewhere && { elsewhere }) });
			case "chunks":
				return d.jobs.onChunks(signal.id);
			case "endpoints":
				return d.endpoints.refresh();
			case "access":
				return d.access.forgetCached();
			case "servers":
				return d.cluster.nudge();
			case "lost":
				return d.events.emit("signals.lost", {});
		}
	});
}
