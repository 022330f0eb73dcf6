/** The input of an endpoint's newest job: an example of what its handler takes. */
import { Failure, ask, askText, ofEndpoint, search } from "./api.ts";
import { pretty, readExact } from "./exact.ts";
import type { JobSummary, Page } from "./shapes.ts";

/** Characters of an input that is still good to edit. */
const LONGEST = 20_000;

/** Undefined without jobs, where the input has expired, and where it is too long for an example. */
export async function lastInput(endpoint: string, signal: AbortSignal): Promise<unknown> {
	try {
		const list = ofEndpoint(endpoint, `/jobs${search({ limit: 1 })}`);
		const [last] = (await ask<Page<"jobs", JobSummary>>(list, { signal })).jobs;
		if (last === undefined) return undefined;
		const path = ofEndpoint(endpoint, `/jobs/${encodeURIComponent(last.id)}`);
		const { input } = readExact(await askText(path, { signal })) as { input?: unknown };
		return pretty(input).length <= LONGEST ? input : undefined;
	} catch (error) {
		if (error instanceof Failure) return undefined;
		throw error;
	}
}
