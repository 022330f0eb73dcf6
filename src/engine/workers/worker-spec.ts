/** What a launcher starts for an endpoint, and whether a worker runs with its current settings. */
import { hash } from "node:crypto";
import type { Endpoint } from "../../core/endpoint.ts";
import { workerEnv } from "../../core/workers/worker-env.ts";
import { replacementSettings } from "../../launchers/index.ts";
import type { WorkerSpec } from "../../launchers/launcher.ts";

/** Bytes of the random end of a launched worker's id. */
export const WORKER_ID_BYTES = 6;

/** Where launched workers find the service. */
export interface ServiceAddress {
	/** Address that workers call, without a slash at the end. */
	url: string;
	/** Identity of this service, or of this server where only that finds the workers: marks them. */
	serviceId: string;
}

/** Addresses for launched workers, by where they run. */
export interface ServiceAddresses {
	/** Address on the machine of this server. */
	own: ServiceAddress;
	/** On a platform that all servers reach: of all of them together. */
	shared: ServiceAddress;
}

/** Whether this is the id of a launched worker of the endpoint, running or not. */
export function isWorkerOf(endpoint: string, worker: string): boolean {
	return worker.startsWith(`${endpoint}-`) && /^[0-9a-f]{12}$/.test(worker.slice(endpoint.length + 1));
}

/** Hash of launcher and environment, whatever the order of their members. */
export function launchHash({ launcher, env }: Pick<Endpoint, "launcher" | "env">): string {
	const members = [replacementSettings(launcher), env];
	return hash("sha256", JSON.stringify(members.map(sorted)), "hex");
}

function sorted(members: object): unknown {
	return Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** The worker to start. */
export function workerSpec(q: {
	endpoint: Endpoint;
	id: string;
	token: string;
	gpus: readonly number[];
	url: string;
	serviceId: string;
}): WorkerSpec {
	const { endpoint, id, gpus, url, serviceId } = q;
	const env = {
		// What Python prints is in the log at once, while its job runs.
		PYTHONUNBUFFERED: "1",
		...endpoint.env,
		...workerEnv({
			url,
			endpoint: endpoint.id,
			worker: id,
			token: q.token,
			leaseMs: endpoint.leaseMs,
		}),
	};
	return {
		workerId: id,
		endpoint: endpoint.id,
		settings: endpoint.launcher,
		env,
		serviceId,
		url,
		gpus,
		gpuCount: endpoint.gpusPerWorker,
		workersMax: endpoint.workersMax,
		stopGraceMs: endpoint.stopGraceMs,
	};
}
