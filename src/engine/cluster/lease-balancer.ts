/** Which leases a server takes and gives up, so that launched endpoints are spread evenly. */
import type { LocalMs } from "../../core/time.ts";

/**
 * What moving an endpoint's workers to another server would interrupt: nothing, workers that are
 * idle now, or running jobs.
 */
export type Movable = "free" | "idle" | "busy";

/** Endpoints with idle workers are given up one at a time, so far apart, ms: each restarts workers. */
const IDLE_APART_MS = 60_000;

interface Situation {
	/** This server. */
	server: string;
	leases: readonly { name: string; server: string }[];
	/** Servers that are alive, this one included. */
	servers: number;
	/** Prefix of the leases of endpoints. */
	scale: string;
	roles: readonly string[];
	now: LocalMs;
}

export interface LeaseChanges {
	take: { roles: string[]; endpoints: string[] };
	/** Maximum number of endpoints to take. */
	maxEndpoints: number;
	give: string[];
}

/** Remembers when it last gave up an endpoint with idle workers. */
export function leaseBalancer(d: {
	managedEndpoints: () => Iterable<string>;
	movable: (endpoint: string) => Movable;
}): (q: Situation) => LeaseChanges {
	let gaveIdleAt: LocalMs = -Infinity;
	return ({ server: own, leases, servers, scale, roles, now }) => {
		const held = new Set(leases.map(({ name }) => name));
		const names = new Set([...d.managedEndpoints()].map((id) => scale + id));
		const mine = leases.filter(({ name, server }) => server === own && name.startsWith(scale)).map(({ name }) => name);
		const give = mine.filter((name) => !names.has(name));
		const rest = mine.length - give.length;
		const share = Math.ceil(names.size / Math.max(1, servers));
		const cost = (name: string): Movable => d.movable(name.slice(scale.length));
		if (rest > share) {
			const candidates = mine.filter((name) => names.has(name));
			const free = candidates.filter((name) => cost(name) === "free").slice(0, rest - share);
			give.push(...free);
			const idle =
				free.length < rest - share && now - gaveIdleAt >= IDLE_APART_MS
					? candidates.find((name) => cost(name) === "idle")
					: undefined;
			if (idle !== undefined) {
				gaveIdleAt = now;
				give.push(idle);
			}
		}
		return {
			take: {
				roles: roles.filter((role) => !held.has(role)),
				endpoints: [...names].filter((name) => !held.has(name)),
			},
			maxEndpoints: Math.max(0, share - rest),
			give,
		};
	};
}
