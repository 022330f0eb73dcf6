import { endpointSchema } from "../core/endpoints/endpoint-schema.ts";
import { parseEndpoint } from "../core/endpoints/endpoint.ts";
import { LAUNCHERS } from "./index.ts";
import { launcherSchema } from "./schema.ts";

export const ENDPOINT_SCHEMA = endpointSchema(launcherSchema(LAUNCHERS));

export function readEndpoint(id: string, raw: unknown): ReturnType<typeof parseEndpoint> {
	return parseEndpoint(ENDPOINT_SCHEMA, id, raw);
}
