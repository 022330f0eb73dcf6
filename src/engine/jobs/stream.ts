/** `/stream`: chunks not yet delivered, or from a given one, waiting for them if need be (D7). */
import type { Clock } from "../../clock.ts";
import { ApiError } from "../../core/errors.ts";
import { isFinal } from "../../core/job-states.ts";
import type { JobState } from "../../core/job-states.ts";
import type { ChunkRead, ChunkStore } from "../../store/contract/chunks.ts";
import { isJobId } from "../../ids.ts";
import type { Caller, CompletionWaiters } from "./wait.ts";

/** One answer holds at most this much chunk text (D7 Size), characters. */
const ANSWER_CHARACTERS = 16 * 1024 * 1024;

interface Deps {
	chunks: ChunkStore;
	clock: Clock;
	now: () => number;
	waiting: CompletionWaiters;
}

interface Query {
	endpoint: string;
	id: string;
	/** How long to wait for a chunk or the end, ms. */
	waitMs: number;
	caller: Caller;
}

/**
 * Chunks for one answer, and the state to tell: a final one only when nothing remains (D7 Size).
 */
export interface StreamPart {
	chunks: string[];
	next: number;
	state: JobState;
	/**
	 * Must be called once the answer is out, or known to be lost. Absent when nothing was reserved.
	 */
	delivered?: (written: boolean) => Promise<void>;
}

/**
 * The chunks nobody has got yet; moves the job's cursor once they are written. `reader` names this
 * request.
 */
export async function streamNext(d: Deps, q: Query & { reader: string }): Promise<StreamPart> {
	return await whenThere(d, q, async () => {
		const { endpoint, id, reader } = q;
		const read = await d.chunks.reserve({
			endpoint,
			id,
			reader,
			maxBytes: ANSWER_CHARACTERS,
			now: d.now(),
		});
		if (read === undefined || read.chunks.length === 0) return read;
		const delivered = async (written: boolean): Promise<void> => {
			await d.chunks.deliver({ endpoint, id, reader, delivered: written });
			d.waiting.news(id);
		};
		return { ...read, delivered };
	});
}

/** The chunks from number `from`; moves nothing. */
export async function streamFrom(d: Deps, q: Query & { from: number }): Promise<StreamPart> {
	return await whenThere(d, q, () =>
		d.chunks.read({
			endpoint: q.endpoint,
			id: q.id,
			from: q.from,
			maxBytes: ANSWER_CHARACTERS,
			now: d.now(),
		}),
	);
}

type Look = (ChunkRead & Pick<StreamPart, "delivered">) | undefined;

async function whenThere(d: Deps, q: Query, look: () => Promise<Look>): Promise<StreamPart> {
	const until = d.clock.now() + q.waitMs;
	for (;;) {
		// Waiting begins before the look, so that no news is missed.
		const news = d.waiting.forNews({
			endpoint: q.endpoint,
			id: q.id,
			ms: until - d.clock.now(),
			caller: q.caller,
		});
		try {
			const found = isJobId(q.id) ? await look() : undefined;
			if (found === undefined)
				throw new ApiError("job_not_found", { endpoint: q.endpoint, job: q.id });
			if (found.chunks.length > 0 || (isFinal(found.state) && !found.busy)) return part(found);
			if (!(await news.result)) return part(found);
		} finally {
			news.leave();
		}
	}
}

function part({
	chunks,
	next,
	state,
	more,
	delivered,
}: ChunkRead & Pick<StreamPart, "delivered">): StreamPart {
	return {
		chunks,
		next,
		state: more && isFinal(state) ? "IN_PROGRESS" : state,
		...(delivered ? { delivered } : {}),
	};
}
