/** The jobs before and after one: of the list from which it was opened, or by their submission. */
import { ask, ofEndpoint, search } from "../../client/api.ts";
import { useLoad } from "../../client/load.ts";
import { to } from "../../client/router.ts";
import type { JobDetail, JobList } from "../../client/shapes.ts";

/** The last list that was shown, in its order. */
let list: { endpoint: string; address: string; ids: readonly string[] } | undefined;

export function keepOrder(endpoint: string, address: string, ids: readonly string[]): void {
	list = { endpoint, address, ids };
}

/** The list as it was last shown. */
export function listAddress(endpoint: string): string {
	return list?.endpoint === endpoint ? list.address : to(["endpoints", endpoint, "requests"]);
}

/** Ids of its neighbours, and the address of the list. */
export function useNeighbours(
	endpoint: string,
	{ id, submittedAt }: JobDetail,
): { newer: string | undefined; older: string | undefined; back: string } {
	const of = list?.endpoint === endpoint && list.ids.includes(id) ? list : undefined;
	const end = new Date(new Date(submittedAt).getTime() + 1).toISOString();
	// Jobs of the same millisecond come first.
	const path = ofEndpoint(endpoint, `/jobs${search({ to: end, limit: 20, expired: "true" })}`);
	const { data } = useLoad(`${path} ${of !== undefined}`, async (signal) =>
		of ? [] : (await ask<JobList>(path, { signal })).jobs.map((job) => job.id),
	);
	const ids = of?.ids ?? data ?? [];
	const at = ids.indexOf(id);
	return {
		newer: ids[at - 1],
		older: at < 0 ? undefined : ids[at + 1],
		back: of?.address ?? to(["endpoints", endpoint, "requests"]),
	};
}
