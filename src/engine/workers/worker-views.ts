/**
 * Workers as callers see them (D13, D29, D39): those of this server and those that other servers
 * report in their notes, each once.
 */
import type { EpochMs } from "../../core/time.ts";
import { type HeldBack, reasonOf, type WorkerReason } from "../../core/workers/worker-reason.ts";
import { isManaged } from "../../launchers/index.ts";
import type { ClusterStore } from "../../store/contract/cluster.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { isHeldBack } from "./start-problems.ts";
import type { Worker, WorkerRegistry } from "./worker-registry.ts";

/** An external worker is forgotten so long after its last call, ms. */
export const FORGET_MS = 120_000;

/** Notes round `seenAt` to this, ms, so that they do not change with each call. */
const SEEN_MS = 10_000;

/** A worker without its jobs, as notes have it. */
type WorkerFacts = Pick<
	Worker,
	| "id"
	| "endpoint"
	| "launcher"
	| "createdAt"
	| "seenAt"
	| "ready"
	| "pinged"
	| "unhealthy"
	| "draining"
	| "gpus"
	| "host"
	| "version"
	| "notice"
>;

export interface WorkerView extends Omit<WorkerFacts, "pinged"> {
	/** Ids of the jobs it holds. */
	jobs: readonly string[];
}

/** What a server reports to the others. */
interface Note {
	workers: WorkerFacts[];
	heldBack: Record<string, HeldBack>;
	/** Ids of the server's keys for secrets, the one that encrypts first; missing from earlier versions. */
	keyIds?: readonly string[];
}

/** A note, its workers by endpoint and id. */
interface ParsedNote {
	workers: ReadonlyMap<string, ReadonlyMap<string, WorkerFacts>>;
	heldBack: Note["heldBack"];
}

export interface WorkerViews {
	/**
	 * Workers of an endpoint on all servers. `noneBusy`: no job of it runs. Throws as the store does
	 * where that is shared.
	 */
	of(endpoint: string, noneBusy?: boolean): Promise<WorkerView[]>;
	/** Why the server that would start workers of an endpoint starts none. */
	heldBack(endpoint: string): HeldBack;
	/** Why an endpoint lacks workers (D29). */
	reason(endpoint: string): WorkerReason | undefined;
	/** Whether the worker pings any server. */
	pings(worker: Worker): boolean;
	/** What this server reports to the others, JSON text. */
	note(): string;
}

interface Deps {
	registry: WorkerRegistry;
	cluster: Pick<Cluster, "id" | "servers" | "scales">;
	store: ClusterStore | undefined;
	now: () => EpochMs;
	/** Ids of the keys for secrets, the one that encrypts first. */
	keyIds: readonly string[];
	/** Why this server starts no workers of an endpoint. */
	problemOf: (endpoint: string) => HeldBack;
	endpoints: () => Iterable<{ endpoint: { id: string } }>;
}

export function workerViews(d: Deps): WorkerViews {
	let byText = new Map<string, ParsedNote>();

	function notes(): ParsedNote[] {
		const before = byText;
		const { id, servers } = d.cluster;
		const texts = servers().flatMap((peer) => (peer.id !== id && peer.note !== undefined ? [peer.note] : []));
		byText = new Map(texts.map((text) => [text, before.get(text) ?? parseNote(text)]));
		return [...byText.values()];
	}

	/** Workers that any server knows; of a worker that calls several, what the last one saw. */
	function collect(endpoint: string): Map<string, WorkerFacts> {
		const found = new Map<string, WorkerFacts>([...d.registry.of(endpoint)].map((worker) => [worker.id, worker]));
		for (const { workers } of notes()) {
			for (const facts of workers.get(endpoint)?.values() ?? []) {
				const own = found.get(facts.id);
				if (!isManaged(facts.launcher) && d.now() - facts.seenAt >= FORGET_MS) continue;
				const isNewer = own && (isManaged(facts.launcher) || own.seenAt < facts.seenAt);
				if (!own || (!isManaged(own.launcher) && isNewer)) found.set(facts.id, facts);
			}
		}
		return found;
	}

	async function ofAllServers(endpoint: string, store: ClusterStore, noneBusy: boolean): Promise<WorkerView[]> {
		const running = noneBusy ? [] : await store.running({ endpoint });
		const found = collect(endpoint);
		const jobs = new Map<string, string[]>();
		for (const { id, worker, startedAt } of running) {
			const held = jobs.get(worker);
			if (held) held.push(id);
			else jobs.set(worker, [id]);
			// It took its job a moment ago, at a server that has not reported it yet.
			if (!found.has(worker)) found.set(worker, newcomer(endpoint, worker, startedAt));
		}
		return [...found.values()].map((facts) => viewOf(facts, jobs.get(facts.id) ?? []));
	}

	function ownHeldBack(endpoint: string): HeldBack {
		return d.cluster.scales(endpoint) ? d.problemOf(endpoint) : {};
	}

	function heldBack(endpoint: string): HeldBack {
		const own = ownHeldBack(endpoint);
		if (!d.store || isHeldBack(own)) return own;
		return (
			notes()
				.map((note) => note.heldBack[endpoint])
				.find((reason) => reason !== undefined) ?? {}
		);
	}

	return {
		of: async (endpoint, noneBusy = false) =>
			d.store
				? await ofAllServers(endpoint, d.store, noneBusy)
				: [...d.registry.of(endpoint)].map((worker) => viewOf(worker, [...worker.held.keys()])),
		heldBack,
		reason(endpoint) {
			const waiting = [...collect(endpoint).values()]
				.toSorted((a, b) => a.createdAt - b.createdAt)
				// One on a lost node keeps its place, and does not work.
				.filter(({ notice }) => notice?.state === "waiting" || notice?.code === "node_failed")
				.flatMap(({ notice }) => (notice ? [reasonIn(notice)] : []));
			return reasonOf(heldBack(endpoint), { waiting, now: d.now() });
		},
		pings: (worker) =>
			worker.pinged || notes().some(({ workers }) => workers.get(worker.endpoint)?.get(worker.id)?.pinged === true),
		note() {
			const heldBack: Note["heldBack"] = {};
			for (const { endpoint } of d.endpoints()) {
				const reason = ownHeldBack(endpoint.id);
				if (isHeldBack(reason)) heldBack[endpoint.id] = reason;
			}
			return JSON.stringify({
				workers: [...d.registry.all()].map(factsOf),
				heldBack,
				keyIds: d.keyIds,
			});
		},
	};
}

/** Returns the reason without the state. */
export function reasonIn(notice: NonNullable<Worker["notice"]>): WorkerReason {
	const { state: _, ...reason } = notice;
	return reason;
}

function parseNote(text: string): ParsedNote {
	const { workers, heldBack } = JSON.parse(text) as Note;
	const byEndpoint = new Map<string, Map<string, WorkerFacts>>();
	for (const facts of workers) {
		const ofEndpoint = byEndpoint.get(facts.endpoint) ?? new Map<string, WorkerFacts>();
		byEndpoint.set(facts.endpoint, ofEndpoint.set(facts.id, facts));
	}
	return { workers: byEndpoint, heldBack };
}

/** Returns the ids of the keys for secrets that a server has, by its note: the one that encrypts first (D22). */
export function keyIdsIn(note: string | undefined): readonly string[] {
	return (note === undefined ? undefined : (JSON.parse(note) as Note).keyIds) ?? [];
}

function newcomer(endpoint: string, id: string, startedAt: EpochMs): WorkerFacts {
	return {
		id,
		endpoint,
		launcher: "external",
		createdAt: startedAt,
		seenAt: startedAt,
		ready: true,
		pinged: false,
		unhealthy: false,
		draining: false,
		gpus: [],
	};
}

function viewOf(facts: WorkerFacts, jobs: readonly string[]): WorkerView {
	const { id, endpoint, launcher, createdAt, seenAt, ready } = facts;
	const { unhealthy, draining, gpus, host, version, notice } = facts;
	return {
		id,
		endpoint,
		launcher,
		createdAt,
		seenAt,
		ready,
		unhealthy,
		draining,
		gpus,
		...(host !== undefined && { host }),
		...(version !== undefined && { version }),
		...(notice !== undefined && { notice }),
		jobs,
	};
}

function factsOf(worker: Worker): WorkerFacts {
	const { jobs: _, ...view } = viewOf(worker, []);
	const seenAt = Math.floor(worker.seenAt / SEEN_MS) * SEEN_MS;
	return { ...view, seenAt, pinged: worker.pinged };
}
