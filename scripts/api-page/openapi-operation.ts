/** One operation of `/openapi.json`. */
import { HOST_NAME } from "../../src/modules/docker/hosts/host-schema.ts";
import { isReservedPath } from "../../src/kernel/core/endpoints/reserved-ids.ts";
import { ERROR, OPENAI_ERROR, PROBLEM } from "./error-schemas.ts";
import type { Answer, Body, RouteDefinition } from "../../src/kernel/api/definition/route.ts";
import { EMPTY, type JsonSchema } from "../../src/kernel/api/definition/schema.ts";
import { ENDPOINT_ID } from "../../src/kernel/core/endpoints/endpoint-schema.ts";
import { OPENAI_ERRORS } from "../../src/modules/openai/error-form.ts";
import { ALL_ERRORS } from "../../src/modules/tables.ts";
import { DEFAULT_LIMITS } from "../../src/kernel/core/endpoints/limits.ts";
import { EXAMPLES } from "./examples.ts";
import type { Example } from "./job-examples.ts";
import type { Operation, Parameter, Response } from "./openapi-types.ts";
import { withReferences } from "./references.ts";
import { ALWAYS, refusalsOf } from "./refusals.ts";

type Method = RouteDefinition["methods"][number];

const JSON_TYPE = "application/json";
const EVENTS_TYPE = "text/event-stream";

/** Groups in page order; the first match on the path wins. */
export const TAGS: readonly (readonly [name: string, paths: Pick<RegExp, "test">, description: string])[] = [
	[
		"Files",
		/^\/v2\/[^/]+\/openai\/v1\/files/,
		"Files of an endpoint, as OpenAI's clients upload, list and read them. Errors have OpenAI's form.",
	],
	[
		"Batches",
		/^\/v2\/[^/]+\/openai\/v1\/batches/,
		"Requests in a file that run when workers have nothing else to do, as OpenAI's clients create and follow them.",
	],
	[
		"Responses",
		/^\/v2\/[^/]+\/openai\/v1\/responses/,
		"Responses that run in the background, as OpenAI's clients poll and follow them. `/openai/*` creates them.",
	],
	[
		"Videos",
		/^\/v2\/[^/]+\/openai\/v1\/videos/,
		"Videos, as OpenAI's clients create, poll and download them. Errors have OpenAI's form.",
	],
	[
		"Jobs",
		{ test: (path) => path.startsWith("/v2/") && !isReservedPath(path) },
		"What clients call: submit a job, follow it, end it.",
	],
	[
		"Jobs for SDKs",
		/^\/sdk\/v2\//,
		"The same operations at the base address for RunPod's SDKs; only /stream answers differently.",
	],
	["Endpoints", /^\/v1\/(?:endpoints(?!.*\/jobs)|feed)/, "For operators: endpoints and their workers."],
	["Job records", /^\/v1\/endpoints\/.*\/jobs/, "For operators: every job, its attempts, and why it waits."],
	["Webhooks", /^\/v1\/webhooks/, "Deliveries, and sending one again."],
	["Alerts", /^\/v1\/alerts/, "For operators: alerts that fire, silences, a test of their receivers."],
	["Keys", /^\/v1\/(?:keys|sessions|audit)/, "API keys, sessions of the console, the audit log."],
	["Workers", /^\/worker\//, "What workers call, as RunPod's worker SDK does. Refused polls are answered after 5 s."],
	["Servers", /^\/v1\/servers/, "For operators: the servers that share the store."],
	["Hosts", /^\/v1\/hosts/, "For operators: machines on which the launcher docker starts workers."],
	["Backup", /^\/v1\/backup/, "For operators: a copy of a SQLite store that is in use."],
	[
		"Console",
		/^\/(?:$|console|v1\/console-link)/,
		"The web console, and signing in to it. Its cookie, with the header Sluice-Page-Token, " +
			"replaces the key on every path of clients and operators; a request that changes something " +
			"must have an Origin of the service's own.",
	],
	[
		"Management",
		/^\/v2\//,
		"RunPod's management API v2, for operators: errors are problem details (RFC 9457), deletions are answered 204.",
	],
	["Service", /^\//, "Health of the process, and these pages."],
];

const IN_PATH: Readonly<Record<string, Omit<Parameter, "name" | "in" | "required">>> = {
	endpoint: { description: ENDPOINT_ID.description, schema: ENDPOINT_ID, example: "hello" },
	job: {
		description: "Id of the job.",
		schema: { type: "string", pattern: "^[a-zA-Z0-9_-]{1,80}$" },
	},
	worker: {
		description: "Id of the worker, as in RUNPOD_POD_ID.",
		schema: { type: "string", pattern: "^[a-zA-Z0-9_.:-]{1,128}$" },
	},
	batch: { description: "Id of the batch.", schema: { type: "string" } },
	response: { description: "Id of the response.", schema: { type: "string" } },
	video: { description: "Id of the video.", schema: { type: "string" } },
	file: { description: "Id of the file.", schema: { type: "string" } },
	delivery: { description: "Id of the delivery.", schema: { type: "string" } },
	key: { description: "Id of the key, not the key itself.", schema: { type: "string" } },
	session: { description: "Id of the session.", schema: { type: "string" } },
	version: { description: "Number of the version.", schema: { type: "integer", minimum: 1 } },
	template: { description: "Id of the template.", schema: { type: "string" } },
	volume: { description: "Id of the network volume.", schema: { type: "string" } },
	login: { description: "Id of the registry login.", schema: { type: "string" } },
	secret: { description: "Id of the secret.", schema: { type: "string" } },
	id: { description: "Its id.", schema: { type: "string" } },
	host: { description: "Name of the host.", schema: HOST_NAME, example: "rig1" },
	alert: { description: "Name of the alert.", schema: { type: "string" }, example: "SluiceOldestWait" },
	registry: {
		description: "Host of the registry, perhaps with its port.",
		schema: { type: "string" },
	},
	route: {
		description: "The rest of the path, slashes included: under openai such as v1/chat/completions.",
		schema: { type: "string" },
		example: "v1/chat/completions",
	},
};

const IDEMPOTENCY: Parameter = {
	name: "Idempotency-Key",
	in: "header",
	required: false,
	description:
		"A submission with this key happens once in 24 h: the same body gives the same job, another body is 409.",
	schema: { type: "string", minLength: 1, maxLength: 255 },
};

/** Failures of the job (D32). */
const OPENAI_ENDS =
	" A failure of the job: the status that its worker reported; 504 when it ran too long, 503 " +
	"when no worker took it in time, 409 when it was cancelled or removed, 500 when its worker was " +
	"lost.";

export const HEADERS = {
	"RateLimit-Limit": "Requests of this operation that the endpoint takes in any 10 s.",
	"RateLimit-Remaining": "How many of them are left.",
	"RateLimit-Reset": "Seconds until one more is available.",
	"Retry-After": "Seconds after which to try again.",
} as const;

/** The path as an OpenAPI template; `*` becomes `{route}`. */
export function pathOf({ path }: Pick<RouteDefinition, "path">): string {
	return path.replace(/:(\w+)/g, "{$1}").replace(/\*$/, "{route}");
}

/**
 * The operationId: the definition's name for the method with a body, else for the first method;
 * other methods append theirs.
 */
export function operationIdOf({ name, methods, body }: RouteDefinition, method: Method): string {
	const main = body === undefined ? methods[0] : (methods.find((each) => each !== "GET") ?? methods[0]);
	return method === main ? name : `${name}${method.charAt(0)}${method.slice(1).toLowerCase()}`;
}

export function operationOf(route: RouteDefinition, method: Method): Operation {
	const { access, path, summary, query = [], body, maxBody, errors = [], workerTokens } = route;
	const [tag] = TAGS.find(([, paths]) => paths.test(path))!;
	const names = [...pathOf(route).matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
	const readsBody = body !== undefined && method !== "GET" && method !== "DELETE";
	const parameters: Parameter[] = [
		...names.map((name): Parameter => ({ name, in: "path", required: true, ...IN_PATH[name]! })),
		...query.map(
			({ name, required = false, description, schema }): Parameter => ({
				name,
				in: "query",
				required,
				description,
				schema,
			}),
		),
		...(errors.includes("idempotency_reused") ? [IDEMPOTENCY] : []),
	];
	return {
		operationId: operationIdOf(route, method),
		tags: [tag],
		summary,
		description: notes(route).join(" "),
		...(parameters.length > 0 ? { parameters } : {}),
		...(readsBody ? { requestBody: requestBody(body, maxBody, exampleOf(route).body) } : {}),
		responses: { ...success(route), ...failures(route, method) },
		security:
			access === "anyone"
				? []
				: access === "worker"
					? [{ workerToken: [] }]
					: [{ bearer: [access] }, { bareKey: [access] }, ...(workerTokens ? [{ workerToken: [] }] : [])],
	};
}

function notes({ access, workerTokens, limit, poll }: RouteDefinition): string[] {
	const sentences: string[] = [];
	if (access === "anyone") sentences.push("Needs no key.");
	else if (access === "worker") sentences.push("Needs the token of the worker.");
	else
		sentences.push(
			`Needs a key with the scope ${access}${workerTokens ? ", or a token of the endpoint's workers" : ""}.`,
		);
	if (limit) {
		const { per10s, concurrent } = DEFAULT_LIMITS[limit];
		const atOnce = concurrent === undefined ? "" : `, ${concurrent} at once`;
		sentences.push(`By default ${per10s} requests in any 10 s${atOnce}, for each endpoint.`);
	}
	if (poll) sentences.push("Held up to 50 s.");
	return sentences;
}

function requestBody(
	{ description, schema, optional, media = JSON_TYPE }: Body,
	maxBody: number,
	example: unknown = {},
): NonNullable<Operation["requestBody"]> {
	return {
		description: `${description} At most ${maxBody.toLocaleString("en-US")} bytes.`,
		required: optional !== true,
		content: { [media]: { schema: withReferences(schema), example } },
	};
}

/** Operations under `/sdk` have the examples of those under `/v2`. */
function exampleOf({ name }: RouteDefinition): Example {
	const own = name.replace(/^sdk(.)/, (_, letter: string) => letter.toLowerCase());
	const examples: Readonly<Record<string, Example>> = EXAMPLES;
	return examples[name] ?? examples[own] ?? {};
}

function success(route: RouteDefinition): Record<string, Response> {
	const { description, schema, media, events, empty, headers = {} }: Answer = route.answer;
	const example = schema === EMPTY ? {} : exampleOf(route).answer;
	const content: Response["content"] = {};
	if (schema)
		content[JSON_TYPE] = {
			schema: withReferences(schema),
			...(example === undefined ? {} : { example }),
		};
	if (media !== undefined) content[media] = { schema: { type: "string" } };
	if (events !== undefined)
		content[EVENTS_TYPE] = {
			schema: { type: "string", description: `Server-sent events: ${events}.` },
		};
	const own = Object.fromEntries(
		Object.entries(headers).map(([name, text]) => [name, { description: text, schema: { type: "string" } }]),
	);
	if (route.status === 204) return { 204: { description } };
	return {
		[route.status ?? 200]: { description, headers: { ...own, ...quota(route) }, content },
		...(empty === undefined ? {} : { 204: { description: empty } }),
	};
}

/** Errors by status; {@link ALWAYS} under `default`. */
function failures(route: RouteDefinition, method: Method): Record<string, Response> {
	const byStatus = new Map<string, string[]>();
	for (const code of refusalsOf(route, method)) {
		const status = String(ALL_ERRORS[code]!.status);
		byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
	}
	const all: [string, readonly string[]][] = [...byStatus, ["default", ALWAYS]];
	return Object.fromEntries(all.map(([status, codes]) => [status, failure(route, status, codes)]));
}

function failure(route: RouteDefinition, status: string, codes: readonly string[]): Response {
	const { prefix, type, schema, ends } = errorFormOf(route);
	const headers = {
		...(status === "429" || status === "503" ? { "Retry-After": header("Retry-After") } : {}),
		...(status === "429" ? quota(route) : {}),
	};
	const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${prefix}${code}` }]));
	return {
		description:
			status === "default"
				? "Malformed HTTP (400), timeout (408), headers too large (431), or an internal error " + `(500).${ends}`
				: codes.join(", "),
		...(Object.keys(headers).length > 0 ? { headers } : {}),
		content: {
			[type]: { schema: withReferences(schema), examples },
		},
	};
}

function errorFormOf({ errorForm, limit }: RouteDefinition) {
	if (errorForm === undefined) return { prefix: "", type: JSON_TYPE, schema: ERROR, ends: "" };
	const { name, media: type = JSON_TYPE } = errorForm;
	const isOpenAI = errorForm === OPENAI_ERRORS;
	return {
		prefix: `${name}_`,
		type,
		schema: isOpenAI ? OPENAI_ERROR : PROBLEM,
		ends: isOpenAI && limit ? OPENAI_ENDS : "",
	};
}

/** Rate limit headers (D24). */
function quota({ limit }: RouteDefinition): Record<string, JsonSchema> {
	if (!limit) return {};
	return Object.fromEntries(
		(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const).map((name) => [name, header(name)]),
	);
}

function header(name: keyof typeof HEADERS): JsonSchema {
	return { $ref: `#/components/headers/${name}` };
}
