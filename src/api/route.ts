/** What defines an operation of the API: everything but its handler. */
import type { ErrorCode } from "../core/errors.ts";
import type { LimitedOperation } from "../core/limits.ts";
import type { ParamDescription } from "./params.ts";
import type { JsonSchema, Sendable, Static } from "./schema.ts";

export const KB = 1024;
export const MB = 1024 * KB;

/** Largest body of operations that set no other bound, bytes. */
const SMALL_BODY = 64 * KB;

/** Who may call: a key with this scope, a worker with its token, or anyone. */
export type Access = "read" | "write" | "admin" | "worker" | "anyone";

/** Parameters of paths by name; `rest` is the remaining path, slashes included. */
export type PathParams = Record<
	"endpoint" | "job" | "worker" | "delivery" | "key" | "token" | "rest",
	string
>;

/** A successful answer. */
export interface Answer {
	readonly description: string;
	/** Absent when the answer is not JSON. */
	readonly schema?: JsonSchema;
	readonly example?: unknown;
	/** Media type of an answer that is not JSON. */
	readonly media?: string;
	/** The answer may be server-sent events: what they contain. */
	readonly events?: string;
	/** The answer may be 204: what that means. */
	readonly empty?: string;
	/** Headers of this answer, with descriptions. */
	readonly headers?: Readonly<Record<string, string>>;
}

/** The body of a request. */
export interface Body {
	readonly description: string;
	readonly schema: JsonSchema;
	readonly example: unknown;
	/** Media type, if not JSON. */
	readonly media?: string;
	/** The request may have no body. */
	readonly optional?: true;
	/** Members are checked: a bad one is `bad_request`. */
	readonly checked?: true;
	/** Never refused, whatever its content and size (D19). */
	readonly neverRefused?: true;
}

export interface RouteDefinition {
	readonly methods: readonly ("GET" | "HEAD" | "POST" | "PATCH" | "DELETE")[];
	/** Segments; `:name` is a parameter, `*` at the end is the rest of the path. */
	readonly path: string;
	readonly access: Access;
	/** Its operationId in `/openapi.json`: unique. */
	readonly name: string;
	/** What it does, one sentence. */
	readonly summary: string;
	readonly answer: Answer;
	/** Status of the answer, if not 200. */
	readonly status?: 201 | 303;
	/** The body it reads; absent when any body is ignored. */
	readonly body?: Body;
	/** Errors besides those that follow from the other members (`http/docs/refusals.ts`). */
	readonly errors?: readonly ErrorCode[];
	/** Largest body, bytes (spec 8, D3). */
	readonly maxBody: number;
	readonly query?: readonly ParamDescription[];
	/** The limits that apply (spec 8, D24). */
	readonly limit?: LimitedOperation;
	/** A poll of a worker: refusals are delayed (D26). */
	readonly poll?: true;
	/** Takes an API key in its body: refusals are delayed (D31). */
	readonly signIn?: true;
	/** Form of errors, if not ours (D32). */
	readonly errorForm?: "openai";
}

/** A definition with the default bound of its body; keeps the literal types. */
export function route<const R extends Omit<RouteDefinition, "maxBody"> & { maxBody?: number }>(
	definition: R,
): R & { readonly maxBody: number } {
	return { maxBody: SMALL_BODY, ...definition };
}

/** What a handler of this definition returns, to be sent as JSON. */
export type AnswerOf<R extends RouteDefinition> = R["answer"] extends { readonly schema: infer S }
	? Sendable<Static<S>>
	: never;

/** A body for operations that read none: absent or an empty object. */
export const NO_BODY = {
	description: "Nothing, or an empty object.",
	schema: { type: "object" },
	example: {},
	optional: true,
} as const satisfies Body;

/** The answer `{}`. */
export function emptyAnswer<const Text extends string>(
	description: Text,
): {
	readonly description: Text;
	readonly schema: { readonly type: "object"; readonly maxProperties: 0 };
	readonly example: Readonly<Record<never, never>>;
} {
	return { description, schema: { type: "object", maxProperties: 0 }, example: {} };
}
