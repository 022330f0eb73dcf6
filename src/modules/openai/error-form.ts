/** Errors as OpenAI's clients expect them (D32). */
import type { ErrorForm } from "../../kernel/api/definition/route.ts";
import type { ApiError } from "../../kernel/core/errors.ts";

export interface OpenAIFailure {
	/** 400 to 599. */
	status: number;
	message: string;
	type: string;
	param: string | null;
	code: string | number | null;
	/** Seconds for `Retry-After`; absent if a retry would fail again. */
	retryAfter?: number;
}

export function failureBody({ message, type, param, code }: OpenAIFailure): string {
	return JSON.stringify({ error: { message, type, param, code } });
}

/** `param` is the first invalid field. */
export function failureOfRefusal(error: ApiError): OpenAIFailure {
	const { status, message, code, details, retryAfter } = error;
	return {
		status,
		message,
		type: typeOf(status),
		param: details?.[0]?.field ?? null,
		code,
		...(retryAfter === undefined ? {} : { retryAfter }),
	};
}

export function typeOf(status: number): string {
	if (status >= 500) return "server_error";
	if (status === 401) return "authentication_error";
	return status === 429 ? "rate_limit_error" : "invalid_request_error";
}

export const OPENAI_ERRORS: ErrorForm = {
	name: "openai",
	paths: /^\/(?:sdk\/)?v2\/[^/]+\/openai(?:\/|$)/,
	body: (error) => failureBody(failureOfRefusal(error)),
};
