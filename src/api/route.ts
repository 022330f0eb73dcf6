/** Definition of an API operation: all but its handler. */
import type { ErrorCode } from "../core/errors.ts";
import type { LimitedOperation } from "../core/limits.ts";
import type { ParamDescription } from "./params.ts";
import type { JsonSchema, Sendable, Static } from "./schema.ts";

const KB = 1024;
export const MB = 1024 * KB;

/** Default body limit, bytes. */
const SMALL_BODY = 64 * KB;

/** A key scope, a worker token, or no authentication. */
export type Access = "read" | "write" | "admin" | "worker" | "anyone";

/** Path parameters; `rest`: the remaining path with slashes. */
export type PathParams = Record<
	"endpoint" | "job" | "worker" | "delivery" | "receiver" | "key" | "session" | "host" | "registry" | "rest",
	string
>;

/** A successful answer. */
export interface Answer {
	readonly description: string;
	/** Only for JSON. */
	readonly schema?: JsonSchema;
	readonly example?: unknown;
	/** If not JSON. */
	readonly media?: string;
	/** May answer with server-sent events; describes them. */
	readonly events?: string;
	/** May answer 204; describes when. */
	readonly empty?: string;
	/** Descriptions by header name. */
	readonly headers?: Readonly<Record<string, string>>;
}

/** A request body. */
export interface Body {
	readonly description: string;
	readonly schema: JsonSchema;
	readonly example: unknown;
	/** If not JSON. */
	readonly media?: string;
	/** The body may be absent. */
	readonly optional?: true;
	/** Members are validated: `bad_request`. */
	readonly checked?: true;
	/** Accepted with any content and size (D19). */
	readonly neverRefused?: true;
}

export interface RouteDefinition {
	readonly methods: readonly ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE")[];
	/** `:name` is a parameter; a final `*` the rest of the path. */
	readonly path: string;
	readonly access: Access;
	/** The operationId; unique. */
	readonly name: string;
	/** One sentence. */
	readonly summary: string;
	readonly answer: Answer;
	/** If not 200. */
	readonly status?: 201 | 303;
	/** Absent: any body is ignored. */
	readonly body?: Body;
	/** Errors not implied by other members (`http/docs/refusals.ts`). */
	readonly errors?: readonly ErrorCode[];
	/** Bytes (spec 8, D3). */
	readonly maxBody: number;
	readonly query?: readonly ParamDescription[];
	/** Rate limits (spec 8, D24). */
	readonly limit?: LimitedOperation;
	/** Long poll of a worker: refusals are delayed (D26). */
	readonly poll?: true;
	/** Has an API key in its body: refusals are delayed (D31). */
	readonly signIn?: true;
	/** In the audit log besides changes by administrators (D42). */
	readonly audited?: true;
	/** If not ours (D32). */
	readonly errorForm?: "openai";
	/** A page or file for browsers: not in `/openapi.json`. */
	readonly page?: true;
}

/** Adds the default body limit; keeps the literal types. */
export function route<const R extends Omit<RouteDefinition, "maxBody"> & { maxBody?: number }>(
	definition: R,
): R & { readonly maxBody: number } {
	return { maxBody: SMALL_BODY, ...definition };
}

/** What a handler of this operation returns, sent as JSON. */
export type AnswerOf<R extends RouteDefinition> = R["answer"] extends { readonly schema: infer S }
	? Sendable<Static<S>>
	: never;

/** Body of operations that read none: absent or an empty object. */
export const NO_BODY = {
	description: "Nothing, or an empty object.",
	schema: { type: "object" },
	example: {},
	optional: true,
} as const satisfies Body;

/** An HTML page. */
export const PAGE = {
	description: "An HTML page.",
	media: "text/html; charset=utf-8",
} as const satisfies Answer;

export const FILE = {
	description: "The file; 304 if the client has it already; 303 to the page of its folder.",
	media: "application/octet-stream",
} as const satisfies Answer;

export const REDIRECT = {
	description: "Redirects.",
	headers: { Location: "Address of the page, relative to this one." },
} as const satisfies Answer;

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
