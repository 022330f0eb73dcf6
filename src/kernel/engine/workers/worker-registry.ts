/**
 * Workers that call this server or that it launched. In memory; rebuilt from the store and from the workers' calls
 * after a start.
 */
import { RotatingMap, RotatingSet } from "../../lib/rotating-map.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { RoomTime } from "../../core/workers/ended-worker.ts";
import type { HiddenValues } from "../../core/workers/hidden-values.ts";
import type { GpuUse } from "../../core/workers/gpus.ts";
import type { WorkerReason } from "../../core/workers/worker-reason.ts";
import type { SharedId } from "../../core/workers/shared-id.ts";
import type { EventBus } from "../../events.ts";
import { isManaged } from "../../launchers/index.ts";
import { begun, endWorker, recordCalled, type WorkerLife } from "./worker-transitions.ts";

export interface HeldJob {
	attempt: number;
	/** Number by which its worker names the attempt in chunk posts, if that is another: it continues a lost one (D16). */
	named?: number;
	handedAt: EpochMs;
	/** It does not count for scaling (D20). */
	lowPriority?: boolean;
	/** Its worker has reported progress or chunks. */
	began?: boolean;
	/** The response to its last chunk may not have arrived: an equal one is a repeat (D7). */
	unsure?: boolean;
	/** Number of its next chunk post, where the worker numbers them. */
	nextPost?: number;
	/** The last chunk post, perhaps in progress. */
	post?: Promise<unknown>;
}

/** Times of the job clock. */
export interface StoreClaim {
	since: EpochMs;
	answeredAt?: EpochMs;
}

export interface Worker extends WorkerLife {
	readonly id: string;
	readonly endpoint: string;
	/** `external`: Sluice did not start it. */
	readonly launcher: string;
	readonly managed: boolean;
	readonly createdAt: EpochMs;
	/** Hash of its token, if that is one for many workers. */
	readonly token?: string | undefined;
	/** It uses more of a GPU than its part. */
	excess?: WorkerReason;
	reportedBusy: boolean;
	pinged: boolean;
	/** It has never pinged, and the lease of a job of it has ended. */
	pingless?: boolean;
	/** Until it asks for a job again. */
	unhealthy: boolean;
	/** It has reported the result of a job, or may have, to an earlier server. */
	hasSettled?: boolean;
	/** It has reported a result to this server. */
	hasReported?: boolean;
	/** Its machine, where that is known. */
	host?: string | undefined;
	/** Its variables and secrets, as it was started with them. Absent if they are not known. */
	hidden?: HiddenValues | undefined;
	/** See `launch-hash.ts`. */
	launchedAs?: string | undefined;
	/** Assigned GPUs of the machine. */
	gpus: readonly number[];
	/** Its part of each of its GPUs, in 10^9 bytes; absent: the whole GPU. */
	gpuMemoryGb?: number | undefined;
	version?: string | undefined;
	/** Handed to it and not reported. */
	readonly held: RotatingMap<string, HeldJob>;
	/** Jobs that it must stop, of earlier attempts or cancelled. `attempt`: the one that it had then. */
	readonly stopping: Map<
		string,
		{ since: EpochMs; failed: boolean; attempt?: number | undefined; sentAt?: EpochMs; namedAt?: EpochMs }
	>;
	/**
	 * The store has nothing open for it other than `held`: while that is empty, a ping or take without jobs need not ask
	 * it. False after any sign of a job from another server.
	 */
	knownIdle: boolean;
	/** When a take began that said it runs nothing, while jobs that were handed out before run by their leases. */
	deniedAt?: EpochMs | undefined;
	/** Another process uses its id: the first and last ping that named a job which such a take had denied. */
	shared?: SharedId;
	/** Claims for it that the store has not answered, or answered late. */
	readonly claims: Set<StoreClaim>;
	/** Open polls for jobs, and for jobs to stop. */
	takes: number;
	stops: number;
	/** Maximum time that a poll was held and then answered (see `liveness.ts`). */
	longestPollMs: number;
	/** When it cut a poll before that time; until its next poll. */
	leftAt?: EpochMs | undefined;
	/** Pings since then. */
	pingsAlone: number;
	pollEndedAt?: EpochMs;
	readonly polls: RotatingSet<() => void>;
	/** Each wakes an open poll for jobs to stop. */
	readonly wakeStops: RotatingSet<() => void>;
}

interface Met {
	id: string;
	endpoint: string;
	launcher?: string;
	ready: boolean;
	pinged?: boolean;
	gpus?: readonly number[];
	gpuMemoryGb?: number | undefined;
	roomSince?: EpochMs | undefined;
	token?: string | undefined;
	now: EpochMs;
}

export type WorkerRegistry = ReturnType<typeof workerRegistry>;

/** A host that serves two endpoints under one id is two workers. */
export function workerRegistry(events: EventBus) {
	const byEndpoint = new Map<string, Map<string, Worker>>();
	const everyWorker = new Set<Worker>();
	/** Number of workers by the hash of the token that they share. */
	const byToken = new Map<string, number>();
	return {
		meet(met: Met): Worker {
			const { endpoint, id, ready, token } = met;
			const ofEndpoint = byEndpoint.get(endpoint) ?? new Map<string, Worker>();
			const existing = ofEndpoint.get(id);
			if (existing) return existing;
			const worker = newWorker(met);
			byEndpoint.set(endpoint, ofEndpoint.set(id, worker));
			everyWorker.add(worker);
			if (token !== undefined) byToken.set(token, (byToken.get(token) ?? 0) + 1);
			if (ready) events.emit("worker.ready", { endpoint, worker: id });
			return worker;
		},
		seen(worker: Worker, now: EpochMs): void {
			if (!recordCalled(worker, now)) return;
			events.emit("worker.ready", { endpoint: worker.endpoint, worker: worker.id });
		},
		get: ({ endpoint, id }: { endpoint: string; id: string }): Worker | undefined => byEndpoint.get(endpoint)?.get(id),
		forget({ endpoint, id }: Worker): void {
			const ofEndpoint = byEndpoint.get(endpoint);
			const worker = ofEndpoint?.get(id);
			if (!ofEndpoint || !worker) return;
			endWorker(worker);
			everyWorker.delete(worker);
			ofEndpoint.delete(id);
			const left = (byToken.get(worker.token ?? "") ?? 1) - 1;
			if (left > 0) byToken.set(worker.token!, left);
			else byToken.delete(worker.token ?? "");
			if (ofEndpoint.size === 0) byEndpoint.delete(endpoint);
		},
		of: (endpoint: string): Iterable<Worker> => byEndpoint.get(endpoint)?.values() ?? [],
		all: (): Iterable<Worker> => everyWorker.values(),
		countOf: (token: string): number => byToken.get(token) ?? 0,
	};
}

/** A worker that the registry does not have. */
export function newWorker({
	id,
	endpoint,
	launcher = "external",
	ready,
	pinged = false,
	gpus = [],
	gpuMemoryGb,
	roomSince,
	token,
	now,
}: Met): Worker {
	return {
		id,
		endpoint,
		launcher,
		managed: isManaged(launcher),
		createdAt: now,
		token,
		...begun({ ready, now }),
		roomSince,
		reportedBusy: false,
		seenAt: now,
		pinged,
		unhealthy: false,
		gpus,
		gpuMemoryGb,
		idleSince: now,
		knownIdle: false,
		held: new RotatingMap(),
		stopping: new Map(),
		claims: new Set(),
		takes: 0,
		stops: 0,
		longestPollMs: 0,
		pingsAlone: 0,
		polls: new RotatingSet(),
		wakeStops: new RotatingSet(),
	};
}

/** Whether it has GPUs of this machine. */
export function holdsGpus({ gpus, sleep }: Pick<Worker, "gpus" | "sleep">): boolean {
	return gpus.length > 0 && sleep?.state !== "asleep";
}

/** Whether its platform runs it. Until it is ready one that never waited is not known to. */
export function isPlaced({ ready, notice, createdAt, startingSince }: Worker): boolean {
	return notice?.state !== "waiting" && (ready || startingSince > createdAt);
}

/** Whether it sleeps, or is about to. */
export function isSleeping({ sleep }: Pick<Worker, "sleep">): boolean {
	return sleep !== undefined && sleep.state !== "waking";
}

/** Whether it cannot take jobs yet: it has not called, or is being woken. */
export function isStarting({ ready, sleep }: Pick<Worker, "ready" | "sleep">): boolean {
	return !ready || sleep?.state === "waking";
}

/** Whether it has jobs, all of them of low priority. */
export function isBusyLow({ held }: Pick<Worker, "held">): boolean {
	return held.size > 0 && [...held.values()].every(({ lowPriority }) => lowPriority);
}

export function useOf(worker: Worker): GpuUse {
	if (worker.held.size > 0) return "busy";
	return isStarting(worker) ? "starting" : "idle";
}

/** Returns the time in which others made room for the worker, once it is over. */
export function roomOf({
	roomSince: since,
	startingSince: until,
}: Pick<Worker, "roomSince" | "startingSince">): RoomTime | undefined {
	return since === undefined || until < since ? undefined : { since, until };
}

export function endPolls(worker: Worker): void {
	for (const end of worker.polls) end();
}

export function releaseJob(worker: Worker, id: string, now: EpochMs): void {
	if (worker.held.delete(id) && worker.held.size === 0) worker.idleSince = now;
}

/** Ignores a job that was handed out again since `before`: a claim of the same commit is answered first. */
export function releaseJobById(worker: Worker, id: string, q: { before: HeldJob | undefined; now: EpochMs }): void {
	if (worker.held.get(id) === q.before) releaseJob(worker, id, q.now);
}

/** An answer that takes longer is late, ms. */
const LATE_MS = 100;

/** After this time a worker has the jobs, and each ping it sends was written after that, ms. */
const KNOWN_MS = 5000;

/** Forgets the claims whose jobs every ping from now on knows. */
export function forgetClaims({ claims }: Worker, now: EpochMs): void {
	for (const claim of claims) {
		const { since, answeredAt } = claim;
		if (answeredAt === undefined || (answeredAt - since > LATE_MS && now - answeredAt < KNOWN_MS)) continue;
		claims.delete(claim);
	}
}
