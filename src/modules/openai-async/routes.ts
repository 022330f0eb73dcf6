/** OpenAI's `/batches` (D57), before `/openai/*`, which is the worker's. */
import { text, whole } from "../../kernel/api/definition/params.ts";
import { MB, route } from "../../kernel/api/definition/route.ts";
import { COUNT, FLAG, list, object, type Static, TEXT } from "../../kernel/api/definition/schema.ts";
import { ERRORS } from "./errors.ts";

/** Time in which the requests of a batch may run at most, as `policy.ttl` (D15). */
export const LONGEST_WINDOW_MS = 604_800_000;

/** OpenAI's bounds. */
export const METADATA = { pairs: 16, nameLength: 64, valueLength: 512 } as const;
export const OUTPUT_LIFETIME = { minimum: 3600, maximum: 2_592_000 } as const;

export const STATUSES = [
	"validating",
	"failed",
	"in_progress",
	"finalizing",
	"completed",
	"expired",
	"cancelling",
	"cancelled",
] as const;
export type BatchStatus = (typeof STATUSES)[number];

const SECONDS_OR_NULL = { type: ["integer", "null"], minimum: 0, "x-unit": "seconds since 1970" } as const;
const SECONDS = { type: "integer", minimum: 0, "x-unit": "seconds since 1970" } as const;
const NULL = { type: "null" } as const;
const TEXT_OR_NULL = { type: ["string", "null"] } as const;

const ERROR = object({
	code: TEXT,
	line: { type: ["integer", "null"], description: "Line of the input file, from 1." },
	message: TEXT,
	param: { ...TEXT_OR_NULL, description: "Member of the line." },
});

const USAGE = object({
	input_tokens: COUNT,
	input_tokens_details: object({ cached_tokens: COUNT }),
	output_tokens: COUNT,
	output_tokens_details: object({ reasoning_tokens: COUNT }),
	total_tokens: COUNT,
});

export const BATCH = object({
	id: { ...TEXT, description: "batch_ and 32 hex digits." },
	object: { enum: ["batch"] },
	endpoint: { ...TEXT, description: "Path of each request, such as /v1/chat/completions." },
	errors: {
		oneOf: [object({ object: { enum: ["list"] }, data: list(ERROR) }), NULL],
		description: "Why it failed, of at most 100 lines; else null.",
	},
	input_file_id: TEXT,
	completion_window: TEXT,
	status: { enum: STATUSES },
	output_file_id: { ...TEXT_OR_NULL, description: "File with the answers, once it has ended; null without any." },
	error_file_id: { ...TEXT_OR_NULL, description: "File with the requests that have no answer; null without any." },
	created_at: SECONDS,
	in_progress_at: SECONDS_OR_NULL,
	expires_at: SECONDS_OR_NULL,
	finalizing_at: SECONDS_OR_NULL,
	completed_at: SECONDS_OR_NULL,
	failed_at: SECONDS_OR_NULL,
	expired_at: SECONDS_OR_NULL,
	cancelling_at: SECONDS_OR_NULL,
	cancelled_at: SECONDS_OR_NULL,
	request_counts: object({ total: COUNT, completed: COUNT, failed: COUNT }),
	usage: { ...USAGE, description: "Tokens by the `usage` of the answers." },
	metadata: { oneOf: [{ type: "object", additionalProperties: TEXT }, NULL] },
});
export type BatchObject = Static<typeof BATCH>;

const BATCH_LIST = object({
	object: { enum: ["list"] },
	data: list(BATCH),
	first_id: { ...TEXT_OR_NULL, description: "null without batches." },
	last_id: { ...TEXT_OR_NULL, description: "For `after` of the next page." },
	has_more: FLAG,
});

const BATCHES = "/v2/:endpoint/openai/v1/batches";

export const AFTER = text("after", 64, "Id of the last batch of the page before.");
export const LIMIT = whole("limit", {
	minimum: 1,
	maximum: 100,
	default: 20,
	description: "Maximum number of batches on this page.",
});

const CREATE_BATCH = route("createBatch", `POST ${BATCHES}`, "write", {
	summary: "Runs each line of an uploaded file as a request, whenever workers have nothing else to do.",
	answer: {
		description: "The batch. Faults of its lines are found afterwards: then its status is failed.",
		schema: BATCH,
	},
	body: {
		description: "The batch.",
		schema: {
			type: "object",
			required: ["input_file_id", "endpoint", "completion_window"],
			properties: {
				input_file_id: { type: "string", description: "Id of a file with purpose batch: a JSON object in each line." },
				endpoint: { type: "string", description: "Path of each request, such as /v1/chat/completions." },
				completion_window: { type: "string", description: "24h, or another number of hours or days up to 7d." },
				metadata: { type: ["object", "null"], additionalProperties: { type: "string" } },
				webhook: {
					type: "string",
					description:
						"URL that gets a signed POST when the batch has ended, as an event of OpenAI. Not part of OpenAI's API.",
				},
				output_expires_after: {
					type: "object",
					required: ["anchor", "seconds"],
					properties: {
						anchor: { enum: ["created_at"] },
						seconds: { type: "integer", ...OUTPUT_LIFETIME },
					},
				},
			},
			additionalProperties: true,
		},
	},
	maxBody: MB,
	errors: [
		"bad_json",
		"bad_request",
		"idempotency_reused",
		"not_ready",
		ERRORS.input_file_not_found,
		ERRORS.files_not_stored,
	],
});

const LIST_BATCHES = route("listBatches", `GET ${BATCHES}`, "read", {
	summary: "The batches of the endpoint, newest first.",
	answer: { description: "A page of batches.", schema: BATCH_LIST },
	query: [AFTER, LIMIT],
});

const GET_BATCH = route("getBatch", `GET ${BATCHES}/:batch`, "read", {
	summary: "One batch.",
	answer: { description: "The batch.", schema: BATCH },
	errors: [ERRORS.batch_not_found],
});

const CANCEL_BATCH = route("cancelBatch", `POST ${BATCHES}/:batch/cancel`, "write", {
	summary: "Cancels a batch. Requests that run may end within 10 minutes; one that has ended stays as it is.",
	answer: { description: "The batch.", schema: BATCH },
	errors: [ERRORS.batch_not_found],
});

export const BATCH_ROUTES = [CREATE_BATCH, LIST_BATCHES, GET_BATCH, CANCEL_BATCH] as const;
