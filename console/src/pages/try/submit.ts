/** Sending one job to one or more endpoints. */
import { ask } from "../../client/api.ts";

export interface SentJob {
	endpoint: string;
	job: string;
}

/** `text`: the body of `/run`. Throws if any of them refuses it. */
export async function submitTo(endpoints: readonly string[], text: string): Promise<SentJob[]> {
	return await Promise.all(
		endpoints.map(async (endpoint) => {
			const path = `v2/${encodeURIComponent(endpoint)}/run`;
			const { id } = await ask<{ id: string }>(path, { method: "POST", text });
			return { endpoint, job: id };
		}),
	);
}
