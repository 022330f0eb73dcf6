/** Endpoints of the management API (D49). */
import {
	CPU,
	GPU_MEMBERS,
	MIN_CUDA_VERSION,
	POOLS,
	STORED_MEMBERS,
} from "../../../kernel/core/endpoints/management-setting.ts";
import { plainText, type Schema } from "../../../kernel/lib/schema.ts";
import { DELETED, managed } from "./operation.ts";
import { COUNT, list, MOMENT, object, TEXT, TEXTS } from "../../../kernel/api/definition/schema.ts";
import { CONTAINER } from "./container.ts";
import { CURSOR, LIMIT, pagesOf } from "./pages.ts";

const WHOLE = { type: "integer" } as const;
const VARIABLES = { type: "object", additionalProperties: TEXT } as const;

const SCALING: Schema = {
	oneOf: [
		{
			type: "object",
			additionalProperties: false,
			required: ["type", "queueDelay"],
			properties: {
				type: { const: "QUEUE_DELAY" },
				queueDelay: { type: "number", minimum: 0.5, maximum: 1_000_000, "x-unit": "seconds" },
			},
		},
		{
			type: "object",
			additionalProperties: false,
			required: ["type", "requestCount"],
			properties: {
				type: { const: "REQUEST_COUNT" },
				requestCount: { type: "integer", minimum: 1, maximum: 1_000_000 },
			},
		},
	],
	"x-message": "must be an object with type QUEUE_DELAY and queueDelay, or REQUEST_COUNT and requestCount.",
};

const GPU = {
	type: "object",
	additionalProperties: false,
	properties: {
		pools: POOLS,
		count: { type: "integer", minimum: 1, maximum: 64 },
		...GPU_MEMBERS,
		minCudaVersion: MIN_CUDA_VERSION,
	},
} as const satisfies Schema;

const UPDATE = {
	name: plainText(1, 191),
	...CONTAINER,
	/** Endpoints without one have an empty text, which is accepted as no change. */
	image: { ...CONTAINER.image, pattern: "^\\S{0,255}$" },
	flashboot: STORED_MEMBERS.flashboot,
	dataCenterIds: STORED_MEMBERS.dataCenterIds,
	networkVolumes: STORED_MEMBERS.networkVolumes,
	gpu: GPU,
	cpu: CPU,
	workers: {
		type: "object",
		additionalProperties: false,
		properties: {
			min: { type: "integer", minimum: 0, maximum: 1000 },
			max: { type: "integer", minimum: 0, maximum: 1000 },
			idleTimeout: { type: "integer", minimum: 1, maximum: 3600, "x-unit": "seconds" },
		},
	},
	scaling: SCALING,
	timeout: { type: "integer", minimum: 0, "x-unit": "ms" },
	templateId: { type: "string", minLength: 1, description: "Of a serverless template, which fills what is left out." },
} as const satisfies Record<string, Schema>;

const CREATED = {
	type: "object",
	additionalProperties: false,
	required: ["name", "type", "scaling"],
	properties: {
		...UPDATE,
		image: CONTAINER.image,
		type: { enum: ["QUEUE"], "x-message": "must be QUEUE: there are no load-balancing endpoints here." },
		gpu: { ...GPU, required: ["pools"] },
	},
} as const satisfies Schema;

const CHANGED = { type: "object", additionalProperties: false, properties: UPDATE } as const satisfies Schema;

const GPU_ANSWER = object({
	pools: TEXTS,
	"excludedTypes?": TEXTS,
	count: WHOLE,
	allowedCudaVersions: TEXTS,
	minCudaVersion: { type: ["string", "null"] } as const,
});

const URLS = object({
	run: TEXT,
	runSync: TEXT,
	status: TEXT,
	stream: TEXT,
	cancel: TEXT,
	retry: TEXT,
	purgeQueue: TEXT,
	health: TEXT,
});

export const MANAGED_ENDPOINT = object({
	id: TEXT,
	name: TEXT,
	type: { const: "QUEUE" },
	requestUrls: { ...URLS, description: "{job_id} stands for the id of a job." },
	image: TEXT,
	args: TEXT,
	cmd: TEXTS,
	entrypoint: TEXTS,
	disk: { ...WHOLE, description: "GB; stored only." },
	ports: { ...TEXTS, description: "Stored only." },
	env: { ...VARIABLES, description: "Values are shown." },
	registry: { type: ["string", "null"] } as const,
	gpu: { oneOf: [GPU_ANSWER, { type: "null" }] } as const,
	"cpu?": { ...list(object({ id: TEXT, vcpuCount: WHOLE, memory: WHOLE })), description: "Without GPUs." },
	workers: object({ min: COUNT, max: COUNT, "idleTimeout?": COUNT }),
	scaling: {
		oneOf: [
			object({ type: { const: "QUEUE_DELAY" }, queueDelay: { type: "number" } }),
			object({ type: { const: "REQUEST_COUNT" }, requestCount: WHOLE }),
		],
	} as const,
	dataCenterIds: TEXTS,
	networkVolumes: TEXTS,
	timeout: { ...WHOLE, description: "Ms." },
	flashboot: { enum: ["OFF", "FLASHBOOT", "PRIORITY_FLASHBOOT"], description: "Stored only." } as const,
	createdAt: MOMENT,
});

const ONE = { description: "The endpoint.", schema: MANAGED_ENDPOINT } as const;

export const LIST_MANAGED = managed("listManaged", "GET /v2/serverless", {
	showsValues: true,
	summary: "All endpoints, newest first, those made elsewhere included.",
	answer: {
		description: "A page of endpoints.",
		schema: pagesOf("endpoints", MANAGED_ENDPOINT),
	},
	query: [LIMIT, CURSOR],
});

export const CREATE_MANAGED = managed("createManaged", "POST /v2/serverless", {
	summary: "Creates an endpoint with a random id, for the launcher of management.launcher.",
	status: 201,
	answer: ONE,
	body: {
		description: "image is required unless templateId is given, and exactly one of gpu and cpu.",
		schema: CREATED,
	},
	errors: ["resource_not_found"],
});

export const GET_MANAGED = managed("getManaged", "GET /v2/serverless/:endpoint", {
	showsValues: true,
	summary: "One endpoint.",
	answer: ONE,
});

export const UPDATE_MANAGED = managed("updateManaged", "PATCH /v2/serverless/:endpoint", {
	summary: "Changes an endpoint. Members as they were change nothing.",
	answer: ONE,
	body: {
		description: "The members to change; env replaces all variables.",
		schema: CHANGED,
	},
	errors: ["resource_not_found", "endpoint_changed", "endpoint_unreadable"],
});

const DELETE_MANAGED = managed("deleteManaged", "DELETE /v2/serverless/:endpoint", {
	status: 204,
	answer: DELETED,
	summary: "Deletes an endpoint: its jobs are cancelled, its workers stopped.",
	errors: ["bad_request"],
});

export const MANAGED_ENDPOINT_ROUTES = [
	LIST_MANAGED,
	CREATE_MANAGED,
	GET_MANAGED,
	UPDATE_MANAGED,
	DELETE_MANAGED,
] as const;
