import type { Access } from "../access/access.ts";
import type { SealKeys } from "../../secrets/encryption.ts";
import type { Availability } from "../availability/availability.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { JobDomain } from "../jobs/jobs.ts";
import type { Limits } from "../limits/limits.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Scaling } from "../scaling/scaling.ts";
import type { Workers } from "../workers/workers.ts";

export interface Domains extends EngineContext {
	sealKeys: SealKeys;
	availability: Availability;
	access: Access;
	limits: Limits;
	cluster: Cluster;
	endpoints: Endpoints;
	workers: Workers;
	jobs: JobDomain;
	scaling: Scaling;
	metrics: Metrics;
}
