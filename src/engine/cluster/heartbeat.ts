/** Heartbeats of this server: it stays alive, learns who else is, and balances the leases. */
import type { EpochMs, LocalMs } from "../../core/time.ts";
import { loop } from "../../service.ts";
import type { ClusterStore, ServerRow } from "../../store/contract/cluster.ts";
import { StoreUnavailable } from "../../store/contract/store.ts";
import {
	ALIVE_MS,
	type ClusterDeps,
	type ClusterState,
	type Membership,
	type Peer,
	ROLES,
	SCALE,
	type ServerSources,
} from "./cluster-state.ts";
import { leaseBalancer } from "./lease-balancer.ts";

/** Time between two heartbeats, ms: three may be lost. */
const BEAT_MS = 2000;

/** Time between two attempts while the store is unavailable, and at least between any two, ms. */
const RETRY_MS = 1000;
const PAUSE_MS = 100;

interface Deps extends Omit<ClusterDeps, "store">, ServerSources {
	store: ClusterStore;
	state: ClusterState;
}

export function heartbeat(d: Deps): Membership {
	const { store, state } = d;
	const rebalance = leaseBalancer(d);
	let url = "";
	let startedAt: EpochMs = 0;
	/** Since when heartbeats have followed each other without a gap. */
	let regularSince: LocalMs = Infinity;
	/** Numbers of the notes of other servers. */
	let noteNumbers = new Map<string, number>();
	let sentNote: string | undefined;

	function peerOf({ id, noteNumber, ...row }: ServerRow, before: Peer | undefined): Peer {
		const unchanged = noteNumbers.get(id) === noteNumber;
		return {
			id,
			url: row.url,
			startedAt: row.startedAt,
			aliveUntil: row.aliveUntil,
			note: row.note ?? (unchanged ? before?.note : undefined),
		};
	}

	async function beat(first: boolean): Promise<void> {
		const at = d.clock.now();
		// After a gap of its own, this server cannot know whether the others were cut off like it.
		if (at - state.beatAt >= ALIVE_MS || at < state.beatAt) regularSince = at;
		const note = d.note();
		const answer = await store.beat({
			server: d.id,
			run: d.run,
			url,
			startedAt,
			first,
			bury: at - regularSince >= ALIVE_MS,
			aliveMs: ALIVE_MS,
			known: noteNumbers,
			now: d.now(),
			...(note !== sentNote && { note }),
		});
		state.replaced = answer === undefined;
		if (!answer) return;
		state.beatAt = at;
		sentNote = note;
		const before = new Map(state.peers.map((peer) => [peer.id, peer]));
		state.peers = answer.servers.map((row) => peerOf(row, before.get(row.id)));
		noteNumbers = new Map(answer.servers.map(({ id, noteNumber }) => [id, noteNumber]));
		state.leases = answer.leases;
		await balanceLeases();
		const { led } = state;
		state.led = new Set(state.leases.filter(({ server }) => server === d.id).map(({ name }) => name));
		announce(before, led);
	}

	function announce(before: ReadonlyMap<string, Peer>, led: ReadonlySet<string>): void {
		const { events } = d;
		const now = new Set(state.peers.map(({ id }) => id));
		for (const { id, url: address } of state.peers)
			if (id !== d.id && !before.has(id)) events.emit("server.joined", { server: id, url: address });
		for (const { id, url: address } of before.values())
			if (id !== d.id && !now.has(id)) events.emit("server.left", { server: id, url: address });
		for (const name of state.led) if (!led.has(name)) events.emit("lease.taken", { name });
		for (const name of led) if (!state.led.has(name)) events.emit("lease.lost", { name });
	}

	/** Takes this server's share of the free leases, and gives up those beyond it. */
	async function balanceLeases(): Promise<void> {
		const { take, maxEndpoints, give } = rebalance({
			server: d.id,
			leases: state.leases,
			servers: state.peers.length,
			scale: SCALE,
			roles: ROLES,
			now: d.clock.now(),
		});
		if (give.length > 0) {
			await store.yield({ names: give, server: d.id });
			state.leases = state.leases.filter(({ name }) => !give.includes(name));
		}
		for (const [names, limit] of [
			[take.roles, take.roles.length],
			[take.endpoints, maxEndpoints],
		] as const) {
			if (names.length === 0 || limit === 0) continue;
			const taken = await store.lead({ names, atMost: limit, server: d.id, run: d.run });
			state.leases = [...state.leases, ...taken.map((name) => ({ name, server: d.id }))];
		}
	}

	const beats = loop({
		clock: d.clock,
		retryMs: RETRY_MS,
		onError: (error) => {
			// `store.away` reports an unavailable store.
			if (!(error instanceof StoreUnavailable)) d.events.emit("fault", { where: "sending a heartbeat", error });
		},
		step: async () => {
			await beat(false);
			// The next one directly after another server would stop counting as alive.
			const ends = state.peers.filter(({ id }) => id !== d.id).map(({ aliveUntil }) => aliveUntil - d.now() + 1);
			return Math.max(PAUSE_MS, Math.min(BEAT_MS, ...ends));
		},
	});

	for (const event of ["endpoints.changed", "store.back", "hints.lost"] as const) d.events.on(event, beats.nudge);

	return {
		async join(address) {
			url = address;
			startedAt = d.now();
			await beat(true);
		},
		async leave() {
			await beats.stop();
			state.beatAt = -Infinity;
			// Should this fail, its time as a living server runs out.
			await store.leave({ server: d.id, run: d.run }).catch(() => {});
		},
		nudge: beats.nudge,
		services: [beats],
	};
}
