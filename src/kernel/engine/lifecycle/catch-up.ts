/**
 * Reads the store for changes whose signals were lost. Signals are lost with a commit whose outcome is unknown and, on
 * a shared store, with a lost connection or server.
 */
import { loop, type Service } from "../../system/loop.ts";
import { unlessUnavailable } from "../context.ts";
import type { Domains } from "./domains.ts";

/** The longest time by which a lost signal delays its effect, besides the read itself, while the store answers. */
const CATCH_UP_MS = 4000;

const WHERE = "reading what lost signals would have announced";

export function catchUp(d: Domains): readonly Service[] {
	const store = d.store.cluster;
	if (!store) {
		// A store that one server has alone loses signals only with commits whose outcome is unknown.
		d.events.on("signals.lost", () => d.background.run(WHERE, d.jobs.catchUp()));
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
			else d.access.forgetYoung();
			await d.jobs.catchUp(store);
			return CATCH_UP_MS;
		},
	});
	d.events.on(["signals.lost", "store.back"], reads.nudge);
	return [reads];
}
