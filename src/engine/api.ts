/** What the engine offers to `http` and `compose`: types only. */
import type { Endpoint } from "../core/endpoint.ts";
import type { JsonText } from "../core/json/json-text.ts";
import type { JobState } from "../core/job-states.ts";
import type { Report } from "../core/report.ts";
import type { JobResult } from "../core/job-view.ts";
import type { DeliveryRow, WebhookStore } from "../store/contract/webhooks.ts";
import type { Admit } from "./limits/admission.ts";
import type { BulkAnswer, BulkQuery } from "./jobs/bulk.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { ConsoleLinks } from "./access/console-links.ts";
import type { health } from "./endpoints/health.ts";
import type { Endpoints } from "./endpoints/endpoints.ts";
import type { KeyStoreAccess } from "./access/keys.ts";
import type { ListQuery, list } from "./jobs/list.ts";
import type { LogEntry, LogQuery } from "./workers/worker-logs.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { LiveFeed } from "./metrics/live-feed.ts";
import type { Ping } from "./workers/ping.ts";
import type { EndpointSnapshot } from "./endpoints/endpoint-snapshots.ts";
import type { JobDetails } from "./jobs/job-details.ts";
import type { EndpointRegistry } from "./endpoints/endpoint-registry.ts";
import type { Sessions } from "./access/sessions.ts";
import type { StreamPart } from "./jobs/stream.ts";
import type { SubmitRequest } from "./jobs/submit.ts";
import type { Tokens } from "./access/worker-tokens.ts";
import type { Caller } from "./jobs/wait.ts";
import type { WorkerView } from "./workers/worker-views.ts";
import type { Worker } from "./workers/worker-registry.ts";

/** A job for a worker, with its secrets opened. */
export interface DispatchedJob {
	id: string;
	attempt: number;
	input: JsonText;
	/** JSON text. */
	s3Config?: string | undefined;
}

/** Callers and how they prove who they are. */
export interface Access {
	keys: KeyStoreAccess;
	/** Sign-ins of the console (D31). */
	sessions: Sessions;
	consoleLinks: ConsoleLinks;
	tokens: Tokens;
}

/** Job operations of clients, operators and workers. */
export interface Jobs {
	newId(operation: SubmitRequest["operation"]): string;
	/**
	 * Queues the job and returns its id: that of an earlier job for a repeat under one idempotency
	 * key (D14).
	 */
	submit(q: SubmitRequest): Promise<string>;
	/** Queues the job and waits for its end, at most `ms`; after that the job as it is (D8). */
	submitAndWait(q: SubmitRequest, wait: { ms: number; caller: Caller }): Promise<JobResult>;
	status(q: JobName): Promise<JobResult>;
	/** The job as it is, its retention shortened (D9). */
	retain(q: JobName & { retainMs: number }): Promise<JobResult>;
	statusSync(q: JobName & { ms: number; caller: Caller }): Promise<JobResult>;
	streamNext(q: JobName & { waitMs: number; caller: Caller }): Promise<StreamPart>;
	streamFrom(q: JobName & { waitMs: number; caller: Caller; from: number }): Promise<StreamPart>;
	cancel(q: JobName): Promise<JobState>;
	/** Cancels, in the background, a job whose only caller has disconnected (D32). */
	abandon(q: JobName): void;
	retry(q: JobName): Promise<void>;
	/** Removes the waiting jobs; returns how many. */
	purge(endpoint: string): Promise<number>;
	list(q: ListQuery): ReturnType<typeof list>;
	/** Cancels or retries a portion of the jobs of a filter; see `bulk.ts`. */
	bulk(q: BulkQuery): Promise<BulkAnswer>;
	/** One job, erased or not, with its attempts and why it waits. */
	details(q: JobName): Promise<JobDetails>;
	/** Jobs for a worker that polls. Throws `duplicate_worker_id` and `draining`. */
	take(q: {
		worker: Worker;
		limit: number;
		idle: boolean;
		signal: AbortSignal;
	}): Promise<DispatchedJob[]>;
	/** Requeues jobs whose response did not reach the worker. */
	requeueUndelivered(worker: Worker, jobs: readonly DispatchedJob[]): Promise<void>;
	report(q: { worker: Worker; id: string; report: Report; signal?: AbortSignal }): Promise<void>;
	addChunks(q: {
		worker: Worker;
		id: string;
		pieces: readonly string[];
		unsure: boolean;
		signal?: AbortSignal;
	}): Promise<void>;
	ping(q: { worker: Worker; said: Ping; signal?: AbortSignal }): Promise<void>;
	/**
	 * An external worker was ended by its operator: what it held is requeued without counting a
	 * loss, its token is void (D16, D36).
	 */
	endWorker(q: { endpoint: string; id: string }): Promise<void>;
}

export interface JobName {
	endpoint: string;
	id: string;
}

export interface WorkerOperations {
	/** The worker behind a call with a valid token; it counts as seen now. */
	recordCall(q: { id: string; endpoint: string }): Worker;
	/** Workers of an endpoint that this server knows. */
	of(endpoint: string): Iterable<Worker>;
	/** Workers of an endpoint on all servers. */
	views(endpoint: string): Promise<WorkerView[]>;
	/** Ids of jobs that the worker must stop. */
	pollStops(q: { worker: Worker; signal: AbortSignal }): Promise<string[]>;
	/** Lines that a launched worker wrote, a few at a time. Throws `worker_not_found`. */
	logs(q: LogQuery): Promise<AsyncIterable<LogEntry[]>>;
	/**
	 * A launched worker gets no more jobs, and is stopped once it holds none (D28). False when
	 * another server launched it. Throws `worker_gone` and `worker_not_launched`.
	 */
	stop(q: { endpoint: string; id: string }): Promise<boolean>;
	/** Variables for a worker that is started outside of Sluice (D36); its token is new. */
	env(q: { endpoint: string; url: string; replicas: boolean }): Promise<Record<string, string>>;
}

export interface WebhookOperations {
	/** Deliveries, the last created first (D21). */
	list: WebhookStore["list"];
	/** One of them. Throws `delivery_not_found`. */
	get(id: string): Promise<DeliveryRow>;
	/**
	 * Sends a finished delivery again, as if its job had just ended. Throws `delivery_not_found` and
	 * `delivery_pending`.
	 */
	redeliver(id: string): Promise<void>;
	/** Replaces the signing secret of an endpoint and returns the new one, only this once. */
	renewSecret(endpoint: string): Promise<string>;
}

export interface MetricOperations extends Pick<Metrics, "history" | "totals" | "storeMs"> {
	health(endpoint: string): ReturnType<typeof health>;
	/** Every endpoint with its counts. */
	snapshots(): Promise<EndpointSnapshot[]>;
	/** Reports all endpoints as they change. */
	listen: LiveFeed["listen"];
}

/** What clients, workers and operators can do. Throws {@link ApiError} for refusals. */
export interface Engine {
	access: Access;
	/** Rate and concurrency limits of spec 8 (D24). */
	limits: { admit: Admit };
	jobs: Jobs;
	endpoints: Omit<Endpoints, "inTurn" | "refresh" | "loop"> &
		Pick<EndpointRegistry, "get" | "has" | "all" | "entry" | "sealedSecret">;
	workers: WorkerOperations;
	webhooks: WebhookOperations;
	metrics: MetricOperations;
	cluster: Pick<Cluster, "members" | "shared" | "others">;
	/**
	 * Resolves when the store takes writes. Throws `not_ready` while this server must take no
	 * requests.
	 */
	ready(): Promise<void>;
	/** The time, ms since the epoch. */
	now(): number;
	readonly draining: boolean;
	/** Loads what the store has; must be done before the first request. */
	prepare(endpoints: readonly Endpoint[]): Promise<void>;
	/**
	 * Takes over workers and starts the loops. `url` is what launched workers call: where several
	 * servers share a store, that of this server.
	 */
	start(q: { url: string }): Promise<void>;
	/**
	 * Ends waits and polls, gives running jobs `drainMs`, requeues the rest, stops launched workers
	 * (D34).
	 */
	stop(q: { drainMs: number }): Promise<void>;
}
