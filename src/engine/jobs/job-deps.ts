import type { Access } from "../access/access.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { WorkerDomain } from "../workers/workers.ts";
import type { Dispatch } from "./dispatch.ts";
import type { CompletionWaiters } from "./wait.ts";

/** What the operations on jobs are given; each names the part that it needs. */
export interface JobDeps extends EngineContext {
	access: Pick<Access, "encryption" | "tokens">;
	cluster: Pick<Cluster, "shared" | "others" | "leads">;
	endpoints: Pick<Endpoints, "get" | "has" | "entry">;
	workers: Pick<WorkerDomain, "registry" | "launcher" | "stopSignals" | "allViews" | "ended">;
	dispatch: Dispatch;
	waiters: CompletionWaiters;
}

export interface JobName {
	endpoint: string;
	id: string;
}
