/**
 * Finds routes in a tree of path segments. `:name` matches one segment, a final `*` the rest of the
 * path.
 */
import type { PathParams, RouteDefinition } from "../api/route.ts";

interface Node<R> {
	fixed: Map<string, Node<R>>;
	parameter?: Node<R>;
	/** For `*`. */
	tail?: Node<R>;
	name: string;
	byMethod: Map<string, R>;
}

/** Routes by method, and decoded parameters; absent ones are "". */
export interface Match<R> {
	byMethod: ReadonlyMap<string, R>;
	params: PathParams;
}

/** Returns a function that finds a path's routes; undefined if there are none. */
export function matcher<R extends Pick<RouteDefinition, "methods" | "path">>(
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
		for (const method of route.methods) at.byMethod.set(method, route);
	}

	return (path) => {
		// Node also accepts targets that begin with an asterisk.
		if (!path.startsWith("/")) return undefined;
		const params: PathParams = {
			endpoint: "",
			job: "",
			worker: "",
			delivery: "",
			receiver: "",
			key: "",
			session: "",
			registry: "",
			host: "",
			rest: "",
		};
		let at: Node<R> | undefined = root;
		/** The innermost `*` on the way, for paths that no other route has. */
		let open: { tail: Node<R>; start: number; params: PathParams } | undefined;
		for (let start = 1; start <= path.length && at; ) {
			const slash = path.indexOf("/", start);
			const end = slash < 0 ? path.length : slash;
			const segment = path.slice(start, end);
			if (at.tail && segment !== "") open = { tail: at.tail, start, params: { ...params } };
			const fixed: Node<R> | undefined = at.fixed.get(segment);
			if (fixed) at = fixed;
			else {
				at = segment === "" ? undefined : at.parameter;
				if (at) {
					const value = decoded(segment);
					if (value === undefined) return undefined;
					params[at.name as keyof PathParams] = value;
				}
			}
			start = end + 1;
		}
		if (at && at.byMethod.size > 0) return { byMethod: at.byMethod, params };
		const rest = open && decoded(path.slice(open.start));
		if (!open || rest === undefined) return undefined;
		return { byMethod: open.tail.byMethod, params: { ...open.params, rest } };
	};
}

function decoded(segment: string): string | undefined {
	if (!segment.includes("%")) return segment;
	try {
		return decodeURIComponent(segment);
	} catch {
		return undefined;
	}
}
