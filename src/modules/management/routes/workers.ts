/** Workers of an endpoint in the management API (D49). */
import { managed } from "./operation.ts";
import { COUNT, FLAG, list, MOMENT, object, type Static, TEXT } from "../../../kernel/api/definition/schema.ts";

const STATUSES = ["RUNNING", "IDLE", "INITIALIZING", "THROTTLED", "UNHEALTHY"] as const;
export type ManagedStatus = (typeof STATUSES)[number];

const TEXT_OR_NULL = { type: ["string", "null"] } as const;
const COUNT_OR_NULL = { type: ["integer", "null"], minimum: 0 } as const;

export const MANAGED_WORKER = object({
	id: TEXT,
	status: {
		enum: STATUSES,
		description: "THROTTLED: it waits for a machine or a GPU. IDLE: also one that sleeps or is being stopped.",
	},
	isStale: { ...FLAG, description: "It was started with other settings than those of now." },
	gpuCount: COUNT,
	version: COUNT_OR_NULL,
	image: TEXT_OR_NULL,
	uptimeSeconds: COUNT,
	gpuTypeId: TEXT_OR_NULL,
	dataCenterId: TEXT_OR_NULL,
	startedAt: MOMENT,
});
export type ManagedWorker = Static<typeof MANAGED_WORKER>;

export const LIST_MANAGED_WORKERS = managed("listManagedWorkers", "GET /v2/serverless/:endpoint/workers", {
	summary: "The workers that exist, counted by status.",
	answer: {
		description: "The workers, oldest first.",
		schema: object({
			workers: list(MANAGED_WORKER),
			summary: object({
				running: COUNT,
				idle: COUNT,
				initializing: COUNT,
				throttled: COUNT,
				unhealthy: COUNT,
				total: COUNT,
			}),
			endpointVersion: COUNT_OR_NULL,
		}),
	},
});
