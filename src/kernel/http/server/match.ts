/** Finds routes. `:name` matches one segment, a final `*` the rest of the path. */
import type { RouteDefinition } from "../../api/definition/route.ts";

interface Node<R> {
	fixed: Map<string, Node<R>>;
	parameter?: Node<R>;
	tail?: Node<R>;
	name: string;
	byMethod: Map<string, R>;
}

/** Parameters of a path by name, decoded; `rest` is what a final `*` matched. */
export type PathParams = Record<string, string>;

export interface Match<R> {
	byMethod: ReadonlyMap<string, R>;
	params: PathParams;
}

export function matcher<R extends Pick<RouteDefinition, "methods" | "path" | "access">>(
	routes: readonly R[],
): (path: string) => Match<R> | undefined {
	const node = (name = ""): Node<R> => ({ fixed: new Map(), name, byMethod: new Map() });
	const root = node();
	for (const route of routes) {
		let at = root;
		for (const segment of route.path.slice(1).split("/")) {
			if (segment === "*") at = at.tail ??= node("rest");
			else if (segment.startsWith(":")) at = at.parameter ??= node(segment.slice(1));
			else {
				const there = at.fixed.get(segment) ?? node();
				at.fixed.set(segment, there);
				at = there;
			}
		}
		for (const method of route.methods) {
			at.byMethod.set(method, route);
			// Worker routes have no HEAD: a take is a GET, so its HEAD would take a job.
			if (method === "GET" && route.access !== "worker") at.byMethod.set("HEAD", route);
		}
	}

	return (path) => {
		// Node also accepts targets that begin with an asterisk.
		if (!path.startsWith("/")) return undefined;
		const params: PathParams = {};
		const found = find(root, path, 1, params);
		return found && { byMethod: found.byMethod, params };
	};
}

/** A fixed segment precedes a parameter, which precedes `*`. */
function find<R>(at: Node<R>, path: string, start: number, params: PathParams): Node<R> | undefined {
	if (start > path.length) return at.byMethod.size > 0 ? at : undefined;
	const slash = path.indexOf("/", start);
	const end = slash < 0 ? path.length : slash;
	const segment = path.slice(start, end);
	const fixed = at.fixed.get(segment);
	const found = fixed && find(fixed, path, end + 1, params);
	if (found || segment === "") return found;
	const value = at.parameter && decoded(segment);
	if (at.parameter && value !== undefined) {
		const behind = find(at.parameter, path, end + 1, params);
		if (behind) {
			params[at.parameter.name] = value;
			return behind;
		}
	}
	const rest = at.tail && decoded(path.slice(start));
	if (rest === undefined) return undefined;
	params["rest"] = rest;
	return at.tail;
}

function decoded(segment: string): string | undefined {
	if (!segment.includes("%")) return segment;
	try {
		return decodeURIComponent(segment);
	} catch {
		return undefined;
	}
}
