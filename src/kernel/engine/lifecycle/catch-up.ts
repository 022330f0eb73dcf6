/**
 * Reads what lost hints would have announced: a commit in doubt loses them, and where servers share a store, a lost
 * connection or server.
 */
import { loop, type Service } from "../../system/loop.ts";
import { unlessUnavailable } from "../context.ts";
import type { Domains } from "./domains.ts";

/** What a lost hint may cost. */
const CATCH_UP_MS = 4000;

const WHERE = "reading what lost hints would announce";

export function catchUp(d: Domains): readonly Service[] {
	const store = d.store.cluster;
	if (!store) {
		// A store that one server has alone loses hints only with commits in doubt.
		d.events.on("hints.lost", () => d.background.run(WHERE, d.jobs.catchUp()));
		return [];
	}
	let last: Awaited<ReturnType<typeof store.versions>> | undefined;
	const reads = loop({
		clock: d.clock,
		retryMs: CATCH_UP_MS,
		onError: unlessUnavailable(d, WHERE),
		step: async () => {
			const before = last;
			last = await store.versions();
			if (before?.endpoints !== last.endpoints) d.endpoints.refresh();
			if (before?.access !== last.access) d.access.forgetCached();
			await d.jobs.catchUp(store);
			return CATCH_UP_MS;
		},
	});
	d.events.on(["hints.lost", "store.back"], reads.nudge);
	return [reads];
}
