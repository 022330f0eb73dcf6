/** Errors of an operation, derived from its definition (D3, D24, D26). */
import type { Body, RouteDefinition } from "../../src/kernel/api/definition/route.ts";
import { ApiError, badQuery, badRequest, errorBody } from "../../src/kernel/core/errors.ts";
import { PROBLEM } from "../../src/modules/management/error-form.ts";
import { unprocessable } from "../../src/modules/management/errors.ts";
import { ALL_ERRORS } from "../../src/modules/tables.ts";

/** Errors of any request. */
export const ALWAYS: readonly string[] = ["bad_http", "request_timeout", "headers_too_large", "internal"];

/** For unknown path parameters. */
const UNKNOWN: Readonly<Record<string, string>> = {
	":endpoint": "endpoint_not_found",
	":job": "job_not_found",
	":key": "key_not_found",
};

const FORM = "multipart/form-data";

type Method = RouteDefinition["methods"][number];

/** Error codes besides {@link ALWAYS}. */
export function refusalsOf(route: RouteDefinition, method: Method): string[] {
	const { access, path, query, body, limit, poll, errorForm, creates, errors = [] } = route;
	const managed = errorForm === PROBLEM;
	const codes: string[] = [];
	if (access === "worker") {
		codes.push("worker_unauthorized", "too_many_failures");
		if (method === "GET") codes.push("too_many_worker_ids");
	} else if (access !== "anyone")
		codes.push("unauthorized", "too_many_failures", ...(managed ? (["forbidden"] as const) : []));
	// Reports about jobs that the worker does not hold are accepted and dropped (D16, D19).
	for (const segment of path.split("/"))
		if (!creates && UNKNOWN[segment] && !(access === "worker" && segment === ":job")) codes.push(UNKNOWN[segment]);
	if (query && access !== "worker" && !managed) codes.push("bad_query");
	const { neverRefused, checked, media }: Partial<Pick<Body, "neverRefused" | "checked" | "media">> =
		body && method !== "GET" ? body : { neverRefused: true };
	// A form is neither parsed as JSON nor decoded.
	if (!neverRefused && media !== FORM) codes.push("bad_json", "bad_encoding");
	if (!neverRefused) codes.push("body_too_large", "unsupported_encoding");
	if (checked) codes.push("bad_request");
	if (managed && (query || checked)) codes.push("unprocessable");
	if (limit) codes.push("rate_limited", "too_many_at_once");
	if (poll) codes.push("duplicate_worker_id", "draining");
	if (path.startsWith("/v1/") || (managed && access !== "anyone")) codes.push("management_busy");
	if (access !== "anyone") codes.push("memory_share", "memory_spent");
	codes.push(...errors.map((each) => (typeof each === "string" ? each : each.code)));
	// Public operations need no store, except readiness.
	if (access !== "anyone" || errors.includes("not_ready")) codes.push("store_unavailable");
	if (access !== "anyone" && method !== "GET") codes.push("outcome_unknown");
	return codes;
}

/** Example values of the placeholders in messages. */
const VALUES = {
	endpoint: "hello",
	job: "019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77",
	delivery: "msg_1",
	batch: "batch_019b2f6e7c1a7d259a415f0f6a1c2e78",
	response: "resp_019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77",
	video: "video_019b2f6e-7c1a-7d25-9a41-5f0f6a1c2e77",
	variant: "thumbnail",
	what: "An edit",
	file: "file-019b2f6e7c1a7d259a415f0f6a1c2e77",
	stored: 10_239.5,
	limitMb: 10_240,
	key: "1",
	session: "1",
	alert: "SluiceOldestWait",
	registry: "registry.example.com",
	host: "rig1",
	worker: "hello-1a2b3c",
	address: "192.0.2.1",
	method: "GET",
	name: "file",
	path: "/v2",
	allow: "POST",
	limit: 1000,
	owner: "key",
	held: 120_000_000,
	bytes: 20_000_000,
	operation: "run",
	size: 20_000_000,
	encoding: "gzip",
	codings: "gzip, br, deflate",
	state: "COMPLETED",
	fate: "was COMPLETED and has expired",
	reference: "1a2b3c4d",
	type: "",
	needed: 1370,
	free: 800,
	reserve: 512,
};

/** Example values of `{why}`. */
const WHY: Readonly<Record<string, string>> = {
	bad_encoding: "unexpected end of file",
	bad_form: "it ends before its last boundary.",
	bad_json: "it ends in the middle of a value.",
	unauthorized: "The request carries no API key.",
	worker_unauthorized: "The worker sent no token.",
	store_unavailable: "the disk is full",
	backup_failed: "database or disk is full",
	not_ready: "is shutting down",
	outcome_unknown: "the connection to PostgreSQL broke",
};

/** An example error. */
export function exampleOf(code: string): ApiError {
	if (code === "bad_query") return badQuery("wait", "soon", "a number of ms from 1000 to 300000");
	if (code === "unprocessable")
		return unprocessable([{ field: "scaling", message: "is missing; it must be an object." }]);
	if (code === "bad_request")
		return badRequest([{ field: "policy.ttl", message: "must be a whole number of ms from 10000 to 604800000." }]);
	return new ApiError({ ...ALL_ERRORS[code]!, code, advice: "" }, { ...VALUES, why: WHY[code] ?? "" });
}

/** Body of the example. */
export function exampleBody(code: string, form: RouteDefinition["errorForm"]): unknown {
	const error = exampleOf(code);
	return JSON.parse(form ? form.body(error) : errorBody(error));
}
