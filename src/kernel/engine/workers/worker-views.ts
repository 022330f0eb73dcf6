/** Workers as callers see them (D13, D29, D39): those of this server and those in the notes of other servers. */
import type { EpochMs } from "../../lib/time.ts";
import { type HeldBack, reasonOf, type WorkerReason } from "../../core/workers/worker-reason.ts";
import { isManaged } from "../../launchers/index.ts";
import { isShownAsShared, type SharedId } from "../../core/workers/shared-id.ts";
import type { ClusterStore } from "../../store/contract/cluster.ts";
import { isHeldBack, type StartProblems } from "./start-problems.ts";
import type { Worker } from "./worker-registry.ts";
import type { WorkersContext } from "./workers-context.ts";

export const FORGET_MS = 120_000;

/** Notes round the times of last calls to this, so that they do not change with each call. */
const SEEN_MS = 10_000;

const SHOWN = [
	"id",
	"endpoint",
	"launcher",
	"createdAt",
	"startingSince",
	"roomSince",
	"readyAt",
	"seenAt",
	"ready",
	"unhealthy",
	"draining",
	"sleep",
	"gpus",
	"gpuMemoryGb",
	"host",
	"version",
	"launchedAs",
	"shared",
	"notice",
	"excess",
	"pingless",
] as const;
type Shown = Pick<Worker, (typeof SHOWN)[number]>;

type WorkerFacts = Shown & Pick<Worker, "pinged">;

export interface WorkerView extends Shown {
	jobs: readonly string[];
}

interface Note {
	workers: WorkerFacts[];
	heldBack: Record<string, HeldBack>;
	/** Keys for secrets, the one that encrypts first; missing from earlier versions. */
	keyIds?: readonly string[];
}

interface ParsedNote {
	workers: ReadonlyMap<string, ReadonlyMap<string, WorkerFacts>>;
	heldBack: ReadonlyMap<string, HeldBack>;
}

export type WorkerViews = ReturnType<typeof workerViews>;

export function workerViews(d: WorkersContext & { problems: StartProblems }) {
	const { id: own, servers } = d.cluster;
	const shared = d.store.cluster;
	let byText = new Map<string, ParsedNote>();

	function notes(): ParsedNote[] {
		const before = byText;
		const texts = servers().flatMap(({ id, note: text }) => (id !== own && text !== undefined ? [text] : []));
		byText = new Map(texts.map((text) => [text, before.get(text) ?? parseNote(text)]));
		return [...byText.values()];
	}

	/** A worker that calls several servers is shown as the last one saw it. */
	function collect(endpoint: string): Map<string, WorkerFacts> {
		const found = new Map<string, WorkerFacts>([...d.registry.of(endpoint)].map((worker) => [worker.id, worker]));
		for (const { workers } of notes()) {
			for (const facts of workers.get(endpoint)?.values() ?? []) {
				const other = found.get(facts.id);
				if (!isManaged(facts.launcher) && d.now() - facts.seenAt >= FORGET_MS) continue;
				const isNewer = other && (isManaged(facts.launcher) || other.seenAt < facts.seenAt);
				if (!other || (!isManaged(other.launcher) && isNewer)) found.set(facts.id, facts);
			}
		}
		return found;
	}

	async function ofAllServers(endpoint: string, store: ClusterStore, noneBusy: boolean): Promise<WorkerView[]> {
		const running = noneBusy ? [] : await store.running({ endpoint });
		const found = collect(endpoint);
		const jobs = Map.groupBy(running, ({ worker }) => worker);
		// A worker took its job a moment ago at a server that has not reported it yet.
		for (const [worker, [first]] of jobs)
			if (first && !found.has(worker)) found.set(worker, newcomer(endpoint, worker, first.startedAt));
		return [...found.values()].map((facts) => ({
			...shownOf(facts),
			jobs: (jobs.get(facts.id) ?? []).map(({ id }) => id),
		}));
	}

	function ownHeldBack(endpoint: string): HeldBack {
		return d.cluster.scales(endpoint) ? d.problems.of(endpoint) : {};
	}

	/** Returns why the server that would start workers starts none. */
	function heldBack(endpoint: string): HeldBack {
		const here = ownHeldBack(endpoint);
		if (!shared || isHeldBack(here)) return here;
		return (
			notes()
				.find((note) => note.heldBack.has(endpoint))
				?.heldBack.get(endpoint) ?? {}
		);
	}

	return {
		/** `noneBusy`: no job of the endpoint runs. Throws as the store does where that is shared. */
		of: async (endpoint: string, noneBusy = false): Promise<WorkerView[]> =>
			shared
				? await ofAllServers(endpoint, shared, noneBusy)
				: [...d.registry.of(endpoint)].map((worker) => ({ ...shownOf(worker), jobs: [...worker.held.keys()] })),
		heldBack,
		/** Why an endpoint lacks workers (D29). */
		reason(endpoint: string): WorkerReason | undefined {
			const waiting = [...collect(endpoint).values()]
				.toSorted((a, b) => a.createdAt - b.createdAt)
				// One on a lost node keeps its place, and does not work.
				.filter(({ notice }) => notice?.state === "waiting" || notice?.code === "node_failed")
				.flatMap(({ notice }) => (notice ? [reasonIn(notice)] : []));
			return reasonOf(heldBack(endpoint), { waiting, now: d.now() });
		},
		pings: (worker: Worker): boolean =>
			worker.pinged || notes().some(({ workers }) => workers.get(worker.endpoint)?.get(worker.id)?.pinged === true),
		/** When two processes were seen to use a worker id, if lately. */
		sharedId({ endpoint, id }: { endpoint: string; id: string }): SharedId | undefined {
			const seen = [d.registry.get({ endpoint, id }), ...notes().map((note) => note.workers.get(endpoint)?.get(id))];
			return seen.map((facts) => facts?.shared).find((shared) => isShownAsShared(shared, d.now()));
		},
		/** Returns JSON text for the other servers. */
		note(): string {
			const reasons = d.endpoints.all().map(({ endpoint: { id } }) => [id, ownHeldBack(id)] as const);
			return JSON.stringify({
				workers: [...d.registry.all()].map(factsOf),
				heldBack: Object.fromEntries(reasons.filter(([, reason]) => isHeldBack(reason))),
				keyIds: d.access.encryption.keyIds,
			} satisfies Note);
		},
	};
}

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
	return { workers: byEndpoint, heldBack: new Map(Object.entries(heldBack)) };
}

/** The key that encrypts comes first (D22). */
export function keyIdsIn(note: string | undefined): readonly string[] {
	return (note === undefined ? undefined : (JSON.parse(note) as Note).keyIds) ?? [];
}

function newcomer(endpoint: string, id: string, startedAt: EpochMs): WorkerFacts {
	return {
		id,
		endpoint,
		launcher: "external",
		createdAt: startedAt,
		startingSince: startedAt,
		seenAt: startedAt,
		ready: true,
		pinged: false,
		unhealthy: false,
		draining: false,
		gpus: [],
	};
}

function shownOf(worker: Shown): Shown {
	const members = SHOWN.flatMap((name) => (worker[name] === undefined ? [] : [[name, worker[name]]]));
	return Object.fromEntries(members) as Shown;
}

function factsOf(worker: Worker): WorkerFacts {
	const rounded = (at: EpochMs): EpochMs => Math.floor(at / SEEN_MS) * SEEN_MS;
	const { shared, seenAt, pinged } = worker;
	return {
		...shownOf(worker),
		seenAt: rounded(seenAt),
		pinged,
		...(shared && { shared: { ...shared, at: Math.max(shared.since, rounded(shared.at)) } }),
	};
}
