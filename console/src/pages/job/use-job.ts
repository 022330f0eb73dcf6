/**
 * A job as a page follows it: looked at again when the counts of its endpoint move, until it has
 * ended.
 */
import { askText, ofEndpoint } from "../../client/api.ts";
import { readExact } from "../../text/exact.ts";
import { useOverview } from "../../client/feed.ts";
import { type Loaded, useLoad } from "../../client/load.ts";
import type { JobDetail } from "../../client/shapes.ts";

/**
 * Ms between two looks; a job with much input or output is not fetched every moment on a busy
 * endpoint.
 */
const QUICK_MS = 1000;
const SLOW_MS = 15_000;
const MUCH = 200_000;

interface Found {
	job: JobDetail;
	/** Characters of the answer. */
	size: number;
}

/** No further automatic updates. */
export function isOver({ status }: JobDetail): boolean {
	return status !== "IN_QUEUE" && status !== "IN_PROGRESS";
}

export function useJob(endpoint: string, id: string): Omit<Loaded<JobDetail>, "show"> {
	const overview = useOverview(endpoint);
	const path = ofEndpoint(endpoint, `/jobs/${encodeURIComponent(id)}`);
	const load = async (signal: AbortSignal): Promise<Found> => {
		const text = await askText(path, { signal });
		return { job: readExact(text) as JobDetail, size: text.length };
	};
	const { data, failure, loading, reload } = useLoad(path, load, {
		change: JSON.stringify([overview?.queue, overview?.workers, overview?.health]),
		pace: (last) => (last && last.size > MUCH ? SLOW_MS : QUICK_MS),
		until: (last) => isOver(last.job),
	});
	return { data: data?.job, failure, loading, reload };
}
