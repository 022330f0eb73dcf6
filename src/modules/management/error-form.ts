/** Errors as RunPod's management API has them: problem details, RFC 9457 (D49). */
import { STATUS_CODES } from "node:http";
import type { ErrorForm } from "../../kernel/api/definition/route.ts";
import { isReservedPath } from "../../kernel/core/endpoints/reserved-ids.ts";
import type { Fault } from "../../kernel/lib/schema.ts";

export const PROBLEM: ErrorForm = {
	name: "problem",
	paths: { test: isReservedPath },
	media: "application/problem+json",
	forbids: true,
	body: ({ status, message, details }) =>
		JSON.stringify({
			title: STATUS_CODES[status],
			status,
			detail: message,
			...(details ? { errors: details.map(sentenceOf) } : {}),
		}),
};

/** `$.workers.min must be ...`. */
function sentenceOf({ field, message }: Fault): string {
	return `$${field === "" ? "" : `.${field}`} ${message}`;
}
