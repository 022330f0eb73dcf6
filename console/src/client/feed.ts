/** The live feed: one connection for the page, closed while the page is hidden. */
import { useSyncExternalStore } from "react";
import { ask } from "./api.ts";
import { after } from "./clock.ts";
import { openEvents } from "./event-stream.ts";
import type { Endpoint, Overview } from "./shapes.ts";
import { whileVisible } from "./visible.ts";

export interface Feed {
	/** Undefined until the first event. */
	endpoints: readonly Overview[] | undefined;
	/** Ms since the epoch of the last event, by the service's clock. */
	at: number | undefined;
	/** The connection is open; when not, what is shown is old. */
	live: boolean;
}

/** Ms until a connection that the service refused is tried again. */
const RETRY_MS = 10_000;

let feed: Feed = { endpoints: undefined, at: undefined, live: false };
const listeners = new Set<() => void>();

function publish(change: Partial<Feed>): void {
	feed = { ...feed, ...change };
	for (const notify of listeners) notify();
}

/** Takes an endpoint out at once when it was deleted here. */
export function forget(id: string): void {
	publish({ endpoints: feed.endpoints?.filter((endpoint) => endpoint.id !== id) });
}

/** Every event contains all endpoints. */
function onOverview(data: string): void {
	const update = JSON.parse(data) as { at: string | number; endpoints: Overview[] };
	publish({ endpoints: inOrder(update.endpoints), at: new Date(update.at).getTime(), live: true });
}

/**
 * What is known without a feed, such as behind a proxy that lets no events through. It also finds
 * out whether the session is over.
 */
async function look(): Promise<void> {
	try {
		const { endpoints } = await ask<{ endpoints: Endpoint[] }>("v1/endpoints");
		publish({
			endpoints: inOrder(
				endpoints.map(({ id, name, paused, jobs, workers, reason }) => ({
					id,
					name,
					paused,
					health: reason
						? { state: reason.code === "crashed" ? "crashing" : "hindered", reason }
						: { state: paused ? "paused" : "healthy" },
					queue: jobs,
					workers,
					perMinute: {},
					spark: [],
				})),
			),
		});
	} catch {
		// Nothing new is known.
	}
}

function inOrder(endpoints: readonly Overview[]): readonly Overview[] {
	return endpoints.toSorted((a, b) => a.name.localeCompare(b.name, "en"));
}

function open(): () => void {
	let close: () => void;
	let stopWaiting: (() => void) | undefined;
	const connect = (): void => {
		close = openEvents("v1/feed", {
			onEvent({ name, data }) {
				if (name === "overview") onOverview(data);
			},
			onError(why) {
				publish({ live: false });
				if (why === "lost") return;
				void look();
				stopWaiting = after(RETRY_MS, connect);
			},
		});
	};
	connect();
	return () => {
		stopWaiting?.();
		close();
		publish({ live: false });
	};
}

let stop: (() => void) | undefined;

function subscribe(notify: () => void): () => void {
	listeners.add(notify);
	stop ??= whileVisible(open);
	return () => {
		listeners.delete(notify);
		if (listeners.size > 0) return;
		stop?.();
		stop = undefined;
	};
}

/** The current state of the feed. */
export function useFeed(): Feed {
	return useSyncExternalStore(subscribe, () => feed);
}

/** One endpoint; undefined until it is known. */
export function useOverview(id: string): Overview | undefined {
	return useFeed().endpoints?.find((endpoint) => endpoint.id === id);
}
