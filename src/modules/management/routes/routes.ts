/** RunPod's management API v2 (D49), in the order of the documentation. */
import { CATALOG_ROUTES } from "./catalog.ts";
import { MANAGED_ENDPOINT_ROUTES } from "./endpoints.ts";
import { LOGIN_ROUTES } from "./registries.ts";
import { LIST_MANAGED_RELEASES } from "./releases.ts";
import { SECRET_ROUTES } from "./secrets.ts";
import { TEMPLATE_ROUTES } from "./templates.ts";
import { LIST_BUILDS, LIST_PODS, UNSUPPORTED_ROUTES } from "./unsupported.ts";
import { VOLUME_ROUTES } from "./volumes.ts";
import { STREAM_WORKER_LOGS } from "./worker-logs.ts";
import { LIST_MANAGED_WORKERS } from "./workers.ts";

export const MANAGEMENT_ROUTES = [
	STREAM_WORKER_LOGS,
	LIST_MANAGED_RELEASES,
	...MANAGED_ENDPOINT_ROUTES,
	LIST_MANAGED_WORKERS,
	LIST_BUILDS,
	...TEMPLATE_ROUTES,
	...LOGIN_ROUTES,
	...VOLUME_ROUTES,
	...SECRET_ROUTES,
	...CATALOG_ROUTES,
	LIST_PODS,
	...UNSUPPORTED_ROUTES,
] as const;
