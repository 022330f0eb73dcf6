/** Ids of jobs by their end, as lists on a terminal show them (D36). */
import type { Endpoint } from "../../../kernel/api/endpoints.ts";
import type { JobList } from "../../../kernel/api/job-records.ts";
import { CliError } from "../../client/errors.ts";
import { path, type ServiceClient } from "../../client/service-client.ts";

/** Characters of the end of an id that commands take. */
export const SHORTEST_ID = 6;
const WHOLE = 36;
/** Bounds a search to some 200,000 jobs of an endpoint, the newest ones. */
const MAX_PAGES = 40;

interface FoundJob {
	endpoint: string;
	id: string;
}

/** Throws {@link CliError} for the end of no id, or of several. */
export async function wholeId(service: ServiceClient, endpoint: string, given: string): Promise<string> {
	return given.length >= WHOLE ? given : (await findJob(service, given, [endpoint])).id;
}

/** Searches all endpoints if none are given. Throws {@link CliError}. */
export async function findJob(service: ServiceClient, end: string, endpoints?: string[]): Promise<FoundJob> {
	if (end.length < SHORTEST_ID || !/^[\w-]+$/.test(end))
		throw new CliError(
			`'${end}' is not the id of a job: pass the whole id, or its last ${SHORTEST_ID} or more characters.`,
		);
	const found: FoundJob[] = [];
	for (const endpoint of endpoints ?? (await allEndpoints(service)))
		for await (const id of idsWith(service, endpoint, end)) if (id.endsWith(end)) found.push({ endpoint, id });
	if (found.length === 1) return found[0]!;
	if (found.length === 0)
		throw new CliError(`No recent job has an id that ends with '${end}'. For an older job pass the whole id.`, 1);
	const ids = found.slice(0, 3).map(({ id }) => id);
	throw new CliError(
		`More than one job has an id that ends with '${end}': ${ids.join(", ")}. Pass more characters.`,
		1,
	);
}

async function allEndpoints({ request }: ServiceClient): Promise<string[]> {
	const { endpoints } = (await request("GET", "/v1/endpoints")).json as { endpoints: Endpoint[] };
	return endpoints.map(({ id }) => id);
}

async function* idsWith({ request }: ServiceClient, endpoint: string, search: string): AsyncGenerator<string> {
	for (let page = 0, cursor: string | null = ""; page < MAX_PAGES && cursor !== null; page += 1) {
		const query = new URLSearchParams({ search, expired: "true", limit: "100", ...(cursor && { cursor }) });
		const { jobs, next } = (await request("GET", path`/v1/endpoints/${endpoint}/jobs?${query}`)).json as JobList;
		yield* jobs.map(({ id }) => id);
		cursor = next;
	}
}
