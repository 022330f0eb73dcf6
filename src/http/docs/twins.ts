/** Finds equal operations, which the documentation describes once. */
import type { OpenApi, Operation } from "./openapi-types.ts";

/** The operationId of the equal operation: under `/v2`, or of the path's first method. */
export function twinOf(
	{ path, method, operation }: { path: string; method: string; operation: Operation },
	{ paths }: OpenApi,
): string | undefined {
	const there = path.startsWith("/sdk/") ? paths[path.slice("/sdk".length)]! : {};
	return [Object.values(there)[0], there[method], Object.values(paths[path]!)[0]].find(
		(each) => each && each !== operation && same(each, operation),
	)?.operationId;
}

function same(one: Operation, other: Operation): boolean {
	return (
		JSON.stringify([one.responses, one.requestBody]) ===
		JSON.stringify([other.responses, other.requestBody])
	);
}
