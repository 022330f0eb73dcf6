/** A worker posts a chunk of a job's stream (D7). */
import { isJobId } from "../../ids.ts";
import type { Worker } from "../workers/worker-registry.ts";
import type { JobDeps } from "./job-deps.ts";

/** To be called with whether the response to the post was written. */
export type Acknowledge = (written: boolean) => void;

/**
 * Persists the pieces of a chunk. `number`: position of the post among those of its attempt, from
 * workers that number them. A post that is repeated because its response was lost is stored once.
 */
export async function addChunks(
	d: Pick<JobDeps, "store" | "now" | "events" | "retry" | "waiters" | "cluster">,
	q: {
		worker: Worker;
		id: string;
		pieces: readonly string[];
		number: number | undefined;
		signal?: AbortSignal;
	},
): Promise<Acknowledge> {
	const { worker, id } = q;
	const held = worker.held.get(id);
	// Other posts of an external worker may have reached other servers: a chunk that is stored twice
	// is better than one that is dropped.
	const number = !d.cluster.others() || worker.managed ? q.number : undefined;
	const isRepeat = number !== undefined && held?.nextPost !== undefined && number < held.nextPost;
	// Posts from before this server's start are not known here: then the text decides once.
	const unsure =
		held === undefined
			? !d.cluster.shared
			: held.unsure === true || (number !== undefined && held.nextPost === undefined);
	if (!isRepeat) await append(d, { ...q, unsure });
	if (!held) return () => {};
	if (number !== undefined) held.nextPost = number + 1;
	return (written) => {
		held.unsure = !written;
	};
}

/** `unsure`: the response to the last post may not have arrived, so an equal text is a repeat. */
async function append(
	d: Pick<JobDeps, "store" | "now" | "events" | "retry" | "waiters">,
	q: {
		worker: Worker;
		id: string;
		pieces: readonly string[];
		unsure: boolean;
		signal?: AbortSignal;
	},
): Promise<void> {
	const { worker, id } = q;
	const { endpoint } = worker;
	const drop = (why: "missing" | "state" | "stale"): void =>
		d.events.emit("report.dropped", { endpoint, id, worker: worker.id, why });
	if (!isJobId(id)) return drop("missing");
	const added = await d.retry(
		(attempt) =>
			d.store.chunks.append({
				endpoint,
				id,
				worker: worker.id,
				chunks: q.pieces,
				unlessLast: q.unsure || attempt.unsure,
				now: d.now(),
			}),
		{ bytes: q.pieces.reduce((sum, piece) => sum + piece.length, 0), signal: q.signal },
	);
	if (added.ok) d.waiters.notify(id);
	else drop(added.why);
}
