/** Finds equal operations, which the documentation describes once. */
import type { OpenApi, Operation } from "./openapi-types.ts";

/** The operationId of the equal operation: under `/v2`, or of the path's first method. */
export function twinOf(
	{ path, method, operation }: { path: string; method: string; operation: Operation },
	{ paths }: OpenApi,
): string | undefined {
	const there = path.startsWith("/sdk/") ? paths[path.slice("/sdk".length)]! : {};
	// Others with one path, such as GET and DELETE, do different things.
	const posted = method === "post" ? [paths[path]!["get"]] : [];
	return [Object.values(there)[0], there[method], ...posted].find(
		(each) => each && each !== operation && same(each, operation),
	)?.operationId;
}

/** Takes and returns the same; a POST may also be refused as every change may be. */
function same(one: Operation, other: Operation): boolean {
	const [first, second] = [one, other].map(({ requestBody, responses }) => [
		requestBody,
		Object.entries(responses).filter(([status]) => status.startsWith("2")),
	]);
	return JSON.stringify(first) === JSON.stringify(second);
}
