/** Endpoints, for operators (D25, D27, D36, D39). */
import type { ShownSettings } from "../core/endpoints/endpoint.ts";
import { MOST_COMPARED } from "../core/endpoints/endpoint-changes.ts";
import { ENDPOINT_ID } from "../core/endpoints/endpoint-schema.ts";
import { ENDPOINT_SCHEMA, KERNEL_PROPERTIES, MEMBER_PROPERTIES } from "../launchers/endpoint-settings.ts";
import { WORKER_REASON } from "./workers.ts";
import { JOB_COUNTS, WORKER_COUNTS } from "./jobs.ts";
import { flag, type Param, whole } from "./definition/params.ts";
import { type Answer, MB, NO_BODY, route } from "./definition/route.ts";
import { COUNT, FLAG, list, listIn, MOMENT, object, type Static, TEXT } from "./definition/schema.ts";

const {
	env: _env,
	webhookSecret: _secret,
	gpuMemoryGb: GPU_MEMORY,
	sleep: SLEEP,
	warmup: WARMUP,
	management: MANAGEMENT,
	...SETTINGS
} = KERNEL_PROPERTIES;

const ENDPOINT_OF_KERNEL = object({
	id: ENDPOINT_ID,
	...SETTINGS,
	"gpuMemoryGb?": GPU_MEMORY,
	"sleep?": SLEEP,
	"warmup?": WARMUP,
	"management?": MANAGEMENT,
	env: { ...list(TEXT), description: "Names of the variables; values are not shown." },
	webhookSecretSet: FLAG,
	"formerWebhookSecretUntil?": {
		...MOMENT,
		description: "Until this moment the former secret signs webhooks too.",
	},
	paused: { ...FLAG, description: "Jobs are accepted and queued, but not sent to workers." },
	createdAt: MOMENT,
	version: { ...COUNT, description: "Version of the settings with which its workers are launched; see listReleases." },
	"rolledBack?": {
		...TEXT,
		description: "Why this version has the settings of an earlier one: the workers of the one before it crashed.",
	},
	jobs: JOB_COUNTS,
	workers: WORKER_COUNTS,
	"reason?": {
		...WORKER_REASON,
		description:
			"Why it lacks workers: they crash, one does not run yet, its image is being pulled, or, for " +
			"10 minutes, the last one ended by a fault. Absent if nothing is known to hinder them.",
	},
});
/** An endpoint need not have the settings that modules define. */
export const ENDPOINT: typeof ENDPOINT_OF_KERNEL = {
	...ENDPOINT_OF_KERNEL,
	properties: { ...ENDPOINT_OF_KERNEL.properties, ...MEMBER_PROPERTIES },
};
export type Endpoint = Omit<Static<typeof ENDPOINT>, keyof ShownSettings> & ShownSettings;

const ENDPOINT_ANSWER = {
	description: "The endpoint.",
	schema: ENDPOINT,
} as const satisfies Answer;

/** Bounds the trimming of slashes, which is quadratic. */
const MAX_URL_LENGTH = 2048;

/** `worker-env` (D36). */
export const WORKER_URL: Param<string> = {
	name: "url",
	required: true,
	description: "Address under which the worker reaches this service.",
	bound: `the http or https address under which workers reach this service, of at most ${MAX_URL_LENGTH} characters`,
	schema: { type: "string", format: "uri", maxLength: MAX_URL_LENGTH },
	read: (text) =>
		text.length <= MAX_URL_LENGTH && /^https?:\/\/[^\s?#]+$/.test(text) && URL.canParse(text)
			? text.replace(/(?<!\/)\/+$/, "")
			: undefined,
};
export const REPLICAS = flag(
	"replicas",
	"A token for any number of workers, each with its own id, instead of for one worker.",
);

export const OVERLAP = whole("overlap", {
	minimum: 0,
	maximum: 7 * 86_400,
	default: 86_400,
	description: "Seconds for which webhooks are signed with the former secret too; 0 if others know that secret.",
});

export const LIST_ENDPOINTS = route("listEndpoints", "GET /v1/endpoints", "read", {
	summary: "The endpoints that the key may use, with their settings and counts.",
	answer: {
		description: "The endpoints.",
		schema: listIn("endpoints", ENDPOINT),
	},
});

const CREATE_ENDPOINT = route("createEndpoint", "POST /v1/endpoints", "admin", {
	summary: "Creates an endpoint.",
	answer: ENDPOINT_ANSWER,
	status: 201,
	body: {
		description:
			"Settings as in sluice.yaml, all optional, durations also as text such as 5m, and the id; without one it gets " +
			"a random one.",
		schema: { ...ENDPOINT_SCHEMA, properties: { id: ENDPOINT_ID, ...ENDPOINT_SCHEMA.properties } },
		checked: true,
	},
	errors: ["endpoint_exists"],
	maxBody: MB,
});

export const GET_ENDPOINT = route("getEndpoint", "GET /v1/endpoints/:endpoint", "read", {
	summary: "An endpoint with its settings and counts.",
	answer: ENDPOINT_ANSWER,
});

const UPDATE_ENDPOINT = route("updateEndpoint", "PATCH /v1/endpoints/:endpoint", "admin", {
	summary: "Changes settings of an endpoint; null restores a default.",
	answer: ENDPOINT_ANSWER,
	body: {
		description:
			"A JSON merge patch (RFC 7396): the settings to change, durations also as text such as 5m; null restores a " +
			"default.",
		schema: ENDPOINT_SCHEMA,
		checked: true,
	},
	errors: ["endpoint_changed", "endpoint_unreadable"],
	maxBody: MB,
});

export const DRY_RUN = flag("dryRun", "Changes nothing: the answer says what would be changed.");

const SETTING_CHANGE = object({
	field: { ...TEXT, description: "Path of the setting, such as workersMax or env.MODEL." },
	action: { enum: ["add", "change", "remove"] },
	"before?": { description: "The value before; for a new endpoint the default. Absent for env and webhookSecret." },
	"after?": { description: "The value afterwards. Absent for env and webhookSecret." },
});

const CHANGED_ENDPOINT = object({
	id: ENDPOINT_ID,
	action: { enum: ["create", "update", "none"], description: "none: the settings are these already." },
	applied: { ...FLAG, description: "Whether something was changed." },
	changes: list(SETTING_CHANGE),
});
export type ChangedEndpoint = Static<typeof CHANGED_ENDPOINT>;

export const PUT_ENDPOINT = route("putEndpoint", "PUT /v1/endpoints/:endpoint", "admin", {
	summary: "Creates an endpoint, or replaces all its settings: those that the body does not name get their defaults.",
	answer: {
		description: "What was changed, or with dryRun what would be.",
		schema: CHANGED_ENDPOINT,
	},
	body: {
		description:
			"All settings as in sluice.yaml, with all of env; a webhookSecret that is not named stays. If nothing differs, " +
			"nothing is changed.",
		schema: ENDPOINT_SCHEMA,
		checked: true,
	},
	query: [DRY_RUN],
	errors: ["endpoint_exists", "endpoint_changed"],
	creates: true,
	maxBody: MB,
});

export const COMPARE_ENDPOINTS = route("compareEndpoints", "POST /v1/diff", "admin", {
	summary: "What PUT of each of these endpoints would change. Changes nothing.",
	answer: {
		description: "What would be changed, in the order of the body.",
		schema: object({ applied: { const: false }, endpoints: list(CHANGED_ENDPOINT) }),
	},
	body: {
		description: `The settings of at most ${MOST_COMPARED} endpoints by id, each as the body of PUT.`,
		schema: {
			type: "object",
			additionalProperties: false,
			required: ["endpoints"],
			properties: {
				endpoints: { type: "object", maxProperties: MOST_COMPARED, additionalProperties: ENDPOINT_SCHEMA },
			},
		},
		checked: true,
	},
	errors: ["endpoint_exists"],
	maxBody: 2 * MB,
});

const DELETE_ENDPOINT = route("deleteEndpoint", "DELETE /v1/endpoints/:endpoint", "admin", {
	summary: "Deletes an endpoint: its jobs are cancelled, its workers stopped.",
	answer: ENDPOINT_ANSWER,
	body: NO_BODY,
});

const PAUSE_ENDPOINT = route("pauseEndpoint", "POST /v1/endpoints/:endpoint/pause", "admin", {
	summary: "Jobs are accepted and queued, but not sent to workers.",
	answer: ENDPOINT_ANSWER,
	body: NO_BODY,
});

const RESUME_ENDPOINT = route("resumeEndpoint", "POST /v1/endpoints/:endpoint/resume", "admin", {
	summary: "Jobs are sent to workers again.",
	answer: ENDPOINT_ANSWER,
	body: NO_BODY,
});

export const WORKER_ENV = route("workerEnv", "POST /v1/endpoints/:endpoint/worker-env", "admin", {
	summary: "Environment variables for an external worker, with a new token.",
	answer: {
		description: "Variables by name.",
		schema: object({ env: { type: "object", additionalProperties: TEXT } }),
	},
	query: [WORKER_URL, REPLICAS],
});

export const RENEW_WEBHOOK_SECRET = route(
	"renewWebhookSecret",
	"POST /v1/endpoints/:endpoint/webhook-secret",
	"admin",
	{
		summary: "Creates a new secret for signing webhooks. Only this answer contains it.",
		answer: {
			description: "The secret, shown only in this answer.",
			schema: object({ webhookSecret: TEXT, "formerWebhookSecretUntil?": MOMENT }),
		},
		query: [OVERLAP],
		body: NO_BODY,
		errors: ["endpoint_changed", "endpoint_unreadable"],
	},
);

export const ENDPOINT_ROUTES = [
	LIST_ENDPOINTS,
	CREATE_ENDPOINT,
	GET_ENDPOINT,
	UPDATE_ENDPOINT,
	PUT_ENDPOINT,
	COMPARE_ENDPOINTS,
	DELETE_ENDPOINT,
	PAUSE_ENDPOINT,
	RESUME_ENDPOINT,
	WORKER_ENV,
	RENEW_WEBHOOK_SECRET,
] as const;
