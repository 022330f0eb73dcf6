/** The table of errors as a whole. */
import { describe, expect, it } from "vitest";
import { type ErrorCode, ERRORS } from "./error-table.ts";
import { ApiError, badRequest, errorBody } from "./errors.ts";

const CODES = Object.keys(ERRORS) as ErrorCode[];

describe("errors", () => {
	it.each(CODES)("D2: %s has a sentence, and parameters fill it", (code) => {
		const names = [...ERRORS[code].sentence.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
		const error = new ApiError(code, Object.fromEntries(names.map((name) => [name, `<${name}>`])));
		for (const name of names) expect(error.message).toContain(`<${name}>`);
		expect(error.message).not.toMatch(/\{|\}/);
		expect(code).toMatch(/^[a-z0-9]+(_[a-z0-9]+)*$/);
	});

	it("D3: no body has a member status or id", () => {
		for (const code of CODES)
			expect(Object.keys(JSON.parse(errorBody(new ApiError(code, { status: 1, id: "x" }))))).toEqual(["error", "code"]);
	});

	it("D3: the statuses of the decision and of HTTP itself are used; 403 is for forms of errors that ask for it", () => {
		const statuses = (codes: readonly ErrorCode[]): number[] => codes.map((code) => ERRORS[code].status);
		expect(new Set(statuses(CODES.filter((code) => code !== "forbidden")))).toEqual(
			new Set([400, 401, 404, 405, 408, 409, 413, 415, 429, 431, 500, 503]),
		);
		expect(ERRORS.forbidden.status).toBe(403);
	});

	it("D3: 429 and 503 say when to come again", () => {
		for (const code of CODES) {
			const error = new ApiError(code);
			expect(error.retryAfter !== undefined, code).toBe(error.status === 429 || error.status === 503);
		}
	});

	it("D2: values of parameters are not read as places for others", () => {
		expect(new ApiError("job_not_found", { job: "{endpoint}$&", endpoint: "e" }).message).toContain(
			"no job '{endpoint}$&' on endpoint 'e'",
		);
	});

	it("D2: a bad request names the first two fields in its sentence and all in its details", () => {
		const one = badRequest([{ field: "input", message: "is missing." }]);
		expect(JSON.parse(errorBody(one))).toEqual({
			error: "The request has a bad field: input is missing.",
			code: "bad_request",
			details: [{ field: "input", message: "is missing." }],
		});
		const two = badRequest([
			{ field: "a", message: "x." },
			{ field: "b", message: "y." },
		]);
		expect(two.message).toBe("The request has 2 bad fields: a x. b y.");
		expect(two.details).toHaveLength(2);
		const four = badRequest(["a", "b", "c", "d"].map((field) => ({ field, message: "x." })));
		expect(four.message).toBe("The request has 4 bad fields: a x. b x. And 2 more.");
		expect(four.details).toHaveLength(4);
	});

	it("D3: the 405 carries its methods", () => {
		expect(new ApiError("method_not_allowed", { method: "PUT", allow: "GET, POST" }).allow).toBe("GET, POST");
		expect(new ApiError("job_not_found").allow).toBeUndefined();
	});
});
