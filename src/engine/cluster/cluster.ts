/**
 * The servers that share a store: which are alive, and which leads what (D16, D28, D34). A server
 * whose store is not shared leads everything.
 */
import type { ServerRow } from "../../store/contract/cluster.ts";
import {
	ALIVE_MS,
	type ClusterDeps,
	type ClusterState,
	type Membership,
	type Peer,
	type Role,
	SCALE,
	type ServerSources,
} from "./cluster-state.ts";
import { heartbeat } from "./heartbeat.ts";

export interface ServerView extends Pick<Peer, "id" | "url" | "startedAt"> {
	/** It is this one. */
	self: boolean;
	/** Its leases: roles, and `scale:` with an endpoint. */
	leads: string[];
}

/** Everything is as of the last heartbeat. */
export interface Cluster {
	/** Whether other servers can open the store too. */
	readonly shared: boolean;
	/** This server's id; undefined where the store is not shared. */
	readonly id: string | undefined;
	/** Whether another server is alive: workers of this server may call that one too. */
	others(): boolean;
	/** The servers that are alive, this one included; none where the store is not shared. */
	servers(): readonly Peer[];
	/** The same with what each leads, the longest running first. */
	members(): ServerView[];
	/** Whether this server does what one does for all. */
	leads(role: Role): boolean;
	/** Whether this server starts and stops the workers of this endpoint. */
	scales(endpoint: string): boolean;
	/**
	 * Whether another server does, or may, so that this one's workers of the endpoint must stop. While
	 * the store is unavailable nothing changes.
	 */
	scalesElsewhere(endpoint: string): boolean;
	/** Returns the other servers that are alive; reads the store. For the start, before `join`. */
	othersAlive(): Promise<ServerRow[]>;
	/** Why this server must take no requests, as the end of a sentence; undefined when it may. */
	fault(): string | undefined;
	connect(sources: ServerSources): Membership;
}

const ALONE: Cluster = {
	shared: false,
	id: undefined,
	others: () => false,
	servers: () => [],
	members: () => [],
	leads: () => true,
	scales: () => true,
	scalesElsewhere: () => false,
	othersAlive: async () => [],
	fault: () => undefined,
	connect: () => ({ join: async () => {}, leave: async () => {}, nudge: () => {}, services: [] }),
};

export function createCluster(d: ClusterDeps): Cluster {
	const store = d.store.cluster;
	if (!store) return ALONE;
	const state: ClusterState = {
		peers: [],
		leases: [],
		led: new Set(),
		beatAt: -Infinity,
		replaced: false,
	};
	const holdsLeases = (): boolean =>
		!state.replaced && d.clockFault() === undefined && d.clock.now() - state.beatAt < ALIVE_MS;

	return {
		shared: true,
		id: d.id,
		others: () => state.peers.some(({ id }) => id !== d.id),
		servers: () => state.peers,
		members: () =>
			state.peers.map(({ id, url, startedAt }) => ({
				id,
				url,
				startedAt,
				self: id === d.id,
				leads: state.leases.filter(({ server }) => server === id).map(({ name }) => name),
			})),
		leads: (role) => state.led.has(role) && holdsLeases(),
		scales: (endpoint) => state.led.has(SCALE + endpoint) && holdsLeases(),
		scalesElsewhere: (endpoint) => !state.led.has(SCALE + endpoint),
		othersAlive: async () => (await store.servers({ now: d.now() })).filter(({ id }) => id !== d.id),
		fault: () =>
			state.replaced ? "was replaced by another one with the same data directory: give each server its own" : undefined,
		connect: (sources) => heartbeat({ ...d, ...sources, store, state }),
	};
}
