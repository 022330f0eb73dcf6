/** In the order of the documentation. */
import { ALERT_ROUTES } from "./alerts.ts";
import { LIST_AUDIT } from "./audit.ts";
import { BACKUP_ROUTES } from "./backup.ts";
import { CONSOLE_ROUTES } from "./console.ts";
import { ENDPOINT_ROUTES } from "./endpoints.ts";
import { JOB_RECORD_ROUTES } from "./job-records.ts";
import { CLIENT_ROUTES, sdkRoute } from "./jobs.ts";
import { LIST_GPUS } from "./gpus.ts";
import { HOST_ROUTES } from "./hosts.ts";
import { MANAGEMENT_ROUTES } from "./management/routes.ts";
import { KEY_ROUTES } from "./keys.ts";
import { ALL_METRICS, ENDPOINT_DEMAND, ENDPOINT_METRICS, FEED, PROMETHEUS } from "./metrics.ts";
import { REGISTRY_ROUTES } from "./registries.ts";
import { RELEASE_ROUTES } from "./releases.ts";
import type { RouteDefinition } from "./definition/route.ts";
import { SESSION_ROUTES } from "./sessions.ts";
import { DOCUMENTATION_ROUTES, HEALTHZ, LIST_SERVERS, READYZ, SERVICE_LOG } from "./service.ts";
import { WEBHOOK_ROUTES } from "./webhooks.ts";
import { WORKER_ROUTES } from "./worker-protocol.ts";
import { WORKER_ADMIN_ROUTES } from "./workers.ts";

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
	...ALERT_ROUTES,
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
