/** The shapes of the service's API that the console reads. Moments are ISO 8601, times ms. */
export type { Principal } from "../../src/api/console.ts";
export type { Endpoint } from "../../src/api/endpoints.ts";
export type { JobDetail, JobList, JobSummary } from "../../src/api/job-records.ts";
export type { JobCounts, WorkerCounts } from "../../src/api/jobs.ts";
export type { Gpu, GpuSpan } from "../../src/api/gpus.ts";
export type { Release } from "../../src/api/releases.ts";
export type { Host } from "../../src/api/hosts.ts";
export type { Key, KeyList, NewKey } from "../../src/api/keys.ts";
export type { ConsoleSession } from "../../src/api/sessions.ts";
export type { EndpointTotals, Metrics, Overview, Series, Totals } from "../../src/api/metrics.ts";
export type { Server } from "../../src/api/service.ts";
export type { AuditEntry } from "../../src/api/audit.ts";
export type { Alert, Alerts } from "../../src/api/alerts.ts";
export type { Delivery, DeliveryDetail, Receiver } from "../../src/api/webhooks.ts";
export type {
	EndedWorker,
	FoundLine,
	LogLine,
	Worker,
	WorkerReason,
} from "../../src/api/workers.ts";
export type { DeliveryState } from "../../src/core/webhooks/delivery.ts";
export type { JobState } from "../../src/core/jobs/job-states.ts";
export type { Scope } from "../../src/core/access/key-request.ts";

/** A page of a list; `next` is the cursor of the page after it. */
export type Page<Name extends string, Item> = Record<Name, readonly Item[]> & {
	next: string | null;
};
