/** What operations of RunPod's management API have in common (D49). */
import { PROBLEM } from "../error-form.ts";
import { type Body, MB, type RouteDefinition, route } from "../../../kernel/api/definition/route.ts";

type Rest = Pick<RouteDefinition, "summary" | "answer" | "status" | "query" | "errors" | "showsValues"> & {
	body?: Omit<Body, "checked">;
};

/** Errors of an operation on one object. */
export const NOT_FOUND = ["resource_not_found"] as const;

/** The answer 204. */
export const DELETED = { description: "It is deleted." } as const;

/** Such as `GET /v2/templates`. */
type Request = `${"GET" | "POST" | "PATCH" | "DELETE"} /v2/${string}`;

/** An operation for administrators, with problem details. Bodies are checked. */
export function managed<const Name extends string, const Wanted extends Request, const R extends Rest>(
	name: Name,
	request: Wanted,
	rest: R,
) {
	const { body } = rest;
	const checked: object = body ? { maxBody: MB, body: { ...body, checked: true } } : {};
	return route(name, request, "admin", { errorForm: PROBLEM, ...rest, ...checked });
}
