/** Endpoint settings, including those of the registered launchers. */
import { endpointSchema } from "./core/endpoint-schema.ts";
import { parseEndpoint } from "./core/endpoint.ts";
import { LAUNCHERS } from "./launchers/index.ts";
import { launcherSchema } from "./launchers/schema.ts";

export const ENDPOINT_SCHEMA = endpointSchema(launcherSchema(LAUNCHERS));

/** {@link parseEndpoint} with {@link ENDPOINT_SCHEMA}. */
export function readEndpoint(id: string, raw: unknown): ReturnType<typeof parseEndpoint> {
	return parseEndpoint(ENDPOINT_SCHEMA, id, raw);
}
