import { SEARCHED_CHARACTERS } from "../../core/jobs/job-search.ts";
import type { JobResult } from "../../core/jobs/job-view.ts";
import type { Query } from "./operation.ts";

/** Rows in one read. */
export const STRIDE = 200;

/** Characters of errors that end a page, since each error may be as long as a result. */
export const MOST_CHARACTERS = 16 * 1024 * 1024;

export function fits({ job }: JobResult, { filter, erased }: Query<"jobs.list">): boolean {
	const { states, worker, from, to } = filter;
	if (job.erased && !erased) return false;
	if (states && !states.includes(job.state)) return false;
	if (worker !== undefined && job.worker !== worker) return false;
	return (from === undefined || job.submittedAt >= from) && (to === undefined || job.submittedAt < to);
}

/** `searchable` of `core/jobs/job-search.ts` in SQL. `collation`: one that knows ASCII only. */
export function searchableSql(column: string, collation = ""): string {
	return `replace(lower(substr(${column}, 1, ${SEARCHED_CHARACTERS})${collation}), '": ', '":')`;
}
