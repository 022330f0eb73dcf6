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
	count: number;
	signal?: AbortSignal;
}

/** Call with whether the response to the post was written. */
export type Acknowledge = (written: boolean) => void;

/**
 * `number`: position of the first of `count` chunks in its attempt, from workers that number them. A post that is
 * repeated because its response was lost is stored once.
 */
export async function addChunks(d: JobDeps, q: ChunkPost): Promise<Acknowledge> {
	const { worker, id } = q;
	if (id === warmupId(worker.id)) return () => {};
	const held = worker.held.get(id);
	if (held) held.began = true;
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

async function addPost(d: JobDeps, q: ChunkPost & { held: HeldJob | undefined }): Promise<Acknowledge> {
	const { held, number } = q;
	const isRepeat = number !== undefined && held?.nextPost !== undefined && number < held.nextPost;
	// Posts from before this server's start are unknown, so the text decides once.
	const unsure =
		held === undefined
			? !d.cluster.shared
			: held.unsure === true || (number !== undefined && held.nextPost === undefined);
	if (!isRepeat)
		try {
			await append(d, { ...q, unsure });
		} catch (error) {
			// The chunk may have been stored; its number identifies the repeat.
			if (held && number !== undefined) held.unsure = true;
			throw error;
		}
	if (!held) return () => {};
	if (number !== undefined) held.nextPost = number + q.count;
	return (written) => {
		held.unsure = !written;
	};
}

/** `unsure`: the last response may not have arrived, so an equal text is a repeat. */
async function append(
	d: JobDeps,
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
	if (!isJobId(id)) return reportDropped(d, q, "missing");
	const bound = streamBound(d.endpoints.get(endpoint));
	const release = d.endpoints.releaseOf(endpoint, worker.launchedAs);
	const added = await d.retry(
		(attempt) =>
			d.store.chunks.append({
				endpoint,
				id,
				worker: worker.id,
				release,
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
	else reportDropped(d, q, added.why);
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
