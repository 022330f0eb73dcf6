/** Values by endpoint and one more label, since the start of this server. */
import { type Histogram, newHistogram, observe } from "../../lib/histogram.ts";
import type { EventBus } from "../../events.ts";

/** `zero`: the value of a series before its first change. */
function labelled<T>(events: EventBus, zero: () => T, changed: (before: T, by: number) => T) {
	const byEndpoint = new Map<string, Map<string, T>>();
	events.on(["endpoint.removed", "endpoint.deleted"], ({ endpoint }) => void byEndpoint.delete(endpoint));
	const named = (endpoint: string, label: string): string[] => (label === "" ? [endpoint] : [endpoint, label]);
	return {
		add(by: number, endpoint: string, label = ""): void {
			const own = byEndpoint.get(endpoint) ?? new Map<string, T>();
			byEndpoint.set(endpoint, own.set(label, changed(own.get(label) ?? zero(), by)));
		},
		/** Returns a series for each of these, since rates need one from before the first change, and for each value. */
		samples(endpoints: readonly string[] = [], labels: readonly string[] = [""]): (readonly [string[], T])[] {
			const all = new Set([...endpoints, ...byEndpoint.keys()]);
			return [...all].flatMap((endpoint) => {
				const own = byEndpoint.get(endpoint);
				const names = new Set([...(endpoints.length > 0 ? labels : []), ...(own?.keys() ?? [])]);
				return [...names].map((label) => [named(endpoint, label), own?.get(label) ?? zero()] as const);
			});
		},
	};
}

export function counts(events: EventBus) {
	return labelled<number>(
		events,
		() => 0,
		(before, by) => before + by,
	);
}

/** `add` takes ms. */
export function durations(events: EventBus) {
	return labelled<Histogram>(events, newHistogram, (histogram, ms) => {
		observe(histogram, ms);
		return histogram;
	});
}
