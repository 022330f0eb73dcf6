/**
 * Servers that share a store, as of the last heartbeat (D16, D28, D34). One whose store is not shared leads everything.
 */
import type { ServerRow } from "../../store/contract/cluster.ts";
import { ALIVE_MS, type Beating, Heartbeat, type Joining, type Role, SCALE } from "./heartbeat.ts";

export type Cluster = ReturnType<typeof createCluster>;

export function createCluster({ clockFault, ...d }: Beating & { clockFault: () => string | undefined }) {
	const store = d.store.cluster;
	const beats = store && new Heartbeat(d, store);
	const peers = () => beats?.peers ?? [];
	const hasLease = (name: string): boolean => !beats || beats.led.has(name);
	const leads = (name: string): boolean =>
		!beats ||
		(hasLease(name) && !beats.replaced && clockFault() === undefined && d.clock.now() - beats.beatAt < ALIVE_MS);

	return {
		/** Whether other servers can open the store too. */
		shared: beats !== undefined,
		id: beats && d.id,
		/** Whether another server is alive, which workers of this one may call too. */
		others: (): boolean => peers().some(({ id }) => id !== d.id),
		servers: peers,
		/** `leads`: roles, and `scale:` with an endpoint. The longest running first. */
		members: () =>
			peers().map(({ id, url, startedAt }) => ({
				id,
				url,
				startedAt,
				self: id === d.id,
				leads: beats?.leases.filter(({ server }) => server === id).map(({ name }) => name) ?? [],
			})),
		leads: (role: Role): boolean => leads(role),
		/** Whether this server starts and stops the workers of this endpoint. */
		scales: (endpoint: string): boolean => leads(SCALE + endpoint),
		/** Whether this server's workers of the endpoint must stop. Unchanged while the store is unavailable. */
		scalesElsewhere: (endpoint: string): boolean => !hasLease(SCALE + endpoint),
		/** Reads the store, for the start before `join`. */
		othersAlive: async (): Promise<ServerRow[]> =>
			store ? (await store.servers({ now: d.now() })).filter(({ id }) => id !== d.id) : [],
		/** Returns why this server must take no requests, as the end of a sentence. */
		fault: (): string | undefined =>
			beats?.replaced
				? "was replaced by another one with the same data directory: give each server its own"
				: undefined,
		join: async (q: Joining): Promise<void> => await beats?.join(q),
		/** Frees its leases at once; it takes no more. */
		leave: async (): Promise<void> => await beats?.leave(),
		nudge: (): void => beats?.loop.nudge(),
		services: beats ? [beats.loop] : [],
	};
}
