import type { Access } from "../access/access.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Workers } from "../workers/workers.ts";
import type { Dispatch } from "./dispatch/dispatch.ts";
import type { CompletionWaiters } from "./wait.ts";

export interface JobDeps extends EngineContext {
	access: Pick<Access, "encryption" | "tokens">;
	cluster: Pick<Cluster, "shared" | "others" | "leads">;
	endpoints: Pick<Endpoints, "get" | "has" | "entry" | "releaseOf">;
	workers: Pick<Workers, "registry" | "launcher" | "stopSignals" | "allViews" | "ended">;
	dispatch: Dispatch;
	waiters: CompletionWaiters;
}

export interface JobName {
	endpoint: string;
	id: string;
}
