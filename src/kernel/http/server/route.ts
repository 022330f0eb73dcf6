import type { Operation } from "../../api/operations.ts";
import type { AnswerOf, RouteDefinition } from "../../api/definition/route.ts";
import type { Call } from "../exchange/call.ts";

/** A handler that returns nothing has sent the answer itself. */
export type Handler<R extends RouteDefinition> = (call: Call) => AnswerOf<R> | void | Promise<AnswerOf<R> | void>;

/** Throws to refuse. Returns a promise only where it has to wait. */
export type Gate = (call: Call, route: Route) => void | Promise<"answered" | void>;

export interface Route extends Operation {
	gates: readonly Gate[];
	handle: (call: Call) => unknown;
	/** Its calls are charged to the key (D41). */
	paced: boolean;
	/** A GET with side effects must show its origin in a session (D31). */
	changes?: ((call: Call) => boolean) | undefined;
}
