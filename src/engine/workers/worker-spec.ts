/**
 * What a launcher is asked to start for an endpoint, and what tells whether a worker was started
 * with the settings of today.
 */
import { hash } from "node:crypto";
import type { Endpoint } from "../../core/endpoint.ts";
import { workerEnv } from "../../core/worker-env.ts";
import type { WorkerSpec } from "../../launchers/launcher.ts";

/** The variable that marks a process as this service's, so that one left behind can be found. */
const SERVICE_MARK = "SLUICE_SERVICE_ID";

/** Bytes of the random end of a launched worker's id. */
export const WORKER_ID_BYTES = 6;

/** Whether a launched worker with this id is one of the endpoint, running or not. */
export function isWorkerOf(endpoint: string, worker: string): boolean {
	return (
		worker.startsWith(`${endpoint}-`) && /^[0-9a-f]{12}$/.test(worker.slice(endpoint.length + 1))
	);
}

/**
 * What a worker was started with, as a hash: launcher and environment, whatever the order of their
 * members.
 */
export function launchHash({ launcher, env }: Pick<Endpoint, "launcher" | "env">): string {
	return hash("sha256", JSON.stringify([launcher, env].map(sorted)), "hex");
}

function sorted(members: object): unknown {
	return Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * The worker to start. Throws for an endpoint that launches none. A container gets nothing of the
 * service's own environment, and is told its GPUs by the daemon.
 */
export function workerSpec(q: {
	endpoint: Endpoint;
	id: string;
	token: string;
	gpus: readonly number[];
	url: string;
	/** Environment of every process under its own. */
	baseEnv: Readonly<Record<string, string>>;
	serviceId: string;
}): WorkerSpec {
	const { endpoint, id, gpus, url, serviceId } = q;
	const { launcher } = endpoint;
	const env = {
		...endpoint.env,
		...workerEnv({
			url,
			endpoint: endpoint.id,
			worker: id,
			token: q.token,
			leaseMs: endpoint.leaseMs,
		}),
	};
	const common = {
		workerId: id,
		endpoint: endpoint.id,
		url,
		serviceId,
		...(gpus.length > 0 && { gpus }),
	};
	switch (launcher.type) {
		case "process": {
			const devices = gpus.length > 0 && { CUDA_VISIBLE_DEVICES: gpus.join(",") };
			return {
				...common,
				command: launcher.command,
				cwd: launcher.cwd ?? ".",
				env: { ...q.baseEnv, ...env, ...devices, [SERVICE_MARK]: serviceId },
			};
		}
		case "docker":
			return { ...common, command: launcher.command ?? [], cwd: ".", env, container: launcher };
		case "external":
			throw new Error(`Endpoint ${endpoint.id} launches no workers.`);
	}
}
