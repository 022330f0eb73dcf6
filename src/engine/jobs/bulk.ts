/**
 * One deed on many jobs (D39): those of a filter are cancelled or retried, a portion in each call,
 * so that no call takes long and nothing else waits for it.
 */
import { ApiError } from "../../core/errors.ts";
import type { Job } from "../../core/job.ts";
import { ruleOf } from "../../core/job-states.ts";
import type { JobState } from "../../core/job-states.ts";
import type { JobFilter } from "../../store/contract/jobs.ts";
import type { list } from "./list.ts";

/** Jobs in one portion; jobs counted by a dry run. */
const PORTION = 1000;
const MOST_COUNTED = 10_000;

/** Jobs looked at in one step, and steps in a call: a filter that fits few jobs ends early. */
const PAGE = 1000;
const MOST_PAGES = 20;

/** What is asked. */
export interface BulkQuery {
	endpoint: string;
	on: "cancel" | "retry";
	/** Jobs in other states than those that the deed can change are passed over. */
	filter: JobFilter;
	/** `next` of the call before. */
	cursor?: string | undefined;
	/** Only count. */
	dryRun: boolean;
}

/** What came of it. */
export interface BulkAnswer {
	/** Jobs that fit, of those that were looked at. */
	matched: number;
	/** Those that were changed; others ended or changed by themselves meanwhile. */
	done: number;
	/** There may be more that fit. */
	more: boolean;
	/** Where to go on. */
	next?: string | undefined;
}

interface Deps {
	list: (q: Parameters<typeof list>[1]) => ReturnType<typeof list>;
	/** Tells whether the job was changed. Throws `queue_full` where the deed can meet it. */
	act: (on: BulkQuery["on"], job: Job) => Promise<boolean>;
}

/**
 * Does a portion, or counts. Throws `queue_full` when the queue took none of those to be retried,
 * and `bad_query` for a cursor that is none.
 */
export async function bulk(
	d: Deps,
	{ endpoint, on, filter, cursor, dryRun }: BulkQuery,
): Promise<BulkAnswer> {
	const can: readonly JobState[] = ruleOf(on).from;
	const states = filter.states ? can.filter((state) => filter.states?.includes(state)) : can;
	if (states.length === 0) return { matched: 0, done: 0, more: false };
	const most = dryRun ? MOST_COUNTED : PORTION;
	const found: Job[] = [];
	let next = cursor;
	for (let pages = 0; pages < MOST_PAGES && found.length < most; pages += 1) {
		const page = await d.list({
			endpoint,
			filter: { ...filter, states },
			erased: false,
			cursor: next,
			limit: Math.min(PAGE, most - found.length),
		});
		found.push(...page.jobs.map(({ job }) => job));
		next = page.next;
		if (next === undefined) break;
	}
	const matched = found.length;
	const rest = { more: next !== undefined, next };
	if (dryRun) return { matched, done: 0, ...rest };
	let full: ApiError | undefined;
	// The longest waiting first: jobs that are queued again keep their order.
	const changed = await Promise.all(
		found.toReversed().map((job) =>
			d.act(on, job).catch((error: unknown) => {
				if (!(error instanceof ApiError)) throw error;
				if (error.code === "queue_full") full = error;
				return false;
			}),
		),
	);
	const done = changed.filter(Boolean).length;
	if (full && done === 0) throw full;
	// What the full queue did not take is still to be done.
	return full ? { matched, done, more: true, next: cursor } : { matched, done, ...rest };
}
