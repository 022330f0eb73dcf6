/** `/openai/*`, under `/v2` and `/sdk/v2` (D32). */
import { MB, route, underSdk } from "../../kernel/api/definition/route.ts";
import { OPENAI_ERRORS } from "./error-form.ts";
import { ERRORS } from "./errors.ts";

const OPENAI = route("openai", "GET POST /v2/:endpoint/openai/*", "write", {
	ownLimits: true,
	summary: "Runs a request of OpenAI's API as a job and answers in OpenAI's form.",
	answer: {
		description:
			"The result as the worker produced it; one that is no JSON, such as speech, has its own Content-Type. A " +
			"failure that the worker reported in OpenAI's form has its own status.",
		schema: {},
		events: "the worker's chunks as it produced them",
		headers: { "x-request-id": "Id of the job." },
	},
	body: {
		description:
			"A request of OpenAI's API; the worker gets it as input.openai_input, and the route as input.openai_route. " +
			"Also a form (multipart/form-data) of at most 15 MiB, whose files the worker gets in base64.",
		schema: {
			type: "object",
			properties: {
				stream: { type: "boolean", default: false, description: "Answer with server-sent events." },
				background: {
					type: "boolean",
					default: false,
					description:
						"Of /v2/{endpoint}/openai/v1/responses: answer at once with a response that is queued, whose job goes on " +
						"when the client leaves.",
				},
			},
			additionalProperties: true,
		},
	},
	errors: [
		...(["bad_request", "bad_form", "part_too_large", "queue_full", "quota_full", "gpu_quota_used"] as const),
		...(["store_full", "not_ready", "idempotency_reused", "idempotency_expired"] as const),
		ERRORS.openai_path_not_found,
	],
	maxBody: 20 * MB,
	errorForm: OPENAI_ERRORS,
	changesByGet: true,
	limit: "openai",
});

export const OPENAI_ROUTES = [OPENAI, underSdk(OPENAI)] as const;
