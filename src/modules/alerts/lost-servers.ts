/** Servers that stopped sending heartbeats without a stop, for `SluiceServerDown` (D53). */
import { DAY_MS } from "../../kernel/core/durations.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";

/** Time after which a missing server counts as removed, ms. */
const FORGET_MS = DAY_MS;

export function lostServers({ events, now }: Pick<EngineContext, "events" | "now">) {
	const lost = new Map<string, { url: string; at: number }>();
	events.on("server.left", ({ server, url, silent }) => {
		if (silent) lost.set(server, { url, at: now() });
	});
	events.on("server.joined", ({ server }) => lost.delete(server));
	return {
		/** Returns the addresses of lost servers. `alive`: addresses of live servers. */
		addresses(alive: readonly string[]): string[] {
			const all = [...lost.values()].filter(({ url, at }) => !alive.includes(url) && now() - at < FORGET_MS);
			return [...new Set(all.map(({ url }) => url))];
		},
	};
}
