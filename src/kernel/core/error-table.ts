/** All client-visible errors (D2, D3). */
export interface ErrorEntry {
	status: number;
	/** `{name}` is replaced by that parameter. */
	sentence: string;
	/**
	 * Seconds for `Retry-After`. For three errors they are computed, and replace this value (`ApiError` in
	 * `core/errors.ts`): `rate_limited` in `overRate` of `engine/limits/admission.ts`,
	 * `too_many_failures` in `count` of `engine/access/failures.ts`, `gpu_quota_used` in `refusalOf` of
	 * `modules/quotas/gpu-quotas.ts`. No module defines another 429. `refuse` in `http/exchange/reply.ts` writes the
	 * header, and `modules/openai/reply.ts` that of failed OpenAI jobs; a 429 that a worker returned has none.
	 */
	retryAfter?: number;
	/** Set for a status of 500 or more that is not a fault of the service, so it is not logged. */
	isExpected?: true;
}

export const ERRORS = {
	bad_json: { status: 400, sentence: "The body cannot be read as a JSON object: {why} Send one{type}." },
	bad_form: { status: 400, sentence: "The body cannot be read as a form (multipart/form-data): {why}" },
	bad_request: { status: 400, sentence: "The request has {count}: {first}" },
	bad_query: { status: 400, sentence: "The query parameter {name} is {value}; it must be {bound}." },
	bad_http: { status: 400, sentence: "The request is not well-formed HTTP." },
	https_only: { status: 400, sentence: "This port accepts https only: use an address that begins with https://." },
	unauthorized: { status: 401, sentence: "{why} Send the header 'Authorization: Bearer <API key>'." },
	forbidden: { status: 403, sentence: "{why}" },
	worker_unauthorized: {
		status: 401,
		sentence: "{why} Start the worker with the variables that 'sluice worker-env {endpoint}' prints.",
	},
	endpoint_not_found: {
		status: 404,
		sentence: "There is no endpoint '{endpoint}'.{meant} GET /v1/endpoints lists those that exist.",
	},
	job_not_found: {
		status: 404,
		sentence: "There is no job '{job}' on endpoint '{endpoint}': the id is unknown, or its result has expired.",
	},
	key_not_found: { status: 404, sentence: "There is no key '{key}'. GET /v1/keys lists those that exist." },
	resource_not_found: { status: 404, sentence: "There is no {kind} '{id}'. {list} lists those that exist." },
	worker_not_found: {
		status: 404,
		sentence:
			"There is no log of worker '{worker}' of endpoint '{endpoint}': the id is unknown, the " +
			"worker is external, or its log was already removed.",
	},
	worker_gone: {
		status: 404,
		sentence: "Endpoint '{endpoint}' has no worker '{worker}'. GET /v1/endpoints/{endpoint}/workers lists its workers.",
	},
	path_not_found: {
		status: 404,
		sentence: "There is no operation {method} {path}. Job operations are at /v2/<endpoint>/<operation>.",
	},
	method_not_allowed: { status: 405, sentence: "{method} is not allowed here; use {allow}." },
	job_not_retryable: {
		status: 409,
		sentence: "Job '{job}' is {state}; only FAILED and TIMED_OUT jobs can be retried.",
	},
	idempotency_reused: {
		status: 409,
		sentence: "The Idempotency-Key was used for another body. Use a new key for a new submission.",
	},
	idempotency_expired: {
		status: 409,
		sentence: "The job of this Idempotency-Key {fate} and does not run again. Use a new key to submit it again.",
	},
	endpoint_exists: {
		status: 409,
		sentence:
			"The endpoint '{endpoint}' already exists{why}. Change it with PATCH " +
			"/v1/endpoints/{endpoint}, or choose another id.",
	},
	endpoint_changed: {
		status: 409,
		sentence:
			"This change was not made, because other servers repeatedly changed the endpoint '{endpoint}' at the same " +
			"time. Send it again.",
	},
	endpoint_unreadable: {
		status: 409,
		sentence:
			"This server cannot read the settings of the endpoint '{endpoint}', which another version of Sluice stored: " +
			"{fault} Update this server, or set all of them with PUT /v1/endpoints/{endpoint}.",
	},
	last_admin_key: {
		status: 409,
		sentence: "This is the last admin key; without one the service cannot be managed. Create another one first.",
	},
	worker_not_launched: {
		status: 409,
		sentence:
			"Worker '{worker}' is external: stop it where it was started. To send it no more jobs, " +
			"pause endpoint '{endpoint}'.",
	},
	workers_external: {
		status: 409,
		sentence:
			"The workers of endpoint '{endpoint}' are external: start them yourself, with the " +
			"variables that 'sluice worker-env {endpoint}' prints.",
	},
	duplicate_worker_id: {
		status: 409,
		sentence: "Another process is already polling as worker '{worker}'. Give each worker its own id in RUNPOD_POD_ID.",
	},
	body_too_large: {
		status: 413,
		sentence:
			"The body has {size} bytes; at most {limit} are accepted. Put large files into storage and send their URLs.",
	},
	part_too_large: {
		status: 413,
		sentence: "The part '{name}' of the form has over {limit} bytes, the most that is accepted.",
	},
	unsupported_encoding: {
		status: 415,
		sentence: "Content-Encoding '{encoding}' is not supported; send the body uncompressed, or as one of {codings}.",
	},
	bad_encoding: { status: 400, sentence: "The body is not valid {encoding}, as its Content-Encoding says: {why}." },
	headers_too_large: {
		status: 431,
		sentence:
			"Request line and headers have more than 16 KB (for workers 64 KB) or 1000 lines; " +
			"send fewer or shorter headers.",
	},
	request_timeout: { status: 408, sentence: "The request did not arrive completely in time; send it again." },
	rate_limited: {
		status: 429,
		sentence:
			"Endpoint '{endpoint}' allows {limit} requests of '{operation}' in any 10 s. Try again " +
			"after the time in Retry-After, then with exponential backoff.",
		// For the reference: engine/limits/admission.ts computes it for each refusal.
		retryAfter: 1,
	},
	too_many_at_once: {
		status: 429,
		sentence:
			"Endpoint '{endpoint}' allows {limit} concurrent requests of '{operation}'. Try again when some have ended.",
		retryAfter: 1,
	},
	too_many_worker_ids: {
		status: 429,
		sentence:
			"{limit} worker ids already use this token of endpoint '{endpoint}' at this server; '{worker}' would exceed " +
			"the limit. Let each worker keep its id while it runs: an id counts for two minutes after its last call. " +
			"For more workers make another token with 'sluice worker-env {endpoint} --replicas'.",
		retryAfter: 5,
	},
	too_many_failures: {
		status: 429,
		sentence:
			"{address} has sent more than {limit} wrong keys, worker tokens or sign-in links in a minute, " +
			"and this one is wrong too. A valid one is accepted at any time.",
		// For the reference: engine/access/failures.ts computes it for each refusal.
		retryAfter: 60,
	},
	management_busy: {
		status: 429,
		sentence:
			"This key has {limit} management requests in flight already, the budget 'management' of this server. " +
			"Try again when some have ended.",
		retryAfter: 1,
	},
	documents_busy: {
		status: 429,
		sentence:
			"Too many pending requests for documentation or console files from this address. " +
			"Try again when some are answered.",
		retryAfter: 1,
	},
	memory_share: {
		status: 429,
		sentence:
			"This {owner} already holds {held} bytes of requests and unread answers; {bytes} more would exceed " +
			"its share of the budget 'memory' of this server ({limit} bytes). " +
			"Read responses fully and send fewer in parallel.",
		retryAfter: 5,
	},
	queue_full: {
		status: 429,
		sentence:
			"The queue of endpoint '{endpoint}' is full: {limit} jobs are waiting. Try again later " +
			"with exponential backoff, or raise workersMax.",
		retryAfter: 5,
	},
	quota_full: {
		status: 429,
		sentence:
			"Endpoint '{endpoint}' has {stored} MB of inputs, results and chunks in the store; this input has " +
			"{size} MB, and limits.storedMb is {limit} MB. Wait for results to expire, " +
			"shorten retention, or raise limits.storedMb.",
		retryAfter: 5,
	},
	gpu_quota_used: {
		status: 429,
		sentence:
			"Jobs of endpoint '{endpoint}' have used {used} GPU seconds since midnight UTC; its limit, " +
			"limits.gpuSecondsPerDay, is {limit}. It accepts jobs again at {end}, or when this limit is raised.",
		// For the reference: modules/quotas/gpu-quotas.ts computes it for each refusal.
		retryAfter: 60,
	},
	draining: {
		status: 429,
		sentence: "This server is shutting down and sends no more jobs to workers.",
		retryAfter: 5,
	},
	internal: {
		status: 500,
		sentence: "The request failed because of an internal error; the log has the details under {requestId}.",
	},
	not_ready: { status: 503, sentence: "This server {why}; use another one.", retryAfter: 2, isExpected: true },
	store_unavailable: {
		status: 503,
		sentence: "The store is unavailable ({why}). Nothing was accepted; send it again.",
		retryAfter: 2,
	},
	// The budget `stored`, not the disk: a full disk is `store_unavailable`.
	store_full: {
		status: 503,
		sentence:
			"All endpoints together have {stored} MB of inputs, results and chunks in the store; the budget 'stored' " +
			"is {limit} MB. Wait for results to expire, shorten retention, or raise budgets.stored.",
		retryAfter: 5,
		isExpected: true,
	},
	memory_spent: {
		status: 503,
		sentence:
			"Requests and unread answers of all callers use up the budget 'memory' of this server ({limit} bytes); " +
			"this request needs {bytes} more. Try again after the time in Retry-After.",
		retryAfter: 5,
		isExpected: true,
	},
	outcome_unknown: {
		status: 503,
		sentence:
			"The store became unavailable during this request ({why}). It may have been accepted: " +
			"check before you send it again, or send it with its Idempotency-Key.",
		retryAfter: 2,
	},
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** An error of a module. Its entry contains its code, so that modules need no common list of codes. */
export interface ModuleError extends ErrorEntry {
	code: string;
	/** What the client should do, for the documentation. */
	advice: string;
}

/** Errors of a module by their codes. */
export type ErrorTable = Readonly<Record<string, ModuleError>>;

export function errorTable<const T extends Readonly<Record<string, Omit<ModuleError, "code">>>>(
	entries: T,
): { readonly [Code in keyof T]: ModuleError } {
	return Object.fromEntries(Object.entries(entries).map(([code, entry]) => [code, { ...entry, code }])) as {
		[Code in keyof T]: ModuleError;
	};
}
