import { expect, it } from "vitest";
import { type ErrorCode, ERRORS } from "../../kernel/core/error-table.ts";
import { ApiError } from "../../kernel/core/errors.ts";
import { inCommandWords, serviceError } from "./service-error.ts";

/** Errors of callers that are no command: programs that speak HTTP, and workers. */
const OTHERS: readonly string[] = ["bad_http", "path_not_found", "method_not_allowed", "headers_too_large"];

it.each(Object.keys(ERRORS).filter((code) => !OTHERS.includes(code)))(
	"D36: the error %s is in words of the command, not of HTTP",
	(code) => {
		const { message } = new ApiError(
			code as ErrorCode,
			{
				why: "The API key is unknown.",
				endpoint: "hello",
				reason: "",
			} as never,
		);
		expect(inCommandWords(message)).not.toMatch(
			/\b(GET|POST|PUT|PATCH|DELETE) \/|\bheader|Retry-After|Idempotency-Key/,
		);
	},
);

it("D36: a refused key names where it comes from, other refusals keep their reason", () => {
	const q = { status: 401, keyFrom: "SLUICE_API_KEY" };
	const body = (error: string) => ({ error, code: "unauthorized" });
	const header = " Send the header 'Authorization: Bearer <API key>'.";
	expect(serviceError(body(`The API key is unknown.${header}`), q)).toBe(
		"Invalid API key: check SLUICE_API_KEY or --key.",
	);
	expect(serviceError(body(`The key lacks the scope admin.${header}`), q)).toBe("The key lacks the scope admin.");
});
