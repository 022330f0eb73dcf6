/**
 * Finds the row of the table for a path: a tree of segments built once. `:name` is one segment, a
 * `*` at the end is all that is left.
 */
import type { Route } from "./routes.ts";

/** A row per method at one path, and the path's parameters by position. */
interface Node {
	fixed: Map<string, Node>;
	parameter?: Node;
	/** A row that takes the rest of the path, whatever it holds. */
	tail?: Node;
	name: string;
	byMethod: Map<string, Route>;
}

/** What was found: the rows at this path by method, and the parameters, decoded. */
export interface Match {
	byMethod: ReadonlyMap<string, Route>;
	params: Params;
}

/**
 * What a path may hold, by name, decoded; what it does not hold is "". `rest` is all from its place
 * on, slashes included.
 */
export type Params = Record<
	"endpoint" | "job" | "worker" | "delivery" | "key" | "token" | "rest",
	string
>;

function node(name = ""): Node {
	return { fixed: new Map(), name, byMethod: new Map() };
}

/** Builds the matcher of a table. It answers undefined for a path of no row. */
export function matcher(routes: readonly Route[]): (path: string) => Match | undefined {
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
		const params: Params = {
			endpoint: "",
			job: "",
			worker: "",
			delivery: "",
			key: "",
			token: "",
			rest: "",
		};
		let at: Node | undefined = root;
		for (let start = 1; start <= path.length && at; ) {
			const slash = path.indexOf("/", start);
			const end = slash < 0 ? path.length : slash;
			const segment = path.slice(start, end);
			const fixed: Node | undefined = at.fixed.get(segment);
			if (fixed) at = fixed;
			else {
				const { parameter, tail }: Node = at;
				at = segment === "" ? undefined : (parameter ?? tail);
				const whole = at !== undefined && at === tail;
				if (at) {
					const value = decoded(whole ? path.slice(start) : segment);
					if (value === undefined) return undefined;
					params[at.name as keyof Params] = value;
				}
				if (whole) break;
			}
			start = end + 1;
		}
		return at && at.byMethod.size > 0 ? { byMethod: at.byMethod, params } : undefined;
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
