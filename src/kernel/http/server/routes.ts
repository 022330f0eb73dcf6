/** Connects the operations of `src/kernel/api` with handlers. */
import { type Definition, type OperationName, OPERATIONS } from "../../api/operations.ts";
import type { RouteDefinition } from "../../api/definition/route.ts";
import { isManagementPath } from "../../core/management/reserved-ids.ts";
import { authenticate, authenticateWorker, recordWorker } from "../gates/auth.ts";
import * as client from "../client/client-api.ts";
import { isHead } from "../exchange/call.ts";
import { delivers, stream } from "../client/stream-api.ts";
import * as site from "../console/console-api.ts";
import * as session from "../console/session-api.ts";
import { apiFile, apiReference, openapi } from "../docs/docs-api.ts";
import * as documentation from "../docs/site-api.ts";
import { admit } from "../gates/admit.ts";
import { boundManagement } from "../gates/management.ts";
import * as catalog from "../management/catalog-api.ts";
import * as managedReleases from "../management/releases-api.ts";
import * as managed from "../management/endpoints-api.ts";
import * as managedWorkers from "../management/workers-api.ts";
import * as logins from "../management/registries-api.ts";
import * as secrets from "../management/secrets-api.ts";
import * as templates from "../management/templates-api.ts";
import { listBuilds, listPods, unsupported } from "../management/unsupported-api.ts";
import * as volumes from "../management/volumes-api.ts";
import { streamLogs } from "../management/worker-logs-api.ts";
import { metrics as prometheus } from "../metrics/metrics-api.ts";
import { openai } from "../openai/openai-api.ts";
import { type Match, matcher } from "./match.ts";
import type { Gate, Handler, Route } from "./route.ts";
import { alive, listServers, ready } from "./service-api.ts";
import * as alerts from "../v1/alerts-api.ts";
import * as audit from "../v1/audit-api.ts";
import * as backup from "../v1/backup-api.ts";
import * as endpoints from "../v1/endpoints-api.ts";
import * as liveFeed from "../v1/feed-api.ts";
import * as gpus from "../v1/gpus-api.ts";
import * as hosts from "../v1/hosts-api.ts";
import * as jobs from "../v1/jobs-api.ts";
import * as keys from "../v1/keys-api.ts";
import * as logs from "../v1/logs-api.ts";
import * as metrics from "../v1/metrics-api.ts";
import { answeredByScaler } from "./other-servers.ts";
import * as releases from "../v1/releases-api.ts";
import * as registries from "../v1/registries-api.ts";
import * as sessions from "../v1/sessions-api.ts";
import * as webhooks from "../v1/webhooks-api.ts";
import * as workers from "../v1/workers-api.ts";
import { chunk, chunkBatch } from "../worker/chunk-api.ts";
import { doneBatch } from "../worker/done-batch.ts";
import * as worker from "../worker/worker-api.ts";

type Handlers = {
	readonly [Name in OperationName]: Handler<Extract<Definition, { name: Name }>>;
};

const HANDLERS: Handlers = {
	run: client.run,
	runsync: client.runsync,
	status: client.status,
	statusSync: client.statusSync,
	stream,
	cancel: client.cancel,
	retry: client.retry,
	purgeQueue: client.purge,
	requests: client.requests,
	openai,
	health: client.health,
	jobTake: worker.take,
	jobTakeBatch: worker.takeBatch,
	jobStop: worker.stop,
	jobDone: worker.done,
	jobDoneBatch: doneBatch,
	jobStream: chunk,
	jobStreamBatch: chunkBatch,
	ping: worker.ping,
	listEndpoints: endpoints.list,
	createEndpoint: endpoints.create,
	getEndpoint: endpoints.get,
	updateEndpoint: endpoints.update,
	putEndpoint: endpoints.put,
	compareEndpoints: endpoints.compare,
	deleteEndpoint: endpoints.remove,
	pauseEndpoint: endpoints.pause,
	resumeEndpoint: endpoints.resume,
	workerEnv: endpoints.workerEnv,
	renewWebhookSecret: endpoints.webhookSecret,
	listReleases: releases.list,
	rollBackRelease: releases.rollBack,
	listWorkers: workers.list,
	startWorkers: workers.start,
	workerLogs: logs.logs,
	searchLogs: logs.search,
	serviceLog: logs.serviceLog,
	stopWorker: workers.stop,
	endpointMetrics: metrics.metrics,
	allMetrics: metrics.totals,
	endpointDemand: metrics.demand,
	feed: liveFeed.feed,
	listJobs: jobs.list,
	getJob: jobs.get,
	cancelJobs: jobs.cancel,
	retryJobs: jobs.retry,
	listDeliveries: webhooks.list,
	getDelivery: webhooks.get,
	redeliver: webhooks.redeliver,
	listReceivers: webhooks.listReceivers,
	enableReceiver: webhooks.enableReceiver,
	listAlerts: alerts.list,
	testAlerts: alerts.test,
	silenceAlert: alerts.silence,
	endSilence: alerts.endSilence,
	listKeys: keys.list,
	createKey: keys.create,
	rotateKey: keys.rotate,
	listAudit: audit.list,
	revokeKey: keys.revoke,
	listTemplates: templates.list,
	createTemplate: templates.create,
	getTemplate: templates.get,
	changeTemplate: templates.change,
	removeTemplate: templates.remove,
	listPublicTemplates: templates.listPublic,
	listLogins: logins.list,
	createLogin: logins.create,
	getLogin: logins.get,
	removeLogin: logins.remove,
	listVolumes: volumes.list,
	createVolume: volumes.create,
	getVolume: volumes.get,
	changeVolume: volumes.change,
	removeVolume: volumes.remove,
	listSecrets: secrets.list,
	createSecret: secrets.create,
	getSecret: secrets.get,
	changeSecret: secrets.change,
	removeSecret: secrets.remove,
	listRegistries: registries.list,
	putRegistry: registries.put,
	removeRegistry: registries.remove,
	listSessions: sessions.list,
	endSession: sessions.end,
	endSessions: sessions.endAll,
	listServers: listServers,
	listGpus: gpus.list,
	listHosts: hosts.list,
	drainHost: hosts.drain,
	resumeHost: hosts.resume,
	createBackup: backup.create,
	getBackup: backup.get,
	createConsoleLink: session.createLink,
	signIn: session.signIn,
	getSession: session.session,
	signOut: session.signOut,
	consoleFile: site.file,
	console: site.page,
	consoleFolder: site.folder,
	root: site.root,
	healthz: alive,
	readyz: ready,
	metrics: prometheus,
	openapi,
	streamWorkerLogs: streamLogs,
	listManagedReleases: managedReleases.list,
	listManaged: managed.list,
	createManaged: managed.create,
	getManaged: managed.get,
	updateManaged: managed.update,
	deleteManaged: managed.remove,
	listManagedWorkers: managedWorkers.list,
	listBuilds,
	listGpuTypes: catalog.listGpus,
	getGpuType: catalog.getGpu,
	listCpuTypes: catalog.listCpus,
	getCpuType: catalog.getCpu,
	listDataCenters: catalog.listCenters,
	getDataCenter: catalog.getCenter,
	listPods,
	managementOpenapi: openapi,
	unsupported,
	apiFile,
	apiReference,
	apiFolder: documentation.apiFolder,
	docs: documentation.docs,
	docsFile: documentation.docsFile,
	docsFolder: documentation.docsFolder,
};

/** GETs with side effects (D31). */
const CHANGES: Partial<Record<OperationName, Route["changes"]>> = {
	status: client.shortens,
	stream: delivers,
	openai: (call) => !isHead(call),
};

/** Client operations on single jobs have the limits of their endpoint (D24) instead. */
const UNPACED: ReadonlySet<OperationName> = new Set([
	"run",
	"runsync",
	"status",
	"statusSync",
	"stream",
	"cancel",
	"retry",
	"openai",
	"health",
]);

function gatesOf({ access, path, errorForm }: RouteDefinition): readonly Gate[] {
	if (access === "anyone") return [];
	if (access === "worker") return [authenticateWorker, answeredByScaler, recordWorker];
	const managed = path.startsWith("/v1/") || errorForm === "problem";
	return managed ? [authenticate, boundManagement, admit] : [authenticate, admit];
}

export const ROUTES: readonly Route[] = OPERATIONS.map((operation) => ({
	...operation,
	gates: gatesOf(operation),
	handle: HANDLERS[operation.definition],
	paced: !UNPACED.has(operation.definition) && operation.access !== "anyone" && operation.access !== "worker",
	changes: CHANGES[operation.definition],
}));

const findManagement = matcher(ROUTES.filter(({ errorForm }) => errorForm === "problem"));
const findOther = matcher(ROUTES.filter(({ errorForm }) => errorForm !== "problem"));

/** Two APIs share the prefix `/v2/`: the first segment says which (D49). */
export function findRoutes(path: string): Match<Route> | undefined {
	return (isManagementPath(path) ? findManagement : findOther)(path);
}
