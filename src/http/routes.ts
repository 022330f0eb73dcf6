/**
 * THE table: method, path, who may call, largest body, handler. Everything served is a row here.
 */
import type { ErrorCode } from "../core/errors.ts";
import type { LimitedOperation } from "../core/limits.ts";
import { RESULTS_BODY_LIMIT, RESULT_LIMIT } from "../core/report.ts";
import type { AnswerName } from "./docs/answers.ts";
import type { BodyName } from "./docs/bodies.ts";
import type { Call } from "./call.ts";
import * as client from "./client/client-api.ts";
import * as site from "./console/console-api.ts";
import * as signIn from "./console/session-api.ts";
import { docsApi } from "./docs/docs-api.ts";
import { alive, ready } from "./health-api.ts";
import { metrics as prometheus } from "./metrics/metrics-api.ts";
import { openai } from "./openai/openai-api.ts";
import type { ParamReader } from "./params.ts";
import { OFFSET, delivers, stream } from "./client/stream-api.ts";
import { STREAM_WAIT, SYNC_WAIT } from "./client/wait-param.ts";
import * as bulk from "./v1/bulk-api.ts";
import * as consoleLink from "./v1/console-link-api.ts";
import * as endpoints from "./v1/endpoints-api.ts";
import * as feeding from "./v1/feed-api.ts";
import * as jobs from "./v1/jobs-api.ts";
import * as keys from "./v1/keys-api.ts";
import * as logs from "./v1/logs-api.ts";
import * as metrics from "./v1/metrics-api.ts";
import * as servers from "./v1/servers-api.ts";
import * as webhooks from "./v1/webhooks-api.ts";
import * as workerStop from "./v1/worker-stop-api.ts";
import { doneBatch } from "./worker/done-batch.ts";
import * as worker from "./worker/worker-api.ts";
import { BATCH_QUERY, CHUNK_QUERY, PING_QUERY, TAKE_QUERY } from "./worker/worker-query.ts";

const KB = 1024;
const MB = 1024 * KB;

/** Who may call: a key with this scope, a worker with its token, or anybody. */
export type Access = "read" | "write" | "admin" | "worker" | "anybody";

export interface Route {
	methods: readonly ("GET" | "HEAD" | "POST" | "PATCH" | "DELETE")[];
	/** Segments; those with a colon are parameters, a `*` at the end is the rest of the path. */
	path: string;
	who: Access;
	/** Its operationId in `/openapi.json`, unlike all others. */
	name: string;
	/** What it does, one sentence. */
	summary: string;
	/** What it answers, and with which status, where that is not 200. */
	answer: AnswerName;
	status?: 201 | 303;
	/** What it reads; absent where a body is passed over. */
	body?: BodyName;
	/** Refusals of its own, beside those that follow from the other columns. */
	refusals?: readonly ErrorCode[];
	/** Largest body, bytes (spec 8, D3). */
	maxBody: number;
	/** Parameters of the query, for the pages about the API; each handler reads its own. */
	query?: readonly ParamReader[];
	/** Whose limits it has (spec 8, D24). */
	limit?: LimitedOperation;
	/**
	 * Whether a GET of it changes something: with a session of the console it must then show where it
	 * comes from (D31).
	 */
	changes?: (call: Call) => boolean;
	/** A poll of a worker: refusals are paced (D26). */
	poll?: true;
	/** Keys are tried here: wrong ones are paced (D31). */
	signIn?: true;
	/** Refusals have OpenAI's form instead of ours (D32). */
	errors?: "openai";
	handle: (call: Call) => Promise<void> | void;
}

const CLIENT: readonly (Omit<Route, "path"> & { operation: string })[] = [
	{
		operation: "run",
		methods: ["POST"],
		who: "write",
		name: "run",
		summary: "Queues a job and answers its id at once.",
		answer: "statusPair",
		body: "submission",
		refusals: ["queue_full", "idempotency_reused", "idempotency_expired"],
		maxBody: 10 * MB,
		limit: "run",
		handle: client.run,
	},
	{
		operation: "runsync",
		methods: ["POST"],
		who: "write",
		name: "runsync",
		summary: "Queues a job and waits for its result.",
		answer: "job",
		body: "submission",
		refusals: ["queue_full", "idempotency_reused", "idempotency_expired"],
		maxBody: 20 * MB,
		query: [SYNC_WAIT],
		limit: "runsync",
		handle: client.runsync,
	},
	{
		operation: "status/:job",
		methods: ["GET", "POST"],
		who: "read",
		name: "status",
		summary: "The job as it stands, with its result once it has ended.",
		answer: "job",
		maxBody: 64 * KB,
		query: [client.TTL],
		limit: "status",
		changes: client.shortens,
		handle: client.status,
	},
	{
		operation: "status-sync/:job",
		methods: ["GET", "POST"],
		who: "read",
		name: "statusSync",
		summary: "The job once it has ended, or as it stands when the wait is over.",
		answer: "job",
		maxBody: 64 * KB,
		query: [SYNC_WAIT],
		limit: "status-sync",
		handle: client.statusSync,
	},
	{
		operation: "stream/:job",
		methods: ["GET", "POST"],
		who: "read",
		name: "stream",
		summary: "The chunks of a job that were not delivered yet, or those from an offset on.",
		answer: "stream",
		maxBody: 64 * KB,
		query: [STREAM_WAIT, OFFSET],
		limit: "stream",
		changes: delivers,
		handle: stream,
	},
	{
		operation: "cancel/:job",
		methods: ["POST"],
		who: "write",
		name: "cancel",
		summary: "Cancels a job that waits or runs.",
		answer: "statusPair",
		maxBody: 64 * KB,
		limit: "cancel",
		handle: client.cancel,
	},
	{
		operation: "retry/:job",
		methods: ["POST"],
		who: "write",
		name: "retry",
		summary: "Queues a FAILED or TIMED_OUT job again, under the same id.",
		answer: "statusPair",
		refusals: ["job_not_retryable", "queue_full"],
		maxBody: 64 * KB,
		handle: client.retry,
	},
	{
		operation: "purge-queue",
		methods: ["POST"],
		who: "write",
		name: "purgeQueue",
		summary: "Removes every waiting job of the endpoint.",
		answer: "purged",
		maxBody: 64 * KB,
		limit: "purge-queue",
		handle: client.purge,
	},
	{
		operation: "requests",
		methods: ["GET"],
		who: "read",
		name: "requests",
		summary: "Jobs of the endpoint, the last submitted first.",
		answer: "requests",
		maxBody: 64 * KB,
		query: [client.STATUS, client.PAGE, client.CURSOR],
		limit: "requests",
		handle: client.requests,
	},
	{
		operation: "openai/*",
		methods: ["GET", "POST"],
		who: "write",
		name: "openai",
		summary: "Runs a request of OpenAI's API as a job and answers in OpenAI's form.",
		answer: "openai",
		body: "openai",
		refusals: ["queue_full", "not_ready"],
		maxBody: 20 * MB,
		errors: "openai",
		limit: "openai",
		changes: () => true,
		handle: openai,
	},
	{
		operation: "health",
		methods: ["GET"],
		who: "read",
		name: "health",
		summary: "Counts of jobs and workers of the endpoint.",
		answer: "health",
		maxBody: 64 * KB,
		handle: client.health,
	},
];

/** What is another there for the SDKs' prefix. */
function forSdks({ name, answer }: Pick<Route, "name" | "answer">): Pick<Route, "name" | "answer"> {
	return {
		name: `sdk${name.charAt(0).toUpperCase()}${name.slice(1)}`,
		answer: answer === "stream" ? "sdkStream" : answer,
	};
}

/** The same operations under both prefixes; only `/stream` answers differently (D7). */
function clientRoutes(prefix: string): Route[] {
	return CLIENT.map(({ operation, ...route }) => ({
		...route,
		path: `${prefix}/:endpoint/${operation}`,
		...(prefix === "/v2" ? {} : forSdks(route)),
	}));
}

const about = docsApi(() => ROUTES);

export const ROUTES: readonly Route[] = [
	...clientRoutes("/v2"),
	...clientRoutes("/sdk/v2"),
	{
		methods: ["GET"],
		path: "/worker/:endpoint/job-take/:worker",
		who: "worker",
		name: "jobTake",
		summary: "One job for the worker, held until there is one.",
		answer: "handedJob",
		maxBody: 64 * KB,
		query: TAKE_QUERY,
		poll: true,
		handle: worker.take,
	},
	{
		methods: ["GET"],
		path: "/worker/:endpoint/job-take-batch/:worker",
		who: "worker",
		name: "jobTakeBatch",
		summary: "Several jobs for the worker, held until there is one.",
		answer: "handedJobs",
		maxBody: 64 * KB,
		query: BATCH_QUERY,
		poll: true,
		handle: worker.takeBatch,
	},
	{
		methods: ["GET"],
		path: "/worker/:endpoint/job-stop/:worker",
		who: "worker",
		name: "jobStop",
		summary: "Jobs that the worker must stop, held until there is one.",
		answer: "jobsToStop",
		maxBody: 64 * KB,
		poll: true,
		handle: worker.stop,
	},
	{
		methods: ["POST"],
		path: "/worker/:endpoint/job-done/:worker/:job",
		who: "worker",
		name: "jobDone",
		summary: "The result, the failure or the progress of a job.",
		answer: "posted",
		body: "report",
		maxBody: RESULT_LIMIT,
		handle: worker.done,
	},
	{
		methods: ["POST"],
		path: "/worker/:endpoint/job-done-batch/:worker",
		who: "worker",
		name: "jobDoneBatch",
		summary:
			"Results of several jobs, a line each; for workers to whom a take has told how many may come together.",
		answer: "statuses",
		body: "reports",
		maxBody: RESULTS_BODY_LIMIT,
		handle: doneBatch,
	},
	{
		methods: ["POST"],
		path: "/worker/:endpoint/job-stream/:worker/:job",
		who: "worker",
		name: "jobStream",
		summary: "A chunk of the output of a job.",
		answer: "posted",
		body: "chunk",
		maxBody: RESULT_LIMIT,
		query: CHUNK_QUERY,
		handle: worker.chunk,
	},
	{
		methods: ["GET"],
		path: "/worker/:endpoint/ping/:worker",
		who: "worker",
		name: "ping",
		summary: "A sign of life of the worker and of the jobs it names.",
		answer: "posted",
		maxBody: 64 * KB,
		query: PING_QUERY,
		handle: worker.ping,
	},
	{
		methods: ["GET"],
		path: "/v1/endpoints",
		who: "read",
		name: "listEndpoints",
		summary: "The endpoints that the key may use, with their settings and counts.",
		answer: "endpoints",
		maxBody: 64 * KB,
		handle: endpoints.list,
	},
	{
		methods: ["POST"],
		path: "/v1/endpoints",
		who: "admin",
		name: "createEndpoint",
		summary: "Makes an endpoint.",
		answer: "endpoint",
		status: 201,
		body: "newEndpoint",
		refusals: ["endpoint_exists"],
		maxBody: MB,
		handle: endpoints.create,
	},
	{
		methods: ["GET"],
		path: "/v1/endpoints/:endpoint",
		who: "read",
		name: "getEndpoint",
		summary: "An endpoint with its settings and counts.",
		answer: "endpoint",
		maxBody: 64 * KB,
		handle: endpoints.get,
	},
	{
		methods: ["PATCH"],
		path: "/v1/endpoints/:endpoint",
		who: "admin",
		name: "updateEndpoint",
		summary: "Changes settings of an endpoint; null brings a default back.",
		answer: "endpoint",
		body: "settingsPatch",
		maxBody: MB,
		handle: endpoints.update,
	},
	{
		methods: ["DELETE"],
		path: "/v1/endpoints/:endpoint",
		who: "admin",
		name: "deleteEndpoint",
		summary: "Deletes an endpoint: its jobs are cancelled, its workers ended.",
		answer: "endpoint",
		body: "nothing",
		maxBody: 64 * KB,
		handle: endpoints.remove,
	},
	{
		methods: ["POST"],
		path: "/v1/endpoints/:endpoint/pause",
		who: "admin",
		name: "pauseEndpoint",
		summary: "Jobs are accepted and queued, not handed out.",
		answer: "endpoint",
		body: "nothing",
		maxBody: 64 * KB,
		handle: endpoints.pause,
	},
	{
		methods: ["POST"],
		path: "/v1/endpoints/:endpoint/resume",
		who: "admin",
		name: "resumeEndpoint",
		summary: "Jobs are handed out again.",
		answer: "endpoint",
		body: "nothing",
		maxBody: 64 * KB,
		handle: endpoints.resume,
	},
	{
		methods: ["POST"],
		path: "/v1/endpoints/:endpoint/worker-env",
		who: "admin",
		name: "workerEnv",
		summary: "Variables for a worker that somebody else starts, with a new token.",
		answer: "workerEnv",
		maxBody: 64 * KB,
		query: [endpoints.WORKER_URL, endpoints.REPLICAS],
		handle: endpoints.workerEnv,
	},
	{
		methods: ["POST"],
		path: "/v1/endpoints/:endpoint/webhook-secret",
		who: "admin",
		name: "renewWebhookSecret",
		summary: "Makes a new secret for signing webhooks and tells it this once.",
		answer: "webhookSecret",
		body: "nothing",
		maxBody: 64 * KB,
		handle: endpoints.webhookSecret,
	},
	{
		methods: ["GET"],
		path: "/v1/endpoints/:endpoint/workers",
		who: "read",
		name: "listWorkers",
		summary: "Workers of the endpoint and the jobs they hold.",
		answer: "workers",
		maxBody: 64 * KB,
		handle: endpoints.workers,
	},
	{
		methods: ["GET"],
		path: "/v1/endpoints/:endpoint/workers/:worker/logs",
		who: "admin",
		name: "workerLogs",
		summary: "What a launched worker wrote: the last lines, then what comes.",
		answer: "logs",
		refusals: ["worker_not_found"],
		maxBody: 64 * KB,
		query: [logs.TAIL, logs.FOLLOW, logs.JOB],
		handle: logs.logs,
	},
	{
		methods: ["POST"],
		path: "/v1/endpoints/:endpoint/workers/:worker/stop",
		who: "admin",
		name: "stopWorker",
		summary: "Ends a launched worker: it gets no more jobs, and goes once it holds none.",
		answer: "stopping",
		body: "nothing",
		refusals: ["worker_gone", "worker_not_launched"],
		maxBody: 64 * KB,
		handle: workerStop.stop,
	},
	{
		methods: ["GET"],
		path: "/v1/endpoints/:endpoint/metrics",
		who: "read",
		name: "endpointMetrics",
		summary: "What was counted of the endpoint over time: jobs, waits, runs and workers.",
		answer: "metrics",
		maxBody: 64 * KB,
		query: [metrics.FROM, metrics.TO, metrics.STEP],
		handle: metrics.metrics,
	},
	{
		methods: ["POST"],
		path: "/v1/endpoints/:endpoint/jobs/cancel",
		who: "write",
		name: "cancelJobs",
		summary: "Cancels a portion of the jobs of a filter; repeat it with next.",
		answer: "bulk",
		body: "bulk",
		refusals: ["bad_query"],
		maxBody: 64 * KB,
		handle: bulk.cancel,
	},
	{
		methods: ["POST"],
		path: "/v1/endpoints/:endpoint/jobs/retry",
		who: "write",
		name: "retryJobs",
		summary:
			"Queues a portion of the FAILED and TIMED_OUT jobs of a filter again; repeat it with next.",
		answer: "bulk",
		body: "bulk",
		refusals: ["bad_query", "queue_full"],
		maxBody: 64 * KB,
		handle: bulk.retry,
	},
	{
		methods: ["GET"],
		path: "/v1/feed",
		who: "read",
		name: "feed",
		summary:
			"All endpoints that the key may read as they are now, and again whenever something has changed.",
		answer: "feed",
		refusals: ["endpoint_not_found", "not_ready"],
		maxBody: 64 * KB,
		query: [feeding.ENDPOINT, feeding.INTERVAL],
		handle: feeding.feed,
	},
	{
		methods: ["GET"],
		path: "/v1/endpoints/:endpoint/jobs",
		who: "read",
		name: "listJobs",
		summary: "Jobs of the endpoint, the last submitted first.",
		answer: "jobs",
		maxBody: 64 * KB,
		query: [
			jobs.STATUSES,
			jobs.WORKER,
			jobs.FROM,
			jobs.TO,
			jobs.ID,
			jobs.EXPIRED,
			client.PAGE,
			client.CURSOR,
		],
		handle: jobs.list,
	},
	{
		methods: ["GET"],
		path: "/v1/endpoints/:endpoint/jobs/:job",
		who: "read",
		name: "getJob",
		summary: "One job with its attempts, its timeline and why it waits.",
		answer: "toldJob",
		maxBody: 64 * KB,
		handle: jobs.get,
	},
	{
		methods: ["GET"],
		path: "/v1/webhooks",
		who: "read",
		name: "listDeliveries",
		summary: "Webhook deliveries, the last made first.",
		answer: "deliveries",
		maxBody: 64 * KB,
		query: [webhooks.ENDPOINT, webhooks.JOB, webhooks.STATE, client.PAGE, client.CURSOR],
		handle: webhooks.list,
	},
	{
		methods: ["POST"],
		path: "/v1/webhooks/:delivery/redeliver",
		who: "write",
		name: "redeliver",
		summary: "Sends a delivery that is over anew.",
		answer: "delivery",
		body: "nothing",
		refusals: ["delivery_pending"],
		maxBody: 64 * KB,
		handle: webhooks.redeliver,
	},
	{
		methods: ["GET"],
		path: "/v1/keys",
		who: "admin",
		name: "listKeys",
		summary: "API keys without what they are.",
		answer: "keys",
		maxBody: 64 * KB,
		handle: keys.list,
	},
	{
		methods: ["POST"],
		path: "/v1/keys",
		who: "admin",
		name: "createKey",
		summary: "Makes an API key and tells it this once.",
		answer: "newKey",
		status: 201,
		body: "keyRequest",
		maxBody: 64 * KB,
		handle: keys.create,
	},
	{
		methods: ["DELETE"],
		path: "/v1/keys/:key",
		who: "admin",
		name: "revokeKey",
		summary: "Ends an API key.",
		answer: "key",
		body: "nothing",
		refusals: ["last_admin_key"],
		maxBody: 64 * KB,
		handle: keys.revoke,
	},
	{
		methods: ["GET"],
		path: "/v1/servers",
		who: "admin",
		name: "listServers",
		summary: "The servers that share the store, and what each does for all.",
		answer: "servers",
		maxBody: 64 * KB,
		handle: servers.list,
	},
	{
		methods: ["POST"],
		path: "/v1/console-link",
		who: "admin",
		name: "createConsoleLink",
		summary:
			"Makes a link that signs in to the console once, within 10 minutes, as the holder of this key.",
		answer: "consoleLink",
		body: "nothing",
		maxBody: 64 * KB,
		handle: consoleLink.make,
	},
	{
		methods: ["POST"],
		path: "/console/session",
		who: "anybody",
		name: "signIn",
		summary: "Signs in to the console: the cookie of the answer then stands for the key.",
		answer: "session",
		body: "signIn",
		refusals: ["unauthorized", "store_unavailable"],
		maxBody: 64 * KB,
		signIn: true,
		handle: signIn.signIn,
	},
	{
		methods: ["GET"],
		path: "/console/session",
		who: "read",
		name: "getSession",
		summary: "Who is signed in to the console.",
		answer: "session",
		maxBody: 64 * KB,
		handle: signIn.session,
	},
	{
		methods: ["DELETE"],
		path: "/console/session",
		who: "anybody",
		name: "signOut",
		summary: "Takes the cookie of the console away.",
		answer: "signedOut",
		body: "nothing",
		refusals: ["unauthorized", "store_unavailable"],
		maxBody: 64 * KB,
		handle: signIn.signOut,
	},
	{
		methods: ["GET"],
		path: "/console/link/:token",
		who: "anybody",
		name: "openConsoleLink",
		summary: "Signs in to the console by a link and leads there.",
		answer: "toConsole",
		status: 303,
		refusals: ["console_link_over", "store_unavailable"],
		maxBody: 64 * KB,
		handle: signIn.link,
	},
	{
		methods: ["GET", "HEAD"],
		path: "/console/*",
		who: "anybody",
		name: "consoleFile",
		summary: "A file of the console.",
		answer: "consoleFile",
		refusals: ["path_not_found"],
		maxBody: 64 * KB,
		handle: site.file,
	},
	{
		methods: ["GET", "HEAD"],
		path: "/console/",
		who: "anybody",
		name: "console",
		summary: "The web console.",
		answer: "docs",
		maxBody: 64 * KB,
		handle: site.page,
	},
	{
		methods: ["GET", "HEAD"],
		path: "/console",
		who: "anybody",
		name: "consoleFolder",
		summary: "Leads to the console.",
		answer: "toConsole",
		status: 303,
		maxBody: 64 * KB,
		handle: site.folder,
	},
	{
		methods: ["GET", "HEAD"],
		path: "/",
		who: "anybody",
		name: "root",
		summary: "Leads a browser to the console.",
		answer: "toConsole",
		status: 303,
		refusals: ["path_not_found"],
		maxBody: 64 * KB,
		handle: site.root,
	},
	{
		methods: ["GET"],
		path: "/healthz",
		who: "anybody",
		name: "healthz",
		summary: "Whether the process is alive.",
		answer: "alive",
		maxBody: 64 * KB,
		handle: alive,
	},
	{
		methods: ["GET"],
		path: "/readyz",
		who: "anybody",
		name: "readyz",
		summary: "Whether requests can be taken.",
		answer: "ready",
		refusals: ["not_ready"],
		maxBody: 64 * KB,
		handle: ready,
	},
	{
		methods: ["GET"],
		path: "/metrics",
		who: "read",
		name: "metrics",
		summary: "Jobs, workers, store and process for Prometheus.",
		answer: "exposition",
		maxBody: 64 * KB,
		handle: prometheus,
	},
	{
		methods: ["GET"],
		path: "/openapi.json",
		who: "anybody",
		name: "openapi",
		summary: "The API as an OpenAPI 3.1 document.",
		answer: "openapi",
		maxBody: 64 * KB,
		handle: about.openapi,
	},
	{
		methods: ["GET"],
		path: "/docs",
		who: "anybody",
		name: "docs",
		summary: "The same as a page to read.",
		answer: "docs",
		maxBody: 64 * KB,
		handle: about.docs,
	},
];
