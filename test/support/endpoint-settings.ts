/** Settings of an endpoint as they are read. */
import type { Endpoint } from "../../src/kernel/core/endpoints/endpoint.ts";
import { readEndpoint } from "../../src/kernel/launchers/endpoint-settings.ts";

/** Returns the fields with faults. */
export function fields(raw: unknown, id = "e"): string[] {
	const read = readEndpoint(id, raw);
	return read.ok ? [] : read.faults.map(({ field }) => field);
}

/** Throws where settings have faults. */
export function endpoint(raw: object = {}): Endpoint {
	const read = readEndpoint("e", raw);
	if (!read.ok) throw new Error(JSON.stringify(read.faults));
	return read.endpoint;
}
