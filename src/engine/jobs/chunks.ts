/** A worker posts a chunk of a job's stream (D7). */
import { streamBound } from "../../core/endpoint.ts";
import { isJobId } from "../../ids.ts";
import { megabytes } from "../availability/stored-bytes.ts";
import type { HeldJob, Worker } from "../workers/worker-registry.ts";
import type { JobDeps } from "./job-deps.ts";
import { report } from "./report.ts";

type Deps = Parameters<typeof report>[0] & Pick<JobDeps, "endpoints">;

interface Post {
	worker: Worker;
	id: string;
	pieces: readonly string[];
	number: number | undefined;
	count: number;
	signal?: AbortSignal;
}

/** To be called with whether the response to the post was written. */
export type Acknowledge = (written: boolean) => void;

/**
 * Persists the pieces of a post. `number`: position of its first chunk among those of its attempt,
 * from workers that number them; `count`: how many it has. A post that is repeated because its
 * response was lost is stored once.
 */
export async function addChunks(d: Deps & Pick<JobDeps, "cluster">, q: Post): Promise<Acknowledge> {
	const { worker, id } = q;
	const held = worker.held.get(id);
	// Other posts of an external worker may have reached other servers: a chunk that is stored twice
	// is better than one that is dropped.
	const number = !d.cluster.others() || worker.managed ? q.number : undefined;
	if (!held || number === undefined) return await addPost(d, { ...q, number, held });
	// It may be the repeat of one that is still in progress.
	const before = held.post;
	const post = addAfter(before, () => addPost(d, { ...q, number, held }));
	held.post = post;
	return await post;
}

async function addAfter<T>(before: Promise<unknown> | undefined, add: () => Promise<T>): Promise<T> {
	await before?.catch(() => {});
	return await add();
}

async function addPost(
	d: Deps & Pick<JobDeps, "cluster">,
	q: Post & { held: HeldJob | undefined },
): Promise<Acknowledge> {
	const { held, number } = q;
	const isRepeat = number !== undefined && held?.nextPost !== undefined && number < held.nextPost;
	// Posts from before this server's start are not known here: then the text decides once.
	const unsure =
		held === undefined
			? !d.cluster.shared
			: held.unsure === true || (number !== undefined && held.nextPost === undefined);
	if (!isRepeat)
		try {
			await append(d, { ...q, unsure });
		} catch (error) {
			// It may be stored, and is repeated under its number.
			if (held && number !== undefined) held.unsure = true;
			throw error;
		}
	if (!held) return () => {};
	if (number !== undefined) held.nextPost = number + q.count;
	return (written) => {
		held.unsure = !written;
	};
}

/** `unsure`: the response to the last post may not have arrived, so an equal text is a repeat. */
async function append(
	d: Deps,
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
	const bound = streamBound(d.endpoints.get(endpoint));
	const added = await d.retry(
		(attempt) =>
			d.store.chunks.append({
				endpoint,
				id,
				worker: worker.id,
				chunks: q.pieces,
				unlessLast: q.unsure || attempt.unsure,
				bound,
				now: d.now(),
			}),
		{ bytes: q.pieces.reduce((sum, piece) => sum + piece.length, 0), signal: q.signal },
	);
	if (added.ok) {
		const { repeat, from, attempt } = added;
		d.waiters.notify(id, repeat ? undefined : { from, chunks: q.pieces, attempt });
	} else if (added.why === "full") await failOver(d, q, bound);
	else drop(added.why);
}

/** Fails the job and stops its run: chunks that were dropped would be a wrong result (D43). */
async function failOver(
	d: Deps,
	{ worker, id, signal }: { worker: Worker; id: string; signal?: AbortSignal },
	{ bytes = 0, chunks = 0 }: { bytes?: number; chunks?: number } = {},
): Promise<void> {
	const error =
		`The job's stream has more than ${megabytes(bytes)} MB or ${chunks} chunks, which is all that is kept. ` +
		"Stream fewer or larger chunks, put large data into storage, or raise limits.streamMb of the endpoint.";
	const ended = { kind: "end", on: "fail", error, restart: false } as const;
	await report(d, { worker, id, report: ended, ...(signal && { signal }) });
	d.workers.stopSignals.request({ endpoint: worker.endpoint, id, worker: worker.id, failed: true });
}
