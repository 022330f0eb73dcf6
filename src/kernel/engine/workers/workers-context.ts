import type { Launcher, WorkerLogs } from "../../launchers/launcher.ts";
import type { Access } from "../access/access.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { EngineContext } from "../context.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Secrets } from "../management/secrets.ts";
import type { WorkerRegistry } from "./worker-registry.ts";
import type { ServiceAddresses } from "./launch/worker-spec.ts";

export interface WorkersContext extends EngineContext {
	access: Access;
	cluster: Cluster;
	endpoints: Endpoints;
	secrets: Pick<Secrets, "resolve">;
	registry: WorkerRegistry;
	launchers: ReadonlyMap<string, Launcher>;
	workerLogs: WorkerLogs;
	/** GPUs of this machine that launched workers share. */
	gpus: number;
	/** Known once the service listens: nothing is launched before. */
	address: Promise<ServiceAddresses>;
	hostname?: string | undefined;
}
