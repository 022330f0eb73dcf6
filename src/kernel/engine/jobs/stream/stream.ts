/** `/stream`: chunks not yet delivered, or from a given number (D7). */
import { ApiError } from "../../../core/errors.ts";
import { isFinal, type JobState } from "../../../core/jobs/job-states.ts";
import { hex } from "../../../lib/ids.ts";
import { isJobId } from "../../../core/jobs/job.ts";
import type { ChunkRead } from "../../../store/contract/jobs.ts";
import { StoreUnavailable } from "../../../store/contract/store.ts";
import type { JobDeps, JobName } from "../job-deps.ts";
import type { Follower } from "./live-chunks.ts";
import type { Caller } from "../wait.ts";

const PAUSE_MS = 500;

/** Runs a read and limits the characters that it may return (D41). */
export type BoundedRead = <Read extends ChunkRead | undefined>(
	read: (maxBytes: number) => Promise<Read>,
) => Promise<Read>;

type Deps = Pick<JobDeps, "store" | "clock" | "now" | "waiters">;

export interface StreamQuery extends JobName {
	waitMs: number;
	caller: Caller;
	bounded: BoundedRead;
}

/** Part of a stream. It has a final `state` only when no chunk remains (D7 Size). */
export interface StreamPart {
	chunks: readonly string[];
	next: number;
	state: JobState;
	attempt?: number;
	/** Call once the response was written or has failed. Absent when nothing was reserved. */
	delivered?: (written: boolean) => Promise<void>;
}

type Found = ChunkRead & Pick<StreamPart, "delivered">;

/** Reads the chunks that were not delivered yet; the job's cursor moves once they are written. */
export async function streamNext(d: JobDeps, q: StreamQuery): Promise<StreamPart> {
	const { endpoint, id } = q;
	const reader = hex(d.random(8));

	async function end(delivered: boolean): Promise<void> {
		await whenAvailable(d, () => d.store.chunks.deliver({ endpoint, id, reader, delivered }));
		d.waiters.notify(id);
	}

	return await whenFound(d, q, async () => {
		try {
			const read = await q.bounded((maxBytes) =>
				d.store.chunks.reserve({ endpoint, id, reader, maxBytes, now: d.now() }),
			);
			if (read === undefined || read.chunks.length === 0) return read;
			return { ...read, delivered: end };
		} catch (error) {
			// The reservation may be stored, and this reader has no chunks of it.
			if (error instanceof StoreUnavailable && error.unsure) d.background.run(`the stream of job ${id}`, end(false));
			throw error;
		}
	});
}

/** Repeats the call until the end of an outage of the store: before that, no other reader gets chunks (D7 Delivery). */
async function whenAvailable({ clock, background: { stopped } }: JobDeps, end: () => Promise<void>): Promise<void> {
	for (;;)
		try {
			return await end();
		} catch (error) {
			if (!(error instanceof StoreUnavailable) || error.why === "closed" || stopped.aborted) throw error;
			await clock.sleep(PAUSE_MS, stopped);
		}
}

/**
 * Reads from a given chunk and does not move the job's cursor. Chunks that `follower` has are not read from the store.
 */
export async function streamFrom(d: Deps, q: StreamQuery & { from: number; follower?: Follower }): Promise<StreamPart> {
	const { endpoint, id, from, follower } = q;
	return await whenFound(
		d,
		q,
		() => q.bounded((maxBytes) => d.store.chunks.read({ endpoint, id, from, maxBytes, now: d.now() })),
		follower && { follower, from },
	);
}

async function whenFound(
	d: Deps,
	{ endpoint, id, waitMs, caller }: StreamQuery,
	read: () => Promise<Found | undefined>,
	live?: { follower: Follower; from: number },
): Promise<StreamPart> {
	const until = d.clock.now() + waitMs;
	for (let over = false; ; ) {
		const part = live?.follower.take(live.from);
		if (part) {
			const { from, chunks, attempt } = part;
			return { chunks, next: from + chunks.length, state: "IN_PROGRESS", attempt };
		}
		// The wait begins before the read, so that no news is missed.
		const news = d.waiters.forNews({ endpoint, id, ms: until - d.clock.now(), caller });
		try {
			let found: Found | undefined;
			if (!live || live.follower.mustRead(live.from) || over) {
				found = isJobId(id) ? await read() : undefined;
				if (found === undefined) throw new ApiError("job_not_found", { endpoint, job: id });
				live?.follower.readTo(found.more || isFinal(found.state) ? undefined : found.next);
				if (found.chunks.length > 0 || (isFinal(found.state) && !found.busy)) return partOf(found);
			}
			over = !(await news.result);
			if (over && found) return partOf(found);
		} finally {
			news.leave();
		}
	}
}

function partOf({ chunks, next, state, more, delivered }: Found): StreamPart {
	return {
		chunks,
		next,
		state: more && isFinal(state) ? "IN_PROGRESS" : state,
		...(delivered ? { delivered } : {}),
	};
}
