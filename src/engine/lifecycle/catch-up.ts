/**
 * Reads what hints should have announced: they may be lost with a commit in doubt, and where several
 * servers share a store with a connection, or with the server that would send them.
 */
import { loop, type Service } from "../../service.ts";
import type { ClusterStore } from "../../store/contract/cluster.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import type { Domains } from "./domains.ts";

/** Time between two reads, ms: what a lost hint may cost. */
const CATCH_UP_MS = 4000;

/** Services only where the store is shared. */
export function catchUp(
	d: Pick<Domains, "background" | "clock" | "events" | "store" | "jobs" | "endpoints" | "access">,
): readonly Service[] {
	const store = d.store.cluster;
	if (!store) {
		// Only then: hints of a store that one server has alone are lost with commits in doubt.
		d.events.on("hints.lost", () => d.background.run("reading what lost hints would announce", d.jobs.catchUp()));
		return [];
	}
	let last: Awaited<ReturnType<ClusterStore["versions"]>> | undefined;

	async function checkVersions({ versions }: ClusterStore): Promise<void> {
		const before = last;
		last = await versions();
		if (before?.endpoints !== last.endpoints) d.endpoints.refresh();
		if (before?.access !== last.access) d.access.forgetCached();
	}

	const reads = loop({
		clock: d.clock,
		retryMs: CATCH_UP_MS,
		onError: (error) => {
			// `store.away` reports an unavailable store.
			if (!(error instanceof StoreUnavailable))
				d.events.emit("fault", { where: "reading what lost hints would announce", error });
		},
		step: async () => {
			await checkVersions(store);
			await d.jobs.catchUp(store);
			return CATCH_UP_MS;
		},
	});
	d.events.on("hints.lost", reads.nudge);
	d.events.on("store.back", reads.nudge);
	return [reads];
}
