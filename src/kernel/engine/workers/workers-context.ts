import type { Launcher, WorkerLogs } from "../../launchers/launcher.ts";
import type { Access } from "../access/access.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { WorkerRegistry } from "./worker-registry.ts";
import type { ServiceAddresses } from "./launch/worker-spec.ts";

/** Variables of a worker that starts, and texts by name that its output must not show. */
export interface WorkerVariables {
	env: Readonly<Record<string, string>>;
	hidden: Readonly<Record<string, string>>;
}

export interface WorkersContext extends EngineContext {
	access: Access;
	cluster: Cluster;
	endpoints: Endpoints;
	/** Variables for the `env` of an endpoint. Throws an Error with a sentence. */
	variables: (env: WorkerVariables["env"]) => Promise<WorkerVariables>;
	registry: WorkerRegistry;
	launchers: ReadonlyMap<string, Launcher>;
	workerLogs: WorkerLogs;
	/** GPUs of this machine that launched workers share. */
	gpus: number;
	/** Known once the service listens: nothing is launched before. */
	address: Promise<ServiceAddresses>;
	hostname?: string | undefined;
}
