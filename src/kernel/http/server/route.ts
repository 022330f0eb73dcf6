import type { AnswerOf, ParamNames, RouteDefinition } from "../../api/definition/route.ts";
import type { Call } from "../exchange/call.ts";

/** The handler of a route. If it returns nothing, it has sent the answer. */
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

/** What became of a call: `ok` or the code of its error, and what its handler returned. */
export interface Outcome {
	result: string;
	answer?: unknown;
}

/** Called when the answer of a call is known, which is sent afterwards. */
export type Answered = (call: Call, outcome: Outcome) => Promise<void>;

/** Asked once for each route; undefined if calls of this route do not matter. */
export type AnsweredOf = (route: RouteDefinition) => Answered | undefined;

export interface Route extends BoundRoute {
	answered: readonly Answered[];
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
