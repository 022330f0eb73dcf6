/** A worker posts a chunk of a job's stream (D7). */
import { streamBound } from "../../../core/endpoints/endpoint.ts";
import { isJobId, warmupId } from "../../../core/jobs/job.ts";
import { megabytes } from "../../availability/storage/stored-bytes.ts";
import type { HeldJob, Worker } from "../../workers/worker-registry.ts";
import type { JobDeps } from "../job-deps.ts";
import { report, reportDropped } from "../dispatch/report.ts";

export interface ChunkPost {
	worker: Worker;
	id: string;
	pieces: readonly string[];
	number: number | undefined;
	/** The attempt that the post is about; undefined: the worker does not say. */
	attempt?: number | undefined;
	count: number;
	signal?: AbortSignal;
}

/** Call with whether the response to the post was written. */
export type Acknowledge = (written: boolean) => void;

/**
 * `number`: position of the first of `count` chunks in its attempt, from workers that number them. A post that is
 * repeated because its response was lost is stored once. A post that names an attempt that its worker does not have any
 * more is dropped.
 */
export async function addChunks(d: JobDeps, q: ChunkPost): Promise<Acknowledge> {
	const { worker, id } = q;
	if (id === warmupId(worker.id)) return () => {};
	const held = worker.held.get(id);
	if (held && isOf(held, q)) held.began = true;
	// Earlier posts of an external worker may have reached other servers. A chunk stored twice is better than a dropped
	// one.
	const number = !d.cluster.others() || worker.managed ? q.number : undefined;
	if (!held || number === undefined) return await addPost(d, { ...q, number, held });
	// The post may repeat one that is still in progress.
	const before = held.post;
	const post = addAfter(before, () => addPost(d, { ...q, number, held }));
	held.post = post;
	return await post;
}

async function addAfter<T>(before: Promise<unknown> | undefined, add: () => Promise<T>): Promise<T> {
	await before?.catch(() => {});
	return await add();
}

/** Whether a post is about the attempt that its worker has, as far as this server knows. */
function isOf({ attempt, named = attempt }: HeldJob, post: Pick<ChunkPost, "attempt">): boolean {
	return post.attempt === undefined || post.attempt === named;
}

async function addPost(d: JobDeps, q: ChunkPost & { held: HeldJob | undefined }): Promise<Acknowledge> {
	const { held, number, attempt } = q;
	const isHeld = held !== undefined && isOf(held, q);
	const isRepeat = number !== undefined && isHeld && held.nextPost !== undefined && number < held.nextPost;
	// Posts from before this server's start are unknown, so the text decides once.
	const unsure = isHeld
		? held.unsure === true || (number !== undefined && held.nextPost === undefined)
		: !d.cluster.shared;
	if (!isRepeat)
		try {
			const isRunning = await append(d, { ...q, unsure });
			if (held && !isHeld) {
				if (!isRunning) return () => {};
				Object.assign(held, { named: attempt, began: true, nextPost: undefined });
			}
		} catch (error) {
			// The chunk may have been stored; its number identifies the repeat.
			if (isHeld && number !== undefined) held.unsure = true;
			throw error;
		}
	if (!held) return () => {};
	if (number !== undefined) held.nextPost = Math.max(held.nextPost ?? 0, number + q.count);
	return (written) => {
		// The number of a chunk that is stored identifies its repeat.
		held.unsure = !written && number === undefined;
	};
}

/**
 * Returns whether the worker runs the attempt. `unsure`: the last response may not have arrived, so an equal text is a
 * repeat.
 */
async function append(d: JobDeps, q: Omit<ChunkPost, "number" | "count"> & { unsure: boolean }): Promise<boolean> {
	const { worker, id } = q;
	const { endpoint } = worker;
	if (!isJobId(id)) {
		reportDropped(d, q, "missing");
		return false;
	}
	const bound = streamBound(d.endpoints.get(endpoint));
	const release = d.endpoints.releaseOf(endpoint, worker.launchedAs);
	const added = await d.retry(
		(again) =>
			d.store.chunks.append({
				endpoint,
				id,
				worker: worker.id,
				release,
				attempt: q.attempt,
				chunks: q.pieces,
				unlessLast: q.unsure || again.unsure,
				bound,
				now: d.now(),
			}),
		{ bytes: q.pieces.reduce((sum, piece) => sum + piece.length, 0), signal: q.signal },
	);
	if (added.ok) {
		const { repeat, from, attempt } = added;
		d.waiters.notify(id, repeat ? undefined : { from, chunks: q.pieces, attempt });
	} else if (added.why === "full") await failOver(d, q, bound);
	else reportDropped(d, q, added.why);
	return added.ok;
}

/** Fails the job and stops its run, because dropped chunks would be a wrong result (D43). */
async function failOver(
	d: JobDeps,
	{ worker, id, signal }: { worker: Worker; id: string; signal?: AbortSignal },
	{ bytes = 0, chunks = 0 }: { bytes?: number; chunks?: number } = {},
): Promise<void> {
	const error =
		`The job's stream has more than ${megabytes(bytes)} MB or ${chunks} chunks, which is all that is kept. ` +
		"Stream fewer or larger chunks, put large data into storage, or raise limits.streamMb of the endpoint.";
	const ended = { kind: "end", on: "fail", error, restart: false } as const;
	await report(d, { worker, id, report: ended, signal });
	d.workers.stopSignals.request({ endpoint: worker.endpoint, id, worker: worker.id, failed: true });
}
