/** The shapes of the service's API that the console reads. Moments are ISO 8601, times ms. */
export type { Principal } from "../../../src/modules/console/routes.ts";
export type { Endpoint } from "../../../src/kernel/api/endpoints.ts";
export type { JobDetail, JobList, JobSummary } from "../../../src/kernel/api/job-records.ts";
export type { JobCounts, WorkerCounts } from "../../../src/kernel/api/jobs.ts";
export type { Gpu, GpuSpan } from "../../../src/modules/gpus/routes.ts";
export type { HttpPreset } from "../../../src/modules/http-workers/routes.ts";
export type { Release } from "../../../src/modules/releases/routes.ts";
export type { FileObject } from "../../../src/modules/files/routes.ts";
export type { JobFileList, JobFileRecord as JobFile } from "../../../src/modules/s3/workers/routes.ts";
export type { BatchObject } from "../../../src/modules/openai-async/routes.ts";
export type { Host } from "../../../src/modules/docker/routes.ts";
export type { Key, KeyList, NewKey } from "../../../src/kernel/api/keys.ts";
export type { ConsoleSession } from "../../../src/modules/console/routes.ts";
export type { EndpointTotals, Metrics, Overview, Series, Totals } from "../../../src/modules/metrics/routes.ts";
export type { Server } from "../../../src/kernel/api/service.ts";
export type { AuditEntry } from "../../../src/modules/audit/routes.ts";
export type { Alert, Alerts } from "../../../src/modules/alerts/routes.ts";
export type { Delivery, DeliveryDetail } from "../../../src/modules/webhooks/routes.ts";
export type { EndedWorker, Worker, WorkerReason } from "../../../src/kernel/api/workers.ts";
export type { FoundLine, LogLine } from "../../../src/modules/logs/routes.ts";
export type { DeliveryState } from "../../../src/kernel/core/webhooks.ts";
export type { JobState } from "../../../src/kernel/core/jobs/job-states.ts";
export type { Scope } from "../../../src/kernel/core/access/key-request.ts";

/** A page of a list; `next` is the cursor of the page after it. */
export type Page<Name extends string, Item> = Record<Name, readonly Item[]> & {
	next: string | null;
};
