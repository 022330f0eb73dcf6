import { listText, type Schema, type Fault } from "../lib/schema.ts";
import type { LauncherDefinition } from "./definition.ts";
import { endpointSchema } from "../core/endpoints/endpoint-schema.ts";
import { type Endpoint, parseEndpoint } from "../core/endpoints/endpoint.ts";
import { canSleep, launcherFaults, LAUNCHERS, sharesGpus } from "./index.ts";

/** One branch per launcher, discriminated by `type`. */
export function launcherSchema(launchers: readonly LauncherDefinition[]): Schema {
	const types = listText(launchers.map(({ type }) => type));
	const message = `must be ${types}.`;
	return {
		oneOf: launchers.map(({ type, title, description, managed, settings }) => ({
			type: "object",
			title,
			additionalProperties: false,
			required: ["type", ...(settings.required ?? [])],
			properties: {
				type: { const: type, description, "x-message": message },
				...settings.properties,
			},
			"x-managed": managed,
		})),
		description: "How the endpoint gets its workers.",
		examples: [{ type: "process", command: ["node", "worker.js"] }],
		"x-message": "must be an object such as { type: process, command: [node, worker.js] }.",
	};
}

export const ENDPOINT_SCHEMA = endpointSchema(launcherSchema(LAUNCHERS));

export function readEndpoint(id: string, raw: unknown): ReturnType<typeof parseEndpoint> {
	const read = parseEndpoint(ENDPOINT_SCHEMA, id, raw);
	if (!read.ok) return read;
	const { endpoint } = read;
	const faults = [...launcherFaults(endpoint.launcher), ...sharingFaults(endpoint), ...sleepFaults(endpoint)];
	return faults.length === 0 ? read : { ok: false, faults };
}

function sharingFaults({ gpuMemoryGb, launcher: { type } }: Endpoint): Fault[] {
	if (gpuMemoryGb === undefined || sharesGpus(type)) return [];
	const able = LAUNCHERS.filter((each) => each.sharesGpus).map((each) => each.type);
	const message = `is for the launchers ${able.join(" and ")}: workers of ${type} cannot share a GPU.`;
	return [{ field: "gpuMemoryGb", message }];
}

function sleepFaults({ sleep, gpusPerWorker, launcher }: Endpoint): Fault[] {
	if (!sleep) return [];
	if (!canSleep(launcher))
		return [
			{
				field: "sleep",
				message:
					"is for the launchers process and docker, without launcher.hosts: " +
					"only GPUs of this machine are given up by a worker that sleeps. Remove it.",
			},
		];
	if (gpusPerWorker > 0) return [];
	return [{ field: "sleep", message: "needs workers with GPUs: set gpusPerWorker or gpuMemoryGb." }];
}
