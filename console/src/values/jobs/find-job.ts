/** Finding a job when only its id, or the end of it, is known: ids do not say their endpoint. */
import { Failure, ask, ofEndpoint, search } from "../../client/api.ts";
import { jobIdOf } from "./job-id.ts";
import type { JobList } from "../../client/shapes.ts";

/** Calls at once. */
const AT_ONCE = 4;
/** Answers of an endpoint that are read for the end of an id: about 50,000 jobs, the newest. */
const MOST_ANSWERS = 10;

export interface FoundJob {
	endpoint: string;
	id: string;
}

/** The jobs whose id ends so, expired or not, of the first endpoints that have some. */
export async function findJobs(end: string, endpoints: readonly string[]): Promise<readonly FoundJob[]> {
	for (let from = 0; from < endpoints.length; from += AT_ONCE) {
		const some = endpoints.slice(from, from + AT_ONCE);
		const found = (await Promise.all(some.map((endpoint) => jobsOf(endpoint, end)))).flat();
		if (found.length > 0) return found;
	}
	return [];
}

async function jobsOf(endpoint: string, end: string): Promise<readonly FoundJob[]> {
	const query = jobIdOf(end) === undefined ? { search: end } : { id: end };
	const found: FoundJob[] = [];
	let cursor: string | undefined;
	try {
		for (let answers = 0; answers < MOST_ANSWERS; answers += 1) {
			const path = ofEndpoint(endpoint, `/jobs${search({ ...query, cursor, expired: "true" })}`);
			const { jobs, next } = await ask<JobList>(path);
			found.push(...jobs.filter(({ id }) => id.endsWith(end)).map(({ id }) => ({ endpoint, id })));
			if (next === null) break;
			cursor = next;
		}
	} catch (error) {
		if (!(error instanceof Failure)) throw error;
	}
	return found;
}
