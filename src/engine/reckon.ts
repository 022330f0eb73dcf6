/**
 * What follows from word about a worker's attempts: jobs taken back are offered anew, old attempts
 * known to be over free their jobs (D16).
 */
import type { EventBus } from "../events.ts";
import type { Reckoning } from "../store/store.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Stopping } from "./stop.ts";
import type { Waiting } from "./wait.ts";
import type { Held, Worker } from "./workers.ts";
import { letGoOf } from "./workers.ts";

export interface ReckonDeps {
	now: () => number;
	events: EventBus;
	dispatch: Dispatch;
	waiting: Waiting;
	stopping: Stopping;
	/**
	 * Whether other servers live: they may have handed the worker what it runs, and its words may go
	 * to them.
	 */
	others: () => boolean;
}

/** Asks for a {@link Reckoning} of this worker, and acts on it. */
export async function reckon(
	d: ReckonDeps,
	worker: Worker,
	ask: () => Promise<Reckoning>,
): Promise<void> {
	const before: ReadonlyMap<string, Held> = new Map(worker.held);
	const { lost, over } = await ask();
	const { endpoint } = worker;
	for (const id of [...lost, ...over]) {
		letGoOf(worker, id, { before: before.get(id), now: d.now() });
		d.stopping.over(worker, id);
	}
	// A job whose old attempt is over may go to this very worker now.
	if (lost.length + over.length > 0) d.dispatch.announce(endpoint, lost.length + over.length);
}
