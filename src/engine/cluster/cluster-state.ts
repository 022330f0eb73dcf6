/** What the parts of the cluster domain share. */
import type { EpochMs, LocalMs } from "../../core/time.ts";
import type { Service } from "../../service.ts";
import type { ServerRow } from "../../store/contract/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Movable } from "./lease-balancer.ts";

/** How long a server counts as alive after a heartbeat, ms: its leases are free well within 10 s. */
export const ALIVE_MS = 7000;

/** Work that one server does for all. */
export const ROLES = ["sweep", "removal", "deliveries"] as const;
export type Role = (typeof ROLES)[number];

/** Prefix of the lease to start and stop the workers of an endpoint. */
export const SCALE = "scale:";

/** A server that is alive. */
export interface Peer extends Pick<ServerRow, "id" | "url"> {
	startedAt: EpochMs;
	aliveUntil: EpochMs;
	/** What it reports about itself, JSON text. */
	note: string | undefined;
}

/** What a server reports about itself when it joins the others. */
export interface ServerSources {
	/** State of this server for the others, JSON text. */
	note: () => string;
	/** Endpoints whose workers are launched. */
	managedEndpoints: () => Iterable<string>;
	/** What moving the workers of an endpoint to another server would interrupt. */
	movable: (endpoint: string) => Movable;
}

/** This server's part in the cluster. */
export interface Membership {
	/** Makes this server count as alive, at this address. */
	join(url: string): Promise<void>;
	/** Its leases are free at once, and it takes no more. */
	leave(): Promise<void>;
	/** Sends a heartbeat now. */
	nudge(): void;
	services: readonly Service[];
}

/** What the last heartbeat found. */
export interface ClusterState {
	peers: readonly Peer[];
	leases: readonly { name: string; server: string }[];
	/** Names of this server's leases. */
	led: ReadonlySet<string>;
	/** When the last heartbeat that reached the store was sent. */
	beatAt: LocalMs;
	/** A later start with this id has replaced this one. */
	replaced: boolean;
}

export interface ClusterDeps extends Pick<EngineContext, "clock" | "now" | "events" | "store"> {
	/** Identity of this server, kept with its data. */
	id: string;
	/** Random, of each start its own. */
	run: string;
	/** Why `now` is unreliable. */
	clockFault: () => string | undefined;
}
