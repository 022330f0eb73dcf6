import type { AnswerOf, ParamNames, RouteDefinition } from "../../api/definition/route.ts";
import type { Call } from "../exchange/call.ts";

/** A handler that returns nothing has sent the answer itself. */
export type Handler<R extends RouteDefinition> = (
	call: Call<ParamNames<R["path"]>>,
) => AnswerOf<R> | void | Promise<AnswerOf<R> | void>;

/** A handler for each of these definitions, by its name. */
export type HandlersOf<T extends readonly RouteDefinition[]> = {
	readonly [R in T[number] as R["name"]]: Handler<R>;
};

/** Throws to refuse. Returns a promise only where it has to wait. */
export type Gate = (call: Call, route: Route) => void | Promise<"answered" | void>;

/** A definition with its handler. */
export interface BoundRoute extends RouteDefinition {
	/** One definition serves `/v2` and `/sdk/v2`: its name. */
	readonly definition: string;
	handle: (call: Call) => unknown;
	/** A GET with side effects must show its origin in a session (D31). */
	changes?: ((call: Call) => boolean) | undefined;
}

export interface Route extends BoundRoute {
	gates: readonly Gate[];
	/** Its calls are charged to the key (D41). */
	paced: boolean;
}

/** `changes`: those of GETs with side effects, by name of the definition. */
export function bind<const T extends readonly RouteDefinition[]>(
	definitions: T,
	handlers: HandlersOf<T>,
	changes: { [Name in T[number]["name"]]?: BoundRoute["changes"] } = {},
): BoundRoute[] {
	return definitions.map((definition) => {
		const name = definition.name as T[number]["name"];
		const handle = (handlers as Readonly<Record<string, unknown>>)[name] as BoundRoute["handle"];
		return { ...definition, definition: name, handle, changes: changes[name] };
	});
}
