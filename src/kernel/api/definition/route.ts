/** Definition of an API operation: all but its handler. */
import type { ErrorCode, ModuleError } from "../../core/error-table.ts";
import type { ApiError } from "../../core/errors.ts";
import type { LimitedOperation } from "../../core/endpoints/limits.ts";
import type { ParamDescription } from "./params.ts";
import { EMPTY, type JsonSchema, type Sendable, type Static } from "./schema.ts";

const KB = 1024;
export const MB = 1024 * KB;

const SMALL_BODY = 64 * KB;

/** How errors look to clients of another API than ours. */
export interface ErrorForm {
	/** The prefix of its examples in `/openapi.json`. */
	readonly name: string;
	/** Paths whose errors look so, also where no route is found. */
	readonly paths: Pick<RegExp, "test">;
	/** Default: `application/json`. */
	readonly media?: string;
	/** A key without the scope is refused with 403 instead of 401. */
	readonly forbids?: true;
	/** JSON text. */
	body(error: ApiError): string;
}

export type Access = "read" | "write" | "admin" | "worker" | "anyone";

/** Names of the parameters in a path; `rest` is the remaining path, with slashes, of a final `*`. */
export type ParamNames<Path extends string> = Path extends `${infer Segment}/${infer Others}`
	? ParamNames<Segment> | ParamNames<Others>
	: Path extends `:${infer Name}`
		? Name
		: Path extends "*"
			? "rest"
			: never;

export interface Answer {
	readonly description: string;
	/** Only for JSON. */
	readonly schema?: JsonSchema;
	/** If not JSON. */
	readonly media?: string;
	/** May answer with server-sent events; describes them. */
	readonly events?: string;
	/** May answer 204; describes when. */
	readonly empty?: string;
	/** Descriptions by header name. */
	readonly headers?: Readonly<Record<string, string>>;
}

export interface Body {
	readonly description: string;
	readonly schema: JsonSchema;
	/** If not JSON. */
	readonly media?: string;
	readonly optional?: true;
	/** Members are validated: `bad_request`. */
	readonly checked?: true;
	/** Accepted with any content and size (D19). */
	readonly neverRefused?: true;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface RouteDefinition {
	/** HEAD goes with GET, except of workers, whose take is a GET (D1). */
	readonly methods: readonly Method[];
	/** `:name` is a parameter; a final `*` the rest of the path. */
	readonly path: string;
	readonly access: Access;
	/** Unique; the operationId. */
	readonly name: string;
	readonly summary: string;
	readonly answer: Answer;
	/** If not 200. */
	readonly status?: 201 | 204 | 303;
	/** Absent: any body is ignored. */
	readonly body?: Body;
	/** Errors not implied by other members (`scripts/api-page/refusals.ts`). */
	readonly errors?: readonly (ErrorCode | ModuleError)[];
	/** Bytes (spec 8, D3). */
	readonly maxBody: number;
	readonly query?: readonly ParamDescription[];
	/** The endpoint of the path need not exist. */
	readonly creates?: true;
	/** Rate limits (spec 8, D24). */
	readonly limit?: LimitedOperation;
	/** Takes the tokens of the endpoint's workers too. */
	readonly workerTokens?: true;
	/** A client's operation on one job: the limits of its endpoint hold instead of the pace of its key (D24, D41). */
	readonly ownLimits?: true;
	/** Refusals are delayed (D26). */
	readonly poll?: true;
	/** Clients send it every few seconds: the log of requests has it only with `all` (D51). */
	readonly frequent?: true;
	/** A key is in the body: refusals are delayed (D31). */
	readonly signIn?: true;
	/** Begins or ends a session of the console (D31). */
	readonly session?: true;
	/** The answer has values of variables. */
	readonly showsValues?: true;
	/** If not ours. Default: the form whose `paths` match. */
	readonly errorForm?: ErrorForm | undefined;
	/** Its GET has side effects, its HEAD has none: in a session it must show its origin (D31). */
	readonly changesByGet?: true;
	/** Its handler decides by the head whether a client that asks may send the body (`Expect: 100-continue`). */
	readonly judgesHead?: true;
	/** A request with this scheme in `Authorization` may leave out the first segment of the path. */
	readonly scheme?: string;
	/** Only browsers need it, it only refuses, or others describe its protocol: not in `/openapi.json`. */
	readonly page?: true;
}

/** Such as `GET /v1/keys`. */
type Request = `${Method} /${string}` | `${Method} ${Method} /${string}`;

type PathOf<R extends string> = R extends `${string} ${infer Rest}` ? PathOf<Rest> : R;

type Rest = Omit<RouteDefinition, "name" | "methods" | "path" | "access" | "maxBody">;

/** Keeps the literal types. */
export function route<
	const Name extends string,
	const Wanted extends Request,
	const R extends Rest & { maxBody?: number },
>(name: Name, request: Wanted, access: Access, rest: R) {
	const words = request.split(" ");
	const [methods, path] = [words.slice(0, -1) as Method[], words.at(-1)! as PathOf<Wanted>];
	return { name, methods, path, access, maxBody: SMALL_BODY, ...rest };
}

/** The same operation for SDKs, which call it under `/sdk`. */
export function underSdk<const R extends RouteDefinition>(definition: R) {
	const { name, path, ...rest } = definition;
	return {
		...rest,
		path: `/sdk${path}` as `/sdk${R["path"]}`,
		name: `sdk${name.charAt(0).toUpperCase()}${name.slice(1)}` as `sdk${Capitalize<R["name"]>}`,
	};
}

export type AnswerOf<R extends RouteDefinition> = R["answer"] extends { readonly schema: infer S }
	? Sendable<Static<S>>
	: never;

export const NO_BODY = {
	description: "Nothing, or an empty object.",
	schema: { type: "object" },
	optional: true,
} as const satisfies Body;

export const PAGE = {
	page: true,
	answer: { description: "An HTML page.", media: "text/html; charset=utf-8" },
	errors: ["documents_busy"],
} as const;

export const FILE = {
	page: true,
	answer: {
		description: "The file; 304 if the client has it already; 303 to the page of its folder.",
		media: "application/octet-stream",
	},
	errors: ["path_not_found", "documents_busy"],
} as const;

export const REDIRECT = {
	page: true,
	answer: { description: "Redirects.", headers: { Location: "Address of the page, relative to this one." } },
	status: 303,
} as const;

export function emptyAnswer(description: string) {
	return { description, schema: EMPTY };
}
