/** Schemas of the API by their names in its document. */
import { AUDIT_ENTRY } from "../../src/modules/audit/routes.ts";
import { BACKUP_STATUS } from "../../src/modules/backup/routes.ts";
import { ENDPOINT } from "../../src/kernel/api/endpoints.ts";
import { ERROR, OPENAI_ERROR, PROBLEM } from "./error-schemas.ts";
import { BULK, JOB_DETAIL, JOB_SUMMARY } from "../../src/kernel/api/job-records.ts";
import { CHUNK, HEALTH, JOB, LISTED_JOB, PURGED, STATUS_PAIR } from "../../src/kernel/api/jobs.ts";
import { GPU } from "../../src/modules/gpus/routes.ts";
import { HOST } from "../../src/modules/docker/routes.ts";
import { MANAGED_ENDPOINT } from "../../src/modules/management/routes/endpoints.ts";
import { MANAGED_WORKER } from "../../src/modules/management/routes/workers.ts";
import { KEY, NEW_KEY } from "../../src/kernel/api/keys.ts";
import { DEMAND, METRICS, TOTALS } from "../../src/modules/metrics/routes.ts";
import { RESPONSE } from "../../src/modules/openai/background/routes.ts";
import { BATCH } from "../../src/modules/openai-async/routes.ts";
import { VIDEO } from "../../src/modules/openai-videos/routes.ts";
import { FILE } from "../../src/modules/files/routes.ts";
import { JOB_FILE } from "../../src/modules/s3/workers/routes.ts";
import { REGISTRY } from "../../src/modules/registries/routes.ts";
import { RELEASE } from "../../src/modules/releases/routes.ts";
import type { JsonSchema } from "../../src/kernel/api/definition/schema.ts";
import { CONSOLE_SESSION, PRINCIPAL } from "../../src/modules/console/routes.ts";
import { SERVER } from "../../src/kernel/api/service.ts";
import { DELIVERY } from "../../src/modules/webhooks/routes.ts";
import { DISPATCHED_JOB } from "../../src/kernel/api/worker-protocol.ts";
import { WORKER } from "../../src/kernel/api/workers.ts";

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
	Batch: BATCH,
	Response: RESPONSE,
	Video: VIDEO,
	File: FILE,
	JobFile: JOB_FILE,
	Registry: REGISTRY,
	ConsoleSession: CONSOLE_SESSION,
	AuditEntry: AUDIT_ENTRY,
	ManagedEndpoint: MANAGED_ENDPOINT,
	ManagedWorker: MANAGED_WORKER,
};
