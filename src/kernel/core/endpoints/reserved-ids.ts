/**
 * First segments under `/v2/` that RunPod's management API uses (D49). They cannot be ids of new endpoints, even
 * without its module: endpoints stay when it is added.
 */
import type { Fault } from "../../lib/schema.ts";

const RESERVED: ReadonlySet<string> = new Set([
	"serverless",
	"templates",
	"network-volumes",
	"networkvolumes",
	"registries",
	"catalog",
	"billing",
	"pods",
	"clusters",
	"account",
	"openapi.json",
	"tags",
	"sandboxes",
]);

export function isReserved(id: string): boolean {
	return RESERVED.has(id);
}

/** At most one fault, with an id that is free to use. */
export function reservedFaults(id: string, field: string): Fault[] {
	return isReserved(id)
		? [
				{
					field,
					message: `must not be ${id}: /v2/${id} is a path of the management API. Use another id, such as ${id}-1.`,
				},
			]
		: [];
}

/** Whether the first segment of a path under `/v2/` is reserved, so that it is no endpoint. */
export function isReservedPath(path: string): boolean {
	if (!path.startsWith("/v2/")) return false;
	const end = path.indexOf("/", 4);
	return isReserved(end < 0 ? path.slice(4) : path.slice(4, end));
}
