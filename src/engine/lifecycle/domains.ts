import type { Access } from "../access/access.ts";
import type { Availability } from "../availability/availability.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Membership } from "../cluster/cluster-state.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { JobDomain } from "../jobs/jobs.ts";
import type { Limits } from "../limits/limits.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Scaling } from "../scaling/scaling.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { WorkerDomain } from "../workers/workers.ts";

/** Everything that the start and the stop of the engine deal with. */
export interface Domains extends EngineContext {
	availability: Availability;
	access: Access;
	limits: Limits;
	cluster: Cluster;
	membership: Membership;
	endpoints: Endpoints;
	workers: WorkerDomain;
	jobs: JobDomain;
	scaling: Scaling;
	webhooks: Webhooks;
	metrics: Metrics;
}
