/**
 * Which leases a server takes and gives up, so that launched endpoints are spread over the servers
 * that live.
 */

/**
 * What it would cost to let another server start an endpoint's workers: nothing, the start of
 * workers that are idle now, or work under way.
 */
export type Movable = "free" | "idle" | "busy";

/**
 * Endpoints whose workers are idle are given up one at a time, this far apart, ms: each costs the
 * start of other workers.
 */
const IDLE_APART_MS = 60_000;

interface Situation {
	me: string;
	leases: readonly { name: string; server: string }[];
	/** Servers that live, this one included. */
	servers: number;
	/** What the leases of endpoints begin with. */
	scale: string;
	roles: readonly string[];
	now: number;
}

/** What to take and to give up. */
export interface LeaseBalancer {
	take: { roles: string[]; endpoints: string[] };
	/** Endpoints to be taken at most. */
	atMost: number;
	give: string[];
}

/** Remembers when it last gave up an endpoint with idle workers. */
export function leaseBalancer(d: {
	launched: () => Iterable<string>;
	movable: (endpoint: string) => Movable;
}): (q: Situation) => LeaseBalancer {
	let gaveIdleAt = -Infinity;
	return ({ me, leases, servers, scale, roles, now }) => {
		const led = new Set(leases.map(({ name }) => name));
		const names = new Set([...d.launched()].map((id) => scale + id));
		const mine = leases
			.filter(({ name, server }) => server === me && name.startsWith(scale))
			.map(({ name }) => name);
		const give = mine.filter((name) => !names.has(name));
		const rest = mine.length - give.length;
		const share = Math.ceil(names.size / Math.max(1, servers));
		const costs = (name: string): Movable => d.movable(name.slice(scale.length));
		if (rest > share) {
			const kept = mine.filter((name) => names.has(name));
			const free = kept.filter((name) => costs(name) === "free").slice(0, rest - share);
			give.push(...free);
			const idle =
				free.length < rest - share && now - gaveIdleAt >= IDLE_APART_MS
					? kept.find((name) => costs(name) === "idle")
					: undefined;
			if (idle !== undefined) {
				gaveIdleAt = now;
				give.push(idle);
			}
		}
		return {
			take: {
				roles: roles.filter((role) => !led.has(role)),
				endpoints: [...names].filter((name) => !led.has(name)),
			},
			atMost: Math.max(0, share - rest),
			give,
		};
	};
}
