/** Finding a job when only its id is known: ids do not say their endpoint. */
import { Failure, ask, ofEndpoint, search } from "./api.ts";
import type { JobSummary, Page } from "./shapes.ts";

/** Calls at once. */
const AT_ONCE = 4;

/** The endpoint that has the job, expired or not. */
export async function findJob(id: string, endpoints: readonly string[]): Promise<string | undefined> {
	for (let from = 0; from < endpoints.length; from += AT_ONCE) {
		const some = endpoints.slice(from, from + AT_ONCE);
		const found = await Promise.all(some.map((endpoint) => has(endpoint, id)));
		const index = found.indexOf(true);
		if (index >= 0) return some[index];
	}
	return undefined;
}

async function has(endpoint: string, id: string): Promise<boolean> {
	try {
		return (
			(await ask<Page<"jobs", JobSummary>>(ofEndpoint(endpoint, `/jobs${search({ id, expired: "true" })}`))).jobs
				.length > 0
		);
	} catch (error) {
		if (error instanceof Failure) return false;
		throw error;
	}
}
