/** In the order of the documentation. */
import { AUDIT_ENTRY, LIST_AUDIT } from "./audit.ts";
import { BACKUP_ROUTES, BACKUP_STATUS } from "./backup.ts";
import { CONSOLE_ROUTES, PRINCIPAL } from "./console.ts";
import { ENDPOINT, ENDPOINT_ROUTES } from "./endpoints.ts";
import { ERROR, OPENAI_ERROR, PROBLEM } from "./definition/errors.ts";
import { BULK, JOB_DETAIL, JOB_RECORD_ROUTES, JOB_SUMMARY } from "./job-records.ts";
import { CHUNK, CLIENT_ROUTES, HEALTH, JOB, LISTED_JOB, PURGED, STATUS_PAIR, sdkRoute } from "./jobs.ts";
import { GPU, LIST_GPUS } from "./gpus.ts";
import { HOST, HOST_ROUTES } from "./hosts.ts";
import { MANAGED_ENDPOINT } from "./management/endpoints.ts";
import { MANAGEMENT_ROUTES } from "./management/routes.ts";
import { MANAGED_WORKER } from "./management/workers.ts";
import { KEY, KEY_ROUTES, NEW_KEY } from "./keys.ts";
import {
	ALL_METRICS,
	DEMAND,
	ENDPOINT_DEMAND,
	ENDPOINT_METRICS,
	FEED,
	METRICS,
	PROMETHEUS,
	TOTALS,
} from "./metrics.ts";
import { REGISTRY, REGISTRY_ROUTES } from "./registries.ts";
import { RELEASE, RELEASE_ROUTES } from "./releases.ts";
import type { RouteDefinition } from "./definition/route.ts";
import type { JsonSchema } from "./definition/schema.ts";
import { CONSOLE_SESSION, SESSION_ROUTES } from "./sessions.ts";
import { DOCUMENTATION_ROUTES, HEALTHZ, LIST_SERVERS, READYZ, SERVER, SERVICE_LOG } from "./service.ts";
import { DELIVERY, WEBHOOK_ROUTES } from "./webhooks.ts";
import { DISPATCHED_JOB, WORKER_ROUTES } from "./worker-protocol.ts";
import { WORKER, WORKER_ADMIN_ROUTES } from "./workers.ts";

export const SCHEMAS: Readonly<Record<string, JsonSchema>> = {
	StatusPair: STATUS_PAIR,
	Job: JOB,
	Chunk: CHUNK,
	Purged: PURGED,
	Health: HEALTH,
	ListedJob: LISTED_JOB,
	Error: ERROR,
	OpenAIError: OPENAI_ERROR,
	Problem: PROBLEM,
	DispatchedJob: DISPATCHED_JOB,
	Endpoint: ENDPOINT,
	Worker: WORKER,
	Server: SERVER,
	Gpu: GPU,
	Host: HOST,
	BackupStatus: BACKUP_STATUS,
	Metrics: METRICS,
	MetricTotals: TOTALS,
	Demand: DEMAND,
	Bulk: BULK,
	JobSummary: JOB_SUMMARY,
	JobDetail: JOB_DETAIL,
	Delivery: DELIVERY,
	Key: KEY,
	Principal: PRINCIPAL,
	NewKey: NEW_KEY,
	Release: RELEASE,
	Registry: REGISTRY,
	ConsoleSession: CONSOLE_SESSION,
	AuditEntry: AUDIT_ENTRY,
	ManagedEndpoint: MANAGED_ENDPOINT,
	ManagedWorker: MANAGED_WORKER,
};

const OTHER_ROUTES = [
	...WORKER_ROUTES,
	...ENDPOINT_ROUTES,
	...RELEASE_ROUTES,
	...WORKER_ADMIN_ROUTES,
	ENDPOINT_METRICS,
	ALL_METRICS,
	ENDPOINT_DEMAND,
	FEED,
	...JOB_RECORD_ROUTES,
	...WEBHOOK_ROUTES,
	...KEY_ROUTES,
	...REGISTRY_ROUTES,
	...SESSION_ROUTES,
	LIST_AUDIT,
	LIST_SERVERS,
	SERVICE_LOG,
	LIST_GPUS,
	...HOST_ROUTES,
	...BACKUP_ROUTES,
	...MANAGEMENT_ROUTES,
	...CONSOLE_ROUTES,
	HEALTHZ,
	READYZ,
	PROMETHEUS,
	...DOCUMENTATION_ROUTES,
] as const;

export type Definition = (typeof CLIENT_ROUTES | typeof OTHER_ROUTES)[number];
export type OperationName = Definition["name"];

export interface Operation extends RouteDefinition {
	/** One definition serves `/v2` and `/sdk/v2`. */
	readonly definition: OperationName;
}

export const OPERATIONS: readonly Operation[] = [
	...CLIENT_ROUTES.map((each) => ({ ...each, definition: each.name })),
	...CLIENT_ROUTES.map((each) => ({ ...sdkRoute(each), definition: each.name })),
	...OTHER_ROUTES.map((each) => ({ ...each, definition: each.name })),
];
