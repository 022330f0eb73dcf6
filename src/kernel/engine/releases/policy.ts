/** What a module decides about versions of settings (D50). Without one, each version replaces that before it. */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import type { Worker } from "../workers/worker-registry.ts";

export interface ReleasePolicy {
	/** Called after a change of endpoints. */
	refresh(): void;
	/** Launch hash of an earlier version, whose workers stay beside those of the current one. Undefined: none. */
	beside(endpoint: Endpoint): string | undefined;
	/** Settings of the next worker, while these are `staying`. Undefined: none can be started yet. */
	settingsFor(endpoint: Endpoint, staying: readonly Worker[]): Endpoint | undefined;
	/** Which of the surplus workers may be stopped, while so many are `wanted`. */
	stoppable(endpoint: Endpoint, staying: readonly Worker[], q: { surplus: Worker[]; wanted: number }): Worker[];
	/** Whether no worker of its version was healthy so far. */
	isUnproven(worker: Pick<Worker, "endpoint" | "launchedAs">): boolean;
	/** Called in each round of scaling. */
	judge(endpoint: Endpoint, q: Judged): void;
}

export interface Judged {
	isHealthy: (endpoint: Endpoint, worker: Worker) => boolean;
	/** Forgets crashes, so that workers are started at once. */
	startNow: (endpoint: string) => void;
}
