import type { EpochMs, LocalMs } from "../../lib/time.ts";
import { loop, type Loop } from "../../system/loop.ts";
import type { ClusterStore, ServerRow } from "../../store/contract/cluster.ts";
import { type EngineContext, unlessUnavailable } from "../context.ts";
import { type LeaseBalancer, leaseBalancer, type Sources } from "./lease-balancer.ts";

/** How long a server counts as alive after a heartbeat: its leases are free well within 10 s. */
export const ALIVE_MS = 7000;

/** Three heartbeats may be lost. */
const BEAT_MS = 2000;

/** Time between two attempts while the store is unavailable, and at least between any two. */
const RETRY_MS = 1000;
const PAUSE_MS = 100;

/** Work that one server does for all. */
export const ROLES = ["sweep", "removal", "deliveries"] as const;
export type Role = (typeof ROLES)[number];

/** Prefix of the lease to start and stop the workers of an endpoint. */
export const SCALE = "scale:";

/** `note`: what it reports about itself, JSON text. */
type Peer = Omit<ServerRow, "noteNumber" | "note"> & { note: string | undefined };

export interface Beating extends EngineContext {
	/** Kept with the data of this server. */
	id: string;
	/** Random at each start. */
	run: string;
}

export interface Joining extends Sources {
	url: string;
	note: () => string;
}

export class Heartbeat {
	readonly loop: Loop;
	peers: readonly Peer[] = [];
	leases: readonly { name: string; server: string }[] = [];
	led: ReadonlySet<string> = new Set();
	beatAt: LocalMs = -Infinity;
	/** A later start with this id has replaced this one. */
	replaced = false;
	readonly #d: Beating;
	readonly #store: ClusterStore;
	#joined: Joining | undefined;
	#rebalance: LeaseBalancer | undefined;
	#startedAt: EpochMs = 0;
	#regularSince: LocalMs = Infinity;
	#noteNumbers = new Map<string, number>();
	#sentNote: string | undefined;

	constructor(d: Beating, store: ClusterStore) {
		this.#d = d;
		this.#store = store;
		this.loop = loop({
			clock: d.clock,
			retryMs: RETRY_MS,
			onError: unlessUnavailable(d, "sending a heartbeat"),
			step: async () => {
				await this.#beat(false);
				// The next heartbeat is due directly after another server would stop counting as alive.
				const ends = this.peers.filter(({ id }) => id !== d.id).map(({ aliveUntil }) => aliveUntil - d.now() + 1);
				return Math.max(PAUSE_MS, Math.min(BEAT_MS, ...ends));
			},
		});
		d.events.on(["endpoints.changed", "store.back", "signals.lost"], this.loop.nudge);
	}

	async join(q: Joining): Promise<void> {
		this.#joined = q;
		this.#rebalance = leaseBalancer(q);
		this.#startedAt = this.#d.now();
		await this.#beat(true);
	}

	async leave(): Promise<void> {
		await this.loop.stop();
		this.beatAt = -Infinity;
		// If this fails, its time as a living server runs out.
		await this.#store.leave({ server: this.#d.id, run: this.#d.run }).catch(() => {});
	}

	async #beat(first: boolean): Promise<void> {
		const { id: server, run, clock, now } = this.#d;
		const at = clock.now();
		// After a gap of its own, this server cannot know whether the others were cut off like it.
		if (at - this.beatAt >= ALIVE_MS || at < this.beatAt) this.#regularSince = at;
		const { url = "", note } = this.#joined ?? {};
		const text = note?.();
		const answer = await this.#store.beat({
			server,
			run,
			url,
			startedAt: this.#startedAt,
			first,
			bury: at - this.#regularSince >= ALIVE_MS,
			aliveMs: ALIVE_MS,
			known: this.#noteNumbers,
			now: now(),
			...(text !== undefined && text !== this.#sentNote && { note: text }),
		});
		this.replaced = answer === undefined;
		if (!answer) return;
		this.beatAt = at;
		this.#sentNote = text;
		const before = new Map(this.peers.map((peer) => [peer.id, peer]));
		this.peers = answer.servers.map(({ noteNumber, ...row }) => {
			const known = this.#noteNumbers.get(row.id) === noteNumber ? before.get(row.id)?.note : undefined;
			return { ...row, note: row.note ?? known };
		});
		this.#noteNumbers = new Map(answer.servers.map(({ id, noteNumber }) => [id, noteNumber]));
		this.leases = answer.leases;
		await this.#balanceLeases();
		const { led } = this;
		this.led = new Set(this.leases.filter((lease) => lease.server === server).map(({ name }) => name));
		this.#announce(before, led);
	}

	#announce(before: ReadonlyMap<string, Peer>, led: ReadonlySet<string>): void {
		const { events, id: own } = this.#d;
		const now = new Set(this.peers.map(({ id }) => id));
		for (const { id, url } of this.peers)
			if (id !== own && !before.has(id)) events.emit("server.joined", { server: id, url });
		for (const { id, url, aliveUntil } of before.values())
			if (id !== own && !now.has(id)) {
				// One that leaves removes itself before.
				const silent = aliveUntil <= this.#d.now();
				events.emit("server.left", { server: id, url, silent });
			}
		for (const name of this.led) if (!led.has(name)) events.emit("lease.taken", { name });
		for (const name of led) if (!this.led.has(name)) events.emit("lease.lost", { name });
	}

	async #balanceLeases(): Promise<void> {
		const { id: server, run, clock } = this.#d;
		const changes = this.#rebalance?.({
			server,
			leases: this.leases,
			servers: this.peers.length,
			scale: SCALE,
			roles: ROLES,
			now: clock.now(),
		});
		if (!changes) return;
		const { take, maxEndpoints, give } = changes;
		if (give.length > 0) {
			await this.#store.yield({ names: give, server });
			this.leases = this.leases.filter(({ name }) => !give.includes(name));
		}
		for (const [names, atMost] of [
			[take.roles, take.roles.length],
			[take.endpoints, maxEndpoints],
		] as const) {
			if (names.length === 0 || atMost === 0) continue;
			const taken = await this.#store.lead({ names, atMost, server, run });
			this.leases = [...this.leases, ...taken.map((name) => ({ name, server }))];
		}
	}
}
