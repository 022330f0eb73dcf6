/**
 * Workers as they are told (D13, D29, D39): those that call this server, and those that servers
 * sharing the store tell each other of, each once.
 */
import type { ClusterStore } from "../../store/contract/cluster.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Worker, WorkerRegistry } from "./worker-registry.ts";

/** An external worker is forgotten so long after its last call, ms. */
export const FORGET_MS = 120_000;

/** A note tells of calls so coarsely, ms, that it does not change with each of them. */
const SEEN_MS = 10_000;

/** What is known of a worker without its jobs. Times in ms since the epoch. */
type Facts = Pick<
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
	| "version"
>;

/** A worker as it is told. */
export interface WorkerView extends Omit<Facts, "pinged"> {
	/** Ids of the jobs in its hands. */
	jobs: readonly string[];
}

/** Why no worker of an endpoint is started by the server that would do so. */
export interface HeldBack {
	crashing?: string | undefined;
	withoutGpu?: string | undefined;
}

interface Note {
	workers: Facts[];
	heldBack: Record<string, HeldBack>;
}

/** A note as it is looked into: workers by endpoint and id. */
interface Read {
	workers: ReadonlyMap<string, ReadonlyMap<string, Facts>>;
	heldBack: Note["heldBack"];
}

/** Knows the workers of all servers. */
export interface WorkerViews {
	/**
	 * Workers of an endpoint, whichever server they call. `noneBusy`: it is known that no job runs
	 * there. Throws as the store does where that is shared.
	 */
	of(endpoint: string, noneBusy?: boolean): Promise<WorkerView[]>;
	/** Why no worker is started there, by whichever server would. */
	heldBack(endpoint: string): HeldBack;
	/** Whether the worker pings, at whichever server. */
	pings(worker: Worker): boolean;
	/** What this server tells the others, JSON text. */
	note(): string;
}

interface Deps {
	workers: WorkerRegistry;
	cluster: () => Pick<Cluster, "shared" | "id" | "servers">;
	store: ClusterStore | undefined;
	now: () => number;
	/** Why this server starts no workers, by endpoint. */
	heldBack: (endpoint: string) => HeldBack;
	/** Endpoints whose workers this server starts. */
	scaled: () => Iterable<string>;
}

export function workerViews(d: Deps): WorkerViews {
	/** Parsed notes by their text. */
	let parsed = new Map<string, Read>();

	function notes(): Read[] {
		const before = parsed;
		const { id, servers } = d.cluster();
		const texts = servers().flatMap((peer) =>
			peer.id !== id && peer.note !== undefined ? [peer.note] : [],
		);
		parsed = new Map(texts.map((text) => [text, before.get(text) ?? readNote(text)]));
		return [...parsed.values()];
	}

	/** Those that any server knows of; of a worker that calls several, what the last one saw. */
	function known(endpoint: string): Map<string, Facts> {
		const found = new Map<string, Facts>(
			[...d.workers.of(endpoint)].map((worker) => [worker.id, worker]),
		);
		for (const { workers } of notes()) {
			for (const facts of workers.get(endpoint)?.values() ?? []) {
				const here = found.get(facts.id);
				if (facts.launcher === "external" && d.now() - facts.seenAt >= FORGET_MS) continue;
				if (!here || (here.launcher === "external" && here.seenAt < facts.seenAt))
					found.set(facts.id, facts);
			}
		}
		return found;
	}

	async function together(
		endpoint: string,
		store: ClusterStore,
		noneBusy: boolean,
	): Promise<WorkerView[]> {
		const running = noneBusy ? [] : await store.running({ endpoint });
		const found = known(endpoint);
		const jobs = new Map<string, string[]>();
		for (const { id, worker, startedAt } of running) {
			const held = jobs.get(worker);
			if (held) held.push(id);
			else jobs.set(worker, [id]);
			// One that took its job a moment ago, at a server that has not told of it yet.
			if (!found.has(worker))
				found.set(worker, {
					id: worker,
					endpoint,
					launcher: "external",
					createdAt: startedAt,
					seenAt: startedAt,
					ready: true,
					pinged: false,
					unhealthy: false,
					draining: false,
					gpus: [],
				});
		}
		return [...found.values()].map((facts) => viewOf(facts, jobs.get(facts.id) ?? []));
	}

	return {
		of: async (endpoint, noneBusy = false) =>
			d.store
				? await together(endpoint, d.store, noneBusy)
				: [...d.workers.of(endpoint)].map((worker) => viewOf(worker, [...worker.held.keys()])),
		heldBack(endpoint) {
			const here = d.heldBack(endpoint);
			if (!d.store || here.crashing !== undefined || here.withoutGpu !== undefined) return here;
			return (
				notes()
					.map((note) => note.heldBack[endpoint])
					.find((told) => told !== undefined) ?? {}
			);
		},
		pings: (worker) =>
			worker.pinged ||
			notes().some(({ workers }) => workers.get(worker.endpoint)?.get(worker.id)?.pinged === true),
		note() {
			const heldBack: Note["heldBack"] = {};
			for (const endpoint of d.scaled()) {
				const why = d.heldBack(endpoint);
				if (why.crashing !== undefined || why.withoutGpu !== undefined) heldBack[endpoint] = why;
			}
			return JSON.stringify({ workers: [...d.workers.all()].map(noted), heldBack } satisfies Note);
		},
	};
}

function readNote(text: string): Read {
	const { workers, heldBack } = JSON.parse(text) as Note;
	const byEndpoint = new Map<string, Map<string, Facts>>();
	for (const facts of workers) {
		const there = byEndpoint.get(facts.endpoint) ?? new Map<string, Facts>();
		byEndpoint.set(facts.endpoint, there.set(facts.id, facts));
	}
	return { workers: byEndpoint, heldBack };
}

function viewOf(
	{ id, endpoint, launcher, createdAt, seenAt, ready, unhealthy, draining, gpus, version }: Facts,
	jobs: readonly string[],
): WorkerView {
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
		...(version !== undefined && { version }),
		jobs,
	};
}

function noted({
	id,
	endpoint,
	launcher,
	createdAt,
	seenAt,
	ready,
	pinged,
	unhealthy,
	draining,
	gpus,
	version,
}: Worker): Facts {
	return {
		id,
		endpoint,
		launcher,
		createdAt,
		seenAt: Math.floor(seenAt / SEEN_MS) * SEEN_MS,
		ready,
		pinged,
		unhealthy,
		draining,
		gpus,
		...(version !== undefined && { version }),
	};
}
