import { endpointSchema } from "../core/endpoints/endpoint-schema.ts";
import { parseEndpoint } from "../core/endpoints/endpoint.ts";
import { LAUNCHERS, sharesGpus } from "./index.ts";
import { launcherSchema } from "./schema.ts";

export const ENDPOINT_SCHEMA = endpointSchema(launcherSchema(LAUNCHERS));

export function readEndpoint(id: string, raw: unknown): ReturnType<typeof parseEndpoint> {
	const read = parseEndpoint(ENDPOINT_SCHEMA, id, raw);
	if (!read.ok || read.endpoint.gpuMemoryGb === undefined) return read;
	const { type } = read.endpoint.launcher;
	if (sharesGpus(type)) return read;
	const able = LAUNCHERS.filter((each) => each.sharesGpus).map((each) => each.type);
	const message = `is for the launchers ${able.join(" and ")}: workers of ${type} cannot share a GPU.`;
	return { ok: false, faults: [{ field: "gpuMemoryGb", message }] };
}
