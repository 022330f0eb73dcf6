/** A served operation: its definition and its handler. */
import type { Operation } from "../api/operations.ts";
import type { AnswerOf, RouteDefinition } from "../api/route.ts";
import type { Call } from "./call.ts";

/**
 * Handles the calls of an operation. What it returns is sent as JSON; a handler that returns
 * nothing has answered itself.
 */
export type Handler<R extends RouteDefinition> = (
	call: Call,
) => AnswerOf<R> | void | Promise<AnswerOf<R> | void>;

export interface Route extends Operation {
	handle: (call: Call) => unknown;
	/** Whether a GET changes something: with a session it must then show its origin (D31). */
	changes?: ((call: Call) => boolean) | undefined;
}
