/** What the engine offers to `http` and `compose`: types only. */
import type { Endpoint } from "../core/endpoint.ts";
import type { JsonText } from "../core/json/json-text.ts";
import type { JobState } from "../core/job-states.ts";
import type { Report } from "../core/report.ts";
import type { JobResult } from "../core/job-view.ts";
import type { DeliveryRow, WebhookStore } from "../store/store.ts";
import type { Admit } from "./limits/admission.ts";
import type { BulkAnswer, BulkQuery } from "./jobs/bulk.ts";
import type { ServerView } from "./cluster/cluster.ts";
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
import type { WebhookSecrets } from "./webhooks/webhook-secrets.ts";
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

/** What clients, workers and operators can have done. Throws {@link ApiError} for refusals. */
export interface Engine {
	registry: EndpointRegistry;
	keys: KeyStoreAccess;
	/** Sign-ins of the console (D31). */
	sessions: Sessions;
	consoleLinks: ConsoleLinks;
	tokens: Tokens;
	/** Whether a request may go on, within the limits of section 8 (D24). */
	admit: Admit;
	newId(operation: SubmitRequest["operation"]): string;
	/**
	 * Queues the job and answers its id: that of an earlier job for a repeat under one idempotency
	 * key (D14).
	 */
	submit(q: SubmitRequest): Promise<string>;
	/** Queues the job and waits for its end, at most `ms`; after that the job as it stands (D8). */
	submitAndWait(q: SubmitRequest, wait: { ms: number; caller: Caller }): Promise<JobResult>;
	status(q: { endpoint: string; id: string }): Promise<JobResult>;
	/** The job as it stands, its retention shortened (D9). */
	retain(q: { endpoint: string; id: string; retainMs: number }): Promise<JobResult>;
	statusSync(q: { endpoint: string; id: string; ms: number; caller: Caller }): Promise<JobResult>;
	streamNext(q: {
		endpoint: string;
		id: string;
		waitMs: number;
		caller: Caller;
	}): Promise<StreamPart>;
	streamFrom(q: {
		endpoint: string;
		id: string;
		waitMs: number;
		caller: Caller;
		from: number;
	}): Promise<StreamPart>;
	cancel(q: { endpoint: string; id: string }): Promise<JobState>;
	/** Cancels, in the background, a job that nobody can ask for any more (D32). */
	abandon(q: { endpoint: string; id: string }): void;
	retry(q: { endpoint: string; id: string }): Promise<void>;
	/** Removes the waiting jobs; tells how many. */
	purge(endpoint: string): Promise<number>;
	list(q: ListQuery): ReturnType<typeof list>;
	/** Cancels or retries a portion of the jobs of a filter; see `bulk.ts`. */
	bulk(q: BulkQuery): Promise<BulkAnswer>;
	/** One job, erased or not, with its attempts and why it waits. */
	record(q: { endpoint: string; id: string }): Promise<JobDetails>;
	endpoints: Omit<Endpoints, "inTurn" | "refresh" | "find" | "loop">;
	webhookSecret: Pick<WebhookSecrets, "renew">;
	/** Webhook deliveries, the last made first (D21). */
	deliveries: WebhookStore["list"];
	/** One of them. Throws `delivery_not_found`. */
	delivery(id: string): Promise<DeliveryRow>;
	/**
	 * Sends a delivery that is over anew, as if its job had just ended. Throws `delivery_not_found`
	 * and `delivery_pending`.
	 */
	redeliver(id: string): Promise<void>;
	/**
	 * The endpoint; later where another server may have just made it. Throws `endpoint_not_found`.
	 */
	endpoint(id: string): Endpoint | Promise<Endpoint>;
	/**
	 * The servers that share the store, with what each does for all; none where only this one can
	 * open it.
	 */
	servers(): ServerView[];
	/** Whether other servers can open the store too: what a caller did before, another may know. */
	readonly shared: boolean;
	/** Whether others live: what a worker does here it may then do there, too. */
	others(): boolean;
	/** Workers of an endpoint that this server has heard of. */
	workersOf(endpoint: string): Iterable<Worker>;
	/** Workers of an endpoint as they are told, whichever server they call. */
	workerViews(endpoint: string): Promise<WorkerView[]>;
	/** Lines that a launched worker wrote, a few at a time. Throws `worker_not_found`. */
	logs(q: LogQuery): Promise<AsyncIterable<LogEntry[]>>;
	/**
	 * A launched worker gets no more jobs, and is ended once it holds none (D28). False when another
	 * server launched it. Throws `worker_gone` and `worker_not_launched`.
	 */
	stopWorker(q: { endpoint: string; id: string }): Promise<boolean>;
	health(endpoint: string): ReturnType<typeof health>;
	/** Every endpoint as it is now. */
	present(): Promise<EndpointSnapshot[]>;
	/** What was counted of an endpoint over time (D40). */
	history: Metrics["history"];
	/** What this server counted since its start, and how long its store took. */
	metrics: Pick<Metrics, "totals" | "storeMs">;
	/** Tells all endpoints live. */
	listen: LiveFeed["listen"];
	/** The worker behind a call with a good token. */
	worker(q: { id: string; endpoint: string }): Worker;
	take(q: {
		worker: Worker;
		limit: number;
		idle: boolean;
		signal: AbortSignal;
	}): Promise<DispatchedJob[]>;
	/** A hand-out that did not reach its worker. */
	handBack(worker: Worker, jobs: readonly DispatchedJob[]): Promise<void>;
	stopPoll(q: { worker: Worker; signal: AbortSignal }): Promise<string[]>;
	report(q: { worker: Worker; id: string; report: Report; signal?: AbortSignal }): Promise<void>;
	chunks(q: {
		worker: Worker;
		id: string;
		pieces: readonly string[];
		unsure: boolean;
		signal?: AbortSignal;
	}): Promise<void>;
	ping(q: { worker: Worker; said: Ping; signal?: AbortSignal }): Promise<void>;
	/**
	 * Whoever started an external worker has ended it: what it held waits again without counting a
	 * loss, its token is void (D16, D36).
	 */
	workerEnded(q: { endpoint: string; id: string }): Promise<void>;
	/** Variables for a worker that somebody else starts (D36); its token is new. */
	workerEnv(q: {
		endpoint: string;
		url: string;
		replicas: boolean;
	}): Promise<Record<string, string>>;
	/**
	 * Resolves when the store takes writes. Throws `not_ready` while this server must take no
	 * requests.
	 */
	ready(): Promise<void>;
	/** The present, ms since the epoch. */
	now(): number;
	readonly draining: boolean;
	/** Loads what the store knows; must be done before the first request. */
	prepare(endpoints: readonly Endpoint[]): Promise<void>;
	/**
	 * Takes over workers, starts the loops. `url` is what launched workers call: where several
	 * servers share a store, this very one.
	 */
	start(q: { url: string }): Promise<void>;
	/**
	 * Ends waits and polls, gives running jobs `drainMs`, returns the rest, ends launched workers
	 * (D34).
	 */
	stop(q: { drainMs: number }): Promise<void>;
}
