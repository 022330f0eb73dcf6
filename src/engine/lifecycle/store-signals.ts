/** Routes the store's signals to the domains: what happened in passing, or at other servers. */
import type { Domains } from "./domains.ts";

/** Returns what ends the listening. */
export function listenToStore(d: Domains): () => void {
	return d.store.onSignal((signal, elsewhere) => {
		switch (signal.kind) {
			case "delivery":
				return d.webhooks.nudge();
			case "purged":
				return d.jobs.onPurged(signal.endpoint);
			case "stop":
				return d.workers.stopSignals.request(signal);
			case "queued":
				d.jobs.onQueued({ ...signal, lostBy: signal.worker });
				return d.scaling.queued(signal.endpoint);
			case "settled":
				return d.jobs.onSettled({ ...signal, ...(elsewhere && { elsewhere }) });
			case "chunks":
				return d.jobs.onChunks(signal.id);
			case "endpoints":
				return d.endpoints.refresh();
			case "access":
				return d.access.forgetCached();
			case "servers":
				return d.membership.nudge();
			case "lost":
				return d.events.emit("hints.lost", {});
		}
	});
}
