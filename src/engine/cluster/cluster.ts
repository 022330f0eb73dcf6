/**
 * This server among those that share its store: its signs of life, who else lives, and what it
 * leads (D16, D28, D34). Alone it leads everything.
 */
import type { Clock } from "../../clock.ts";
import type { EventBus } from "../../events.ts";
import { loop } from "../../service.ts";
import type { Loop } from "../../service.ts";
import type { ClusterStore, ServerRow } from "../../store/contract/cluster.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import { leaseBalancer } from "./lease-balancer.ts";
import type { Movable } from "./lease-balancer.ts";

/**
 * How long a server counts as alive after a sign of life, ms: with {@link BEAT_MS} it is noticed
 * dead, and what it led is taken over, well within 10 s.
 */
const ALIVE_MS = 7000;

/** Time between two signs of life, ms: three may be lost. */
const BEAT_MS = 2000;

/** Time between two tries while the store is away, and at least between any two, ms. */
const RETRY_MS = 1000;
const PAUSE_MS = 100;

/** What one server does for all. */
export const ROLES = ["sweep", "removal", "deliveries"] as const;
export type Role = (typeof ROLES)[number];

const SCALE = "scale:";

/** Another server that lives. */
export interface Peer {
	id: string;
	url: string;
	startedAt: number;
	aliveUntil: number;
	/** What it told of itself, JSON text. */
	note: string | undefined;
}

/** A server as it is told. */
export interface ServerView extends Pick<Peer, "id" | "url" | "startedAt"> {
	/** It is this one. */
	self: boolean;
	/** Roles, and `scale:` with the endpoints whose workers it starts. */
	leads: string[];
}

/** What is asked of the other servers. */
export interface Cluster {
	/** Whether other servers can open the store too. */
	readonly shared: boolean;
	/**
	 * Whether another server lives, as of the last sign of life: what a worker does here it may then
	 * do there, too.
	 */
	others(): boolean;
	/** This server's id; undefined where it is alone. */
	readonly id: string | undefined;
	/**
	 * The servers that live, this one included, as of the last sign of life; none where it is alone.
	 */
	servers(): readonly Peer[];
	/** Whether this server does what one does for all. */
	leads(role: Role): boolean;
	/** Whether it starts and ends the workers of this endpoint. */
	scales(endpoint: string): boolean;
	/**
	 * Whether it does so no more by its last sign of life: its workers of the endpoint are to go.
	 * While the store is away nothing changes.
	 */
	gaveUp(endpoint: string): boolean;
	/**
	 * The servers that live with what each leads, the longest running first, as of the last sign of
	 * life; none where it is alone.
	 */
	members(): ServerView[];
	/** Whether another server lives; asks the store. For the start, before {@link join}. */
	othersLive(): Promise<boolean>;
	/** From now on it counts as alive, at this address. */
	join(url: string): Promise<void>;
	/** It stops: what it leads is free at once, and it takes nothing more. */
	leave(): Promise<void>;
	/** Something changed: gives a sign of life now. */
	look(): void;
	/** Why it must take no requests, as the end of a sentence; undefined when it may. */
	fault(): string | undefined;
	loops: Loop[];
}

interface Deps {
	clock: Clock;
	now: () => number;
	events: EventBus;
	store: ClusterStore | undefined;
	/** Identity of this server, kept beside its data. */
	id: string;
	/** A word of its own for each start. */
	run: string;
	/** Whether `now` is to be relied on. */
	timely: () => boolean;
	/** What the others are told of this server, as JSON text. */
	note: () => string;
	/** Endpoints whose workers are launched. */
	launched: () => Iterable<string>;
	/** What it would cost to let another server start the workers of an endpoint. */
	movable: (endpoint: string) => Movable;
	/** Servers came or went, or it leads other things than before. */
	changed: () => void;
}

/** This server, over the store if that is shared. */
export function cluster(d: Deps): Cluster {
	return d.store ? member(d, d.store) : ALONE;
}

const ALONE: Cluster = {
	shared: false,
	id: undefined,
	loops: [],
	others: () => false,
	servers: () => [],
	members: () => [],
	leads: () => true,
	scales: () => true,
	gaveUp: () => false,
	fault: () => undefined,
	othersLive: async () => false,
	join: async () => {},
	leave: async () => {},
	look: () => {},
};

function member(d: Deps, store: ClusterStore): Cluster {
	let url = "";
	let startedAt = 0;
	let peers: Peer[] = [];
	let leases: readonly { name: string; server: string }[] = [];
	let mine = new Set<string>();
	/**
	 * On this machine's clock: when the last sign of life that reached the store was given, and since
	 * when they have followed each other.
	 */
	let beatAt = -Infinity;
	let presentSince = Infinity;
	let known = new Map<string, number>();
	let told: string | undefined;
	/** A later start under this id has taken its place. */
	let replaced = false;
	const spreading = leaseBalancer(d);

	const counts = (): boolean => !replaced && d.timely() && d.clock.now() - beatAt < ALIVE_MS;

	function peerOf(row: ServerRow, before: ReadonlyMap<string, Peer>): Peer {
		const { id, aliveUntil } = row;
		return {
			id,
			url: row.url,
			startedAt: row.startedAt,
			aliveUntil,
			note: row.note ?? (known.get(id) === row.noteNumber ? before.get(id)?.note : undefined),
		};
	}

	async function beat(first: boolean): Promise<void> {
		const at = d.clock.now();
		// Its own absence says nothing about the others: they may have been cut off just as it was.
		if (at - beatAt >= ALIVE_MS || at < beatAt) presentSince = at;
		const note = d.note();
		const answer = await store.beat({
			server: d.id,
			run: d.run,
			url,
			startedAt,
			first,
			bury: at - presentSince >= ALIVE_MS,
			aliveMs: ALIVE_MS,
			known,
			now: d.now(),
			...(note !== told && { note }),
		});
		replaced = answer === undefined;
		if (!answer) return;
		beatAt = at;
		told = note;
		const before = new Map(peers.map((peer) => [peer.id, peer]));
		peers = answer.servers.map((row) => peerOf(row, before));
		known = new Map(answer.servers.map(({ id, noteNumber }) => [id, noteNumber]));
		leases = answer.leases;
		await takeAndGive();
		const led = new Set(leases.filter(({ server }) => server === d.id).map(({ name }) => name));
		const changed =
			led.size !== mine.size ||
			[...led].some((name) => !mine.has(name)) ||
			peers.length !== before.size ||
			peers.some(({ id }) => !before.has(id));
		tellChanges(before, led);
		mine = led;
		if (changed) d.changed();
	}

	function tellChanges(before: ReadonlyMap<string, Peer>, led: ReadonlySet<string>): void {
		for (const { id, url: address } of peers)
			if (id !== d.id && !before.has(id))
				d.events.emit("server.joined", { server: id, url: address });
		for (const { id, url: address } of before.values())
			if (id !== d.id && !peers.some((peer) => peer.id === id))
				d.events.emit("server.left", { server: id, url: address });
		for (const name of led) if (!mine.has(name)) d.events.emit("lease.taken", { name });
		for (const name of mine) if (!led.has(name)) d.events.emit("lease.lost", { name });
	}

	/** Takes its part of what nobody leads, and gives up what is too much. */
	async function takeAndGive(): Promise<void> {
		const { take, atMost, give } = spreading({
			me: d.id,
			leases,
			servers: peers.length,
			scale: SCALE,
			roles: ROLES,
			now: d.clock.now(),
		});
		if (give.length > 0) {
			await store.yield({ names: give, server: d.id });
			leases = leases.filter(({ name }) => !give.includes(name));
		}
		for (const [names, limit] of [
			[take.roles, take.roles.length],
			[take.endpoints, atMost],
		] as const) {
			if (names.length === 0 || limit === 0) continue;
			const taken = await store.lead({ names, atMost: limit, server: d.id, run: d.run });
			leases = [...leases, ...taken.map((name) => ({ name, server: d.id }))];
		}
	}

	const beating = loop({
		clock: d.clock,
		retryMs: RETRY_MS,
		onError: (error) => {
			// Others tell that the store is away.
			if (!(error instanceof StoreUnavailable))
				d.events.emit("fault", { where: "giving a sign of life", error });
		},
		step: async () => {
			await beat(false);
			// The next one right when another server would be dead.
			const ends = peers
				.filter(({ id }) => id !== d.id)
				.map(({ aliveUntil }) => aliveUntil - d.now() + 1);
			return Math.max(PAUSE_MS, Math.min(BEAT_MS, ...ends));
		},
	});

	return {
		shared: true,
		id: d.id,
		loops: [beating],
		servers: () => peers,
		others: () => peers.some(({ id }) => id !== d.id),
		members: () =>
			peers.map(({ id, url: address, startedAt: since }) => ({
				id,
				url: address,
				startedAt: since,
				self: id === d.id,
				leads: leases.filter(({ server }) => server === id).map(({ name }) => name),
			})),
		leads: (role) => mine.has(role) && counts(),
		scales: (endpoint) => mine.has(SCALE + endpoint) && counts(),
		gaveUp: (endpoint) => !mine.has(SCALE + endpoint),
		othersLive: async () => (await store.servers({ now: d.now() })).some(({ id }) => id !== d.id),
		async join(address) {
			url = address;
			startedAt = d.now();
			await beat(true);
		},
		async leave() {
			await beating.stop();
			beatAt = -Infinity;
			// Should this fail, its time as a living one runs out.
			await store.leave({ server: d.id, run: d.run }).catch(() => {});
		},
		look: () => beating.nudge(),
		fault: () =>
			replaced
				? "was replaced by another one with the same data directory: give each server its own"
				: undefined,
	};
}
