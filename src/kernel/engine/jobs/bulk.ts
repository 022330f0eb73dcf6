/** Lists jobs by pages (D12, D39), and cancels or retries them in portions, so that no call takes long. */
import { ApiError, invalidCursor } from "../../core/errors.ts";
import type { Job } from "../../core/jobs/job.ts";
import { type JobState, ruleOf } from "../../core/jobs/job-states.ts";
import type { JobFilter, JobPage } from "../../store/contract/jobs.ts";
import { cancel } from "./cancel.ts";
import type { JobDeps } from "./job-deps.ts";
import { retry } from "./retry.ts";

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

/** Throws `bad_query` for an invalid cursor. */
export async function list(d: JobDeps, q: ListQuery): Promise<JobPage> {
	try {
		return await d.store.jobs.list({ ...q, now: d.now() });
	} catch (error) {
		throw invalidCursor(error, q.cursor);
	}
}

const PORTION = 1000;
const MAX_COUNTED = 10_000;

/** Jobs in one read, and reads in a call: a filter that fits few jobs ends early. */
const PAGE = 1000;
const MAX_PAGES = 20;

export interface BulkQuery {
	endpoint: string;
	on: "cancel" | "retry";
	/** Jobs in states that the operation cannot change are skipped. */
	filter: JobFilter;
	search?: string | undefined;
	cursor?: string | undefined;
	dryRun: boolean;
}

export interface BulkAnswer {
	matched: number;
	/** Others have changed on their own meanwhile. */
	done: number;
	more: boolean;
	next?: string | undefined;
}

/** Whether the job was changed. Throws `queue_full` for a retry. */
async function change(d: JobDeps, on: BulkQuery["on"], { endpoint, id }: Job): Promise<boolean> {
	if (on === "cancel") return (await cancel(d, { endpoint, id })) === "CANCELLED";
	await retry(d, { endpoint, id });
	return true;
}

/**
 * Throws `queue_full` when the queue took none of the jobs to be retried, and `bad_query` for an
 * invalid cursor.
 */
export async function bulk(
	d: JobDeps,
	{ endpoint, on, filter, search, cursor, dryRun }: BulkQuery,
): Promise<BulkAnswer> {
	const changeable: readonly JobState[] = ruleOf(on).from;
	const states = filter.states ? changeable.filter((state) => filter.states?.includes(state)) : changeable;
	if (states.length === 0) return { matched: 0, done: 0, more: false };
	const limit = dryRun ? MAX_COUNTED : PORTION;
	const found: Job[] = [];
	let next = cursor;
	for (let pages = 0; pages < MAX_PAGES && found.length < limit; pages += 1) {
		const page = await list(d, {
			endpoint,
			filter: { ...filter, states },
			search,
			erased: false,
			cursor: next,
			limit: Math.min(PAGE, limit - found.length),
		});
		found.push(...page.jobs.map(({ job }) => job));
		next = page.next;
		if (next === undefined) break;
	}
	const matched = found.length;
	const rest = { more: next !== undefined, next };
	if (dryRun) return { matched, done: 0, ...rest };
	let full: ApiError | undefined;
	// The jobs that waited longest come first, so that jobs that are queued again keep their order.
	const changed = await Promise.all(
		found.toReversed().map((job) =>
			change(d, on, job).catch((error: unknown) => {
				if (!(error instanceof ApiError)) throw error;
				if (error.code === "queue_full") full = error;
				return false;
			}),
		),
	);
	const done = changed.filter(Boolean).length;
	if (full && done === 0) throw full;
	// The next call retries the jobs that the full queue did not take.
	return full ? { matched, done, more: true, next: cursor } : { matched, done, ...rest };
}
