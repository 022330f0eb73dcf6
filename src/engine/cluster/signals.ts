/**
 * What follows from the store's signals: moves made in passing, and those of other servers. Hints
 * only; every listener also looks by itself.
 */
import type { EventBus } from "../../events.ts";
import type { JobStore } from "../../store/contract/jobs.ts";
import type { Store } from "../../store/contract/store.ts";
import type { Dispatch } from "../jobs/dispatch.ts";
import { notifyPurged } from "../jobs/purge.ts";
import type { StopSignals } from "../workers/stop-signals.ts";
import type { CompletionWaiters } from "../jobs/wait.ts";

interface Deps {
	store: Pick<Store, "jobs" | "onSignal">;
	now: () => number;
	events: EventBus;
	waiting: CompletionWaiters;
	dispatch: Dispatch;
	stopping: StopSignals;
	/** A webhook is due. */
	deliver: () => void;
	/** A job waits there: a worker may be needed. */
	onQueued: (endpoint: string) => void;
	/** Endpoints were changed by another server. */
	onEndpoints: () => void;
	/** So were keys or worker tokens. */
	onAccess: () => void;
	/** Servers came or went. */
	onServers: () => void;
	/** Hints may have been missed. */
	onLost: () => void;
	inBackground: (where: string, work: Promise<unknown>) => void;
}

/**
 * A job may have ended without a report through this server: whoever waits here gets its result.
 */
export async function notifyCompletion(
	d: { jobs: JobStore; now: () => number; waiting: CompletionWaiters },
	{ endpoint, id }: { endpoint: string; id: string },
): Promise<void> {
	const found = await d.jobs.get({ endpoint, id, now: d.now() });
	if (!found) d.waiting.gone(id);
	else if (found.job.endedAt !== undefined) d.waiting.ended(found);
}

/** Listens to the store; the answer ends that. */
export function listen(d: Deps): () => void {
	const { events, waiting } = d;

	return d.store.onSignal((signal, elsewhere) => {
		switch (signal.kind) {
			case "delivery":
				return d.deliver();
			case "purged":
				return d.inBackground(
					"telling waiters of a purge",
					notifyPurged({ jobs: d.store.jobs, now: d.now, waiting }, signal.endpoint),
				);
			case "stop":
				return d.stopping.request(signal);
			case "queued":
				if (signal.worker !== undefined)
					events.emit("job.returned", {
						endpoint: signal.endpoint,
						id: signal.id,
						worker: signal.worker,
						why: "lost",
					});
				waiting.news(signal.id);
				d.dispatch.announce(signal.endpoint);
				return d.onQueued(signal.endpoint);
			case "settled":
				events.emit("job.settled", {
					endpoint: signal.endpoint,
					id: signal.id,
					state: signal.state,
					...(elsewhere && { elsewhere }),
				});
				waiting.news(signal.id);
				if (waiting.awaited(signal.id))
					d.inBackground(
						"telling waiters",
						notifyCompletion({ jobs: d.store.jobs, now: d.now, waiting }, signal),
					);
				return;
			case "chunks":
				return waiting.news(signal.id);
			case "endpoints":
				return d.onEndpoints();
			case "keys":
				return d.onAccess();
			case "servers":
				return d.onServers();
			case "lost":
				return d.onLost();
		}
	});
}
