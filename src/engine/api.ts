/** What the engine offers to `http` and `compose`. */
import type { BudgetMeters } from "../budgets.ts";
import type { EpochMs } from "../core/time.ts";
import type { Access } from "./access/access.ts";
import type { Backups } from "./availability/backups.ts";
import type { Calendar } from "./availability/job-clock.ts";
import type { Cluster } from "./cluster/cluster.ts";
import type { Endpoints } from "./endpoints/endpoints.ts";
import type { Jobs } from "./jobs/jobs.ts";
import type { Lifecycle } from "./lifecycle/lifecycle.ts";
import type { Admit } from "./limits/admission.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";
import type { Workers } from "./workers/workers.ts";

/** What clients, workers and operators can do. Throws `ApiError` for refusals. */
export interface Engine extends Lifecycle {
	access: Pick<Access, "keys" | "sessions" | "consoleLinks" | "tokens" | "failures" | "audit" | "registries">;
	/** Rate and concurrency limits of spec 8 (D24). */
	limits: { admit: Admit };
	jobs: Jobs;
	endpoints: Endpoints;
	workers: Workers;
	webhooks: Webhooks;
	metrics: Metrics;
	cluster: Cluster;
	backups: Backups;
	/** Budgets of this server (D41). */
	budgets: BudgetMeters;
	/** The job clock. */
	now(): EpochMs;
	/** Time of day of job times: for what is shown. */
	calendar: Calendar;
}
