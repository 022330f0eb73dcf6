/** Lists of jobs, page by page (D12, D39). */
import { badQuery } from "../../core/errors.ts";
import type { JobResult } from "../../core/job-view.ts";
import type { JobFilter, JobStore } from "../../store/contract/jobs.ts";

/** What a list is asked for; see `JobStore.list`. */
export interface ListQuery {
	endpoint: string;
	filter: JobFilter;
	erased: boolean;
	cursor: string | undefined;
	limit: number;
}

/** One page; throws `bad_query` for a cursor that is none. */
export async function list(
	d: { jobs: JobStore; now: () => number },
	q: ListQuery,
): Promise<{ jobs: JobResult[]; next?: string | undefined }> {
	try {
		return await d.jobs.list({ ...q, now: d.now() });
	} catch (error) {
		throw cursorFault(error, q.cursor);
	}
}

/** The 400 for a store's word that a cursor is none; any other error as it is. */
export function cursorFault(error: unknown, cursor: string | undefined): unknown {
	return error instanceof RangeError && cursor !== undefined
		? badQuery("cursor", cursor, "`next` of the page before")
		: error;
}
