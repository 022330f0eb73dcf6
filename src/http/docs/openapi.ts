/**
 * `/openapi.json`: the table of routes as an OpenAPI 3.1 document. Nothing in it is written twice:
 * bounds are those of the schemas that check, parameters those that are read, errors follow from
 * the columns.
 */
import { ENDPOINT_ID } from "../../core/endpoint-schema.ts";
import { ERRORS } from "../../core/errors.ts";
import type { ErrorCode } from "../../core/errors.ts";
import { DEFAULT_LIMITS } from "../../core/limits.ts";
import { answerOf } from "./answers.ts";
import { bodyOf } from "./bodies.ts";
import type { OpenApi, Operation, Parameter, Response } from "./openapi-types.ts";
import { ALWAYS, exampleBody, refusalsOf } from "./refusals.ts";
import type { Route } from "../routes.ts";
import { SHAPES, ref } from "./shapes.ts";
import type { JsonSchema } from "./shapes.ts";

type Method = Route["methods"][number];

const JSON_TYPE = "application/json";
const EVENTS_TYPE = "text/event-stream";

const INTRODUCTION = `Durable job endpoints on your own machines, wire-compatible with RunPod Serverless.

Send the API key as \`Authorization: Bearer <key>\`, or bare. Every error is \`{"error": sentence, "code": word}\`, for a 400 with \`details\` of each bad field. Times are in ms, numbers are whole. RunPod's SDKs take the base address with \`/sdk/v2\`.`;

/** Groups of operations in their order, by the beginning of their paths. */
const TAGS: readonly (readonly [name: string, paths: RegExp, description: string])[] = [
	["Jobs", /^\/v2\//, "What clients call: submit a job, follow it, end it."],
	[
		"Jobs for SDKs",
		/^\/sdk\/v2\//,
		"The same operations at the base address for RunPod's SDKs; only /stream answers differently.",
	],
	[
		"Endpoints",
		/^\/v1\/(?:endpoints(?!.*\/jobs)|feed)/,
		"For operators: endpoints and their workers.",
	],
	[
		"Job records",
		/^\/v1\/endpoints\/.*\/jobs/,
		"For operators: every job, its attempts, and why it waits.",
	],
	["Webhooks", /^\/v1\/webhooks/, "Deliveries, and sending one anew."],
	["Keys", /^\/v1\/keys/, "API keys."],
	[
		"Workers",
		/^\/worker\//,
		"What workers call, as RunPod's worker SDK does. Refused polls are answered after 5 s.",
	],
	["Servers", /^\/v1\/servers/, "For operators: the servers that share the store."],
	[
		"Console",
		/^\/(?:$|console|v1\/console-link)/,
		"The web console, and signing in to it. Its cookie stands for the key on every path of clients and operators; a request that changes something must carry an Origin of the service's own.",
	],
	["Service", /^\//, "Health of the process, and these pages."],
];

/** Parameters of paths. */
const IN_PATH: Readonly<Record<string, Omit<Parameter, "name" | "in" | "required">>> = {
	endpoint: { description: ENDPOINT_ID.description ?? "", schema: ENDPOINT_ID, example: "hello" },
	job: {
		description: "Id of the job.",
		schema: { type: "string", pattern: "^[a-zA-Z0-9_-]{1,80}$" },
	},
	worker: {
		description: "Id of the worker, as in RUNPOD_POD_ID.",
		schema: { type: "string", pattern: "^[a-zA-Z0-9_.:-]{1,128}$" },
	},
	delivery: { description: "Id of the delivery.", schema: { type: "string" } },
	key: { description: "Id of the key, not the key itself.", schema: { type: "string" } },
	token: { description: "The secret of the link.", schema: { type: "string" } },
	route: {
		description:
			"The rest of the path, slashes included: under openai such as v1/chat/completions.",
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

/** How failures of the job behind a request are told (D32). */
const OPENAI_ENDS =
	" A failure of the job: the status that its worker told; 504 when it ran too long, 503 when no worker took it in time, 409 when somebody ended it, 500 when its worker was lost.";

const HEADERS = {
	"RateLimit-Limit": "Requests of this operation that the endpoint takes in any 10 s.",
	"RateLimit-Remaining": "How many of them are left.",
	"RateLimit-Reset": "Seconds until one more is free.",
	"Retry-After": "Seconds after which to try again.",
} as const;

/** The document, without the address of the service. */
export function openapiOf(routes: readonly Route[], version: string): OpenApi {
	const paths: OpenApi["paths"] = {};
	for (const route of routes) {
		const item = (paths[pathOf(route)] ??= {});
		// HEAD is GET without the body, wherever it is.
		for (const method of route.methods)
			if (method !== "HEAD") item[method.toLowerCase()] = operationOf(route, method);
	}
	const used = new Set(
		Object.values(paths)
			.flatMap((item) => Object.values(item))
			.flatMap(({ tags }) => tags),
	);
	return {
		openapi: "3.1.1",
		info: {
			title: "Sluice",
			version,
			description: INTRODUCTION,
			license: { name: "Apache-2.0", identifier: "Apache-2.0" },
		},
		tags: TAGS.filter(([name]) => used.has(name)).map(([name, , description]) => ({
			name,
			description,
		})),
		paths,
		components: {
			schemas: SHAPES,
			headers: Object.fromEntries(
				Object.entries(HEADERS).map(([name, description]) => [
					name,
					{ description, schema: { type: "integer", minimum: 0 } },
				]),
			),
			examples: Object.fromEntries(
				(Object.keys(ERRORS) as ErrorCode[]).flatMap((code) => [
					[code, { summary: code, value: exampleBody(code, undefined) }],
					[`openai_${code}`, { summary: code, value: exampleBody(code, "openai") }],
				]),
			),
			securitySchemes: {
				bearer: {
					type: "http",
					scheme: "bearer",
					description:
						"An API key. The scopes named are those it needs one of; admin may everything, write may also read.",
				},
				bareKey: {
					type: "apiKey",
					in: "header",
					name: "Authorization",
					description: "The API key alone, without a scheme word.",
				},
				workerToken: {
					type: "apiKey",
					in: "header",
					name: "Authorization",
					description:
						"The token of a worker, which 'sluice worker-env' prints as RUNPOD_AI_API_KEY.",
				},
			},
		},
	};
}

/** A path of the table as a template: the rest of a path is one parameter. */
export function pathOf({ path }: Pick<Route, "path">): string {
	return path.replace(/:(\w+)/g, "{$1}").replace(/\*$/, "{route}");
}

/**
 * The operationId: the row's name for the method with a body or the first one; other methods are
 * named after it.
 */
export function operationIdOf({ name, methods, body }: Route, method: Method): string {
	const main =
		body === undefined ? methods[0] : (methods.find((each) => each !== "GET") ?? methods[0]);
	return method === main ? name : `${name}${method.charAt(0)}${method.slice(1).toLowerCase()}`;
}

function operationOf(route: Route, method: Method): Operation {
	const { who, path, summary, query = [], body, maxBody, refusals = [] } = route;
	const [tag] = TAGS.find(([, paths]) => paths.test(path))!;
	const names = [...pathOf(route).matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
	const reads = body !== undefined && method !== "GET" && method !== "DELETE";
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
		...(refusals.includes("idempotency_reused") ? [IDEMPOTENCY] : []),
	];
	return {
		operationId: operationIdOf(route, method),
		tags: [tag],
		summary,
		description: notes(route).join(" "),
		...(parameters.length > 0 ? { parameters } : {}),
		...(reads ? { requestBody: requestBody(bodyOf(body), maxBody) } : {}),
		responses: { ...success(route), ...refused(route, method) },
		security:
			who === "anybody"
				? []
				: who === "worker"
					? [{ workerToken: [] }]
					: [{ bearer: [who] }, { bareKey: [who] }],
	};
}

/** What else is to be known: who may call, and the limits where nothing else is set. */
function notes({ who, limit, poll }: Route): string[] {
	const told: string[] = [];
	if (who === "anybody") told.push("Needs no key.");
	else
		told.push(
			who === "worker" ? "Needs the token of the worker." : `Needs a key with the scope ${who}.`,
		);
	if (limit) {
		const { per10s, concurrent } = DEFAULT_LIMITS[limit];
		told.push(
			`By default ${per10s} requests in any 10 s${concurrent === undefined ? "" : `, ${concurrent} at once`}, for each endpoint.`,
		);
	}
	if (poll) told.push("Held up to 50 s.");
	return told;
}

function requestBody(
	{ description, schema, example, optional, type = JSON_TYPE }: ReturnType<typeof bodyOf>,
	maxBody: number,
): NonNullable<Operation["requestBody"]> {
	return {
		description: `${description} At most ${maxBody.toLocaleString("en-US")} bytes.`,
		required: optional !== true,
		content: { [type]: { schema, example } },
	};
}

function success(route: Route): Record<string, Response> {
	const {
		description,
		schema,
		example,
		media,
		events,
		empty,
		headers = {},
	} = answerOf(route.answer);
	const content = {
		...(schema ? { [JSON_TYPE]: { schema, ...(example === undefined ? {} : { example }) } } : {}),
		...(media === undefined ? {} : { [media]: { schema: { type: "string" } } }),
		...(events === undefined
			? {}
			: {
					[EVENTS_TYPE]: {
						schema: { type: "string", description: `Server-sent events: ${events}.` },
					},
				}),
	};
	const own = Object.fromEntries(
		Object.entries(headers).map(([name, text]) => [
			name,
			{ description: text, schema: { type: "string" } },
		]),
	);
	return {
		[route.status ?? 200]: { description, headers: { ...own, ...quota(route) }, content },
		...(empty === undefined ? {} : { 204: { description: empty } }),
	};
}

/** Refusals by status; what can meet any request stands under `default`. */
function refused(route: Route, method: Method): Record<string, Response> {
	const byStatus = new Map<string, ErrorCode[]>();
	for (const code of refusalsOf(route, method)) {
		const status = String(ERRORS[code].status);
		byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
	}
	const all: [string, readonly ErrorCode[]][] = [...byStatus, ["default", ALWAYS]];
	return Object.fromEntries(all.map(([status, codes]) => [status, refusal(route, status, codes)]));
}

function refusal(route: Route, status: string, codes: readonly ErrorCode[]): Response {
	const prefix = route.errors === "openai" ? "openai_" : "";
	const schema: JsonSchema = ref(route.errors === "openai" ? "OpenAIError" : "Error");
	const headers = {
		...(status === "429" || status === "503" ? { "Retry-After": header("Retry-After") } : {}),
		...(status === "429" ? quota(route) : {}),
	};
	const examples = Object.fromEntries(
		codes.map((code) => [code, { $ref: `#/components/examples/${prefix}${code}` }]),
	);
	const jobs = route.errors === "openai" ? OPENAI_ENDS : "";
	return {
		description:
			status === "default"
				? `Not well-formed HTTP (400), too late (408), headers too large (431), or a mistake of the service (500).${jobs}`
				: codes.join(", "),
		...(Object.keys(headers).length > 0 ? { headers } : {}),
		content: { [JSON_TYPE]: { schema, examples } },
	};
}

/** What is left of the rate limit goes with every answer of a limited operation (D24). */
function quota({ limit }: Route): Record<string, JsonSchema> {
	if (!limit) return {};
	return Object.fromEntries(
		(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const).map((name) => [
			name,
			header(name),
		]),
	);
}

function header(name: keyof typeof HEADERS): JsonSchema {
	return { $ref: `#/components/headers/${name}` };
}
