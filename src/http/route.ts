/** A served operation: definition and handler. */
import type { Operation } from "../api/operations.ts";
import type { AnswerOf, RouteDefinition } from "../api/route.ts";
import type { Call } from "./call.ts";

/** The result is sent as JSON; a handler that returns nothing has sent the answer. */
export type Handler<R extends RouteDefinition> = (call: Call) => AnswerOf<R> | void | Promise<AnswerOf<R> | void>;

/** A step before the handler: throws to refuse. A promise only where it has to wait. */
export type Gate = (call: Call, route: Route) => void | Promise<"answered" | void>;

export interface Route extends Operation {
	/** In order; none of the others follow one that has answered. */
	gates: readonly Gate[];
	handle: (call: Call) => unknown;
	/** Its calls are charged to the key (D41). */
	paced: boolean;
	/** Whether a GET has side effects: with a session it must show its origin (D31). */
	changes?: ((call: Call) => boolean) | undefined;
}
