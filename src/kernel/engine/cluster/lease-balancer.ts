import type { LocalMs } from "../../lib/time.ts";

/** What a move of an endpoint's workers interrupts: nothing, idle workers, or running jobs. */
export type Movable = "free" | "idle" | "busy";

/** Time between two moves of endpoints with idle workers, because each restarts workers. */
const IDLE_APART_MS = 60_000;

interface Situation {
	server: string;
	leases: readonly { name: string; server: string }[];
	servers: number;
	scale: string;
	roles: readonly string[];
	now: LocalMs;
}

export interface Sources {
	managedEndpoints: () => Iterable<string>;
	movable: (endpoint: string) => Movable;
}

export type LeaseBalancer = ReturnType<typeof leaseBalancer>;

export function leaseBalancer(d: Sources) {
	let gaveIdleAt: LocalMs = -Infinity;
	return ({ server: own, leases, servers, scale, roles, now }: Situation) => {
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
