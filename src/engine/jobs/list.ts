/** Lists of jobs, page by page (D12, D39). */
import { invalidCursor } from "../invalid-cursor.ts";
import type { JobFilter, JobPage } from "../../store/contract/jobs.ts";
import type { JobDeps } from "./job-deps.ts";

/** See `JobStore.list`. */
export interface ListQuery {
	endpoint: string;
	filter: JobFilter;
	erased: boolean;
	search?: string | undefined;
	heads?: boolean;
	count?: boolean;
	cursor: string | undefined;
	limit: number;
}

/** One page; throws `bad_query` for an invalid cursor. */
export async function list(d: Pick<JobDeps, "store" | "now">, q: ListQuery): Promise<JobPage> {
	try {
		return await d.store.jobs.list({ ...q, now: d.now() });
	} catch (error) {
		throw invalidCursor(error, q.cursor);
	}
}
