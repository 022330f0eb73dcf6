/**
 * Which errors an operation can answer: they follow from its row (D3, D24, D26). With an example of
 * each.
 */
import { ApiError, badQuery, badRequest, errorBody } from "../../core/errors.ts";
import type { ErrorCode } from "../../core/errors.ts";
import { failureBody, failureOfRefusal } from "../../core/openai/openai-error.ts";
import { bodyOf } from "./bodies.ts";
import type { Route } from "../routes.ts";

/** Refusals that can meet any request, whatever it asks for. */
export const ALWAYS: readonly ErrorCode[] = [
	"bad_http",
	"request_timeout",
	"headers_too_large",
	"internal",
];

/** What a parameter of the path may name in vain. */
const UNKNOWN: Readonly<Record<string, ErrorCode>> = {
	":endpoint": "endpoint_not_found",
	":job": "job_not_found",
	":delivery": "delivery_not_found",
	":key": "key_not_found",
};

type Method = Route["methods"][number];

/** The codes with which the operation may be refused, beside {@link ALWAYS}. */
export function refusalsOf(route: Route, method: Method): ErrorCode[] {
	const { who, path, query, body, limit, poll, refusals = [] } = route;
	const codes: ErrorCode[] = [];
	if (who === "worker") codes.push("worker_unauthorized");
	else if (who !== "anybody") codes.push("unauthorized");
	// What a worker says of a job it does not have is taken and dropped (D16, D19).
	for (const segment of path.split("/"))
		if (UNKNOWN[segment] && !(who === "worker" && segment === ":job")) codes.push(UNKNOWN[segment]);
	if (query && who !== "worker") codes.push("bad_query");
	const { neverRefused, checked } =
		body && method !== "GET" ? bodyOf(body) : { neverRefused: true };
	if (!neverRefused) codes.push("bad_json", "body_too_large");
	if (checked) codes.push("bad_request");
	if (limit) codes.push("rate_limited", "too_many_at_once");
	if (poll) codes.push("duplicate_worker_id", "draining");
	codes.push(...refusals);
	// Who needs no key needs no store either, but for readiness.
	if (who !== "anybody" || refusals.includes("not_ready")) codes.push("store_unavailable");
	if (who !== "anybody" && method !== "GET") codes.push("outcome_unknown");
	return codes;
}

/** Something for every place in the sentences of the table. */
const VALUES = {
	endpoint: "hello",
	job: "019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77",
	delivery: "msg_1",
	key: "1",
	worker: "hello-1a2b3c",
	method: "GET",
	path: "/v2",
	allow: "POST",
	limit: 1000,
	operation: "run",
	size: 20_000_000,
	state: "COMPLETED",
	fate: "was COMPLETED and has expired",
	reference: "1a2b3c4d",
	type: "",
};

/** What stands for `{why}`, which differs from code to code. */
const WHY: Partial<Record<ErrorCode, string>> = {
	bad_json: "it ends in the middle of a value.",
	unauthorized: "The request carries no API key.",
	worker_unauthorized: "The worker sent no token.",
	store_unavailable: "the disk is full",
	outcome_unknown: "the connection to PostgreSQL broke",
};

/** An error as it may be met. */
export function exampleOf(code: ErrorCode): ApiError {
	if (code === "bad_query") return badQuery("wait", "soon", "a number of ms from 1000 to 300000");
	if (code === "bad_request")
		return badRequest([
			{ field: "policy.ttl", message: "must be a whole number of ms from 10000 to 604800000." },
		]);
	return new ApiError(code, { ...VALUES, why: WHY[code] ?? "" });
}

/** Its body, in our form or in OpenAI's. */
export function exampleBody(code: ErrorCode, form: Route["errors"]): unknown {
	const error = exampleOf(code);
	return JSON.parse(form === "openai" ? failureBody(failureOfRefusal(error)) : errorBody(error));
}
