import type { Endpoint } from "../../../core/endpoints/endpoint.ts";
import type { AssignedGpus } from "../../../core/workers/gpu-part.ts";
import { gpuPartEnv, MAPPING_VARIABLE, workerEnv } from "../../../core/workers/worker-env.ts";
import type { WorkerAdapter, WorkerSpec } from "../../../launchers/launcher.ts";

export const WORKER_ID_BYTES = 6;

export interface ServiceAddress {
	/** No slash at the end. */
	url: string;
	/** Marks the workers of this service, or of this server where only that finds them. */
	serviceId: string;
}

export interface ServiceAddresses {
	/** On the machine of this server. */
	own: ServiceAddress;
	/** On a platform that all servers reach: the address of all of them together. */
	shared: ServiceAddress;
}

/** Whether this is the id of a launched worker of the endpoint, running or not. */
export function isWorkerOf(endpoint: string, worker: string): boolean {
	return worker.startsWith(`${endpoint}-`) && /^[0-9a-f]{12}$/.test(worker.slice(endpoint.length + 1));
}

export function workerSpec(q: {
	endpoint: Endpoint;
	adapter?: WorkerAdapter | undefined;
	id: string;
	token: string;
	gpus: AssignedGpus;
	url: string;
	serviceId: string;
	/** Whether workers of an earlier release are there. */
	isRolling: boolean;
}): WorkerSpec {
	const { endpoint, adapter, id, url, serviceId } = q;
	const { gpus, sizeGb } = q.gpus;
	const { leaseMs, gpuMemoryGb } = endpoint;
	const env = {
		// Python prints to the log at once, while the job runs.
		PYTHONUNBUFFERED: "1",
		...(gpuMemoryGb !== undefined && sizeGb !== undefined && gpuPartEnv(gpuMemoryGb, sizeGb)),
		...endpoint.env,
		...workerEnv({ url, endpoint: endpoint.id, worker: id, token: q.token, leaseMs }),
		...(adapter && { [MAPPING_VARIABLE]: adapter.mapping }),
	};
	return {
		workerId: id,
		endpoint: endpoint.id,
		settings: endpoint.launcher,
		env,
		serviceId,
		url,
		adapter,
		gpus,
		gpuCount: endpoint.gpusPerWorker,
		gpuMemoryGb,
		priority: endpoint.priority,
		workersMax: endpoint.workersMax + (q.isRolling ? endpoint.release.maxSurge : 0),
		stopGraceMs: endpoint.stopGraceMs,
	};
}
