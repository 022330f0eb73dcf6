/** Errors of the management API: problem details (RFC 9457, D49). */
import { STATUS_CODES } from "node:http";
import type { ApiError } from "../../core/errors.ts";
import type { Fault } from "../../lib/schema.ts";

export const PROBLEM_TYPE = "application/problem+json";

export function problemBody(error: ApiError): string {
	const { status, message, details } = error;
	return JSON.stringify({
		title: STATUS_CODES[status],
		status,
		detail: message,
		...(details ? { errors: details.map(sentenceOf) } : {}),
	});
}

/** `$.workers.min must be ...`. */
function sentenceOf({ field, message }: Fault): string {
	return `$${field === "" ? "" : `.${field}`} ${message}`;
}
