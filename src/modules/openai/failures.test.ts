import { describe, expect, it } from "vitest";
import { ApiError, badRequest } from "../../kernel/core/errors.ts";
import { type Job, newJob } from "../../kernel/core/jobs/job.ts";
import { failureBody, failureOfRefusal } from "./error-form.ts";
import { failureInOutput, failureOfError, failureOfJob } from "./failures.ts";
import { readPython } from "./python-literal.ts";

const inner = {
	message: "The model `x` does not exist.",
	type: "NotFoundError",
	param: null,
	code: 404,
};
/** What Python's `str()` makes of the SDK's error object around an answer of vLLM. */
const repr = (text: string): string =>
	`{'message': 'vLLM returned HTTP 404: ${text}', 'type': 'worker_error', 'code': None}`;

describe("what a worker says", () => {
	it.each([
		["vLLM's error, as Python prints it", repr(JSON.stringify({ error: inner }))],
		["vLLM's older form", repr(JSON.stringify({ object: "error", ...inner }))],
		[
			"the same as JSON",
			JSON.stringify({
				message: `vLLM returned HTTP 404: ${JSON.stringify({ error: inner })}`,
				type: "worker_error",
				code: null,
			}),
		],
		[
			"raised",
			JSON.stringify({
				error_type: "<class 'RuntimeError'>",
				error_message: `vLLM returned HTTP 404: ${JSON.stringify({ error: inner })}`,
				error_traceback: "secret",
			}),
		],
		[
			"raised in a generator",
			`handler: vLLM returned HTTP 404: ${JSON.stringify({ error: inner })} \ntraceback: Traceback secret`,
		],
		["alone", JSON.stringify({ error: inner })],
		[
			"an error object as Python prints it",
			`{'message': 'The model \`x\` does not exist.', "type": 'NotFoundError', 'param': None, 'code': 404}`,
		],
	])("D32: %s gives its status and error", (_, text) => {
		expect(failureOfError(text)).toEqual({ status: 404, ...inner });
	});

	it("D32: quotes, backslashes and escapes of Python's printing are undone", () => {
		const message = `it's "5" \\ on\nline \u00e9 \u{1F600} \u0007`;
		const json = JSON.stringify({ error: { message, code: 400 } });
		const printed = json
			.replaceAll("\\", "\\\\")
			.replaceAll("'", "\\'")
			.replaceAll("\u00e9", "\\xe9")
			.replaceAll("\u{1F600}", "\\U0001f600");
		expect(failureOfError(repr(printed).replace("404", "400"))).toMatchObject({
			status: 400,
			message,
			code: 400,
		});
	});

	it("D32: an answer of vLLM's framework, or none that can be read, has the status and its text", () => {
		expect(failureOfError(repr('{"detail":"Not Found"}'))).toEqual({
			status: 404,
			message: "Not Found",
			type: "invalid_request_error",
			param: null,
			code: null,
		});
		expect(failureOfError(repr("<html>"))).toMatchObject({ status: 404, message: "<html>" });
		expect(failureOfError(repr('{"error":{"mess').replace("404", "429"))).toMatchObject({
			status: 429,
			type: "rate_limit_error",
			message: '{"error":{"mess',
		});
	});

	it.each(["200", "302", "399", "600", "999"])("D32: a status of %s is none for an error: 500", (status) => {
		expect(failureOfError(repr("x").replace("404", status)).status).toBe(500);
		expect(failureOfError(JSON.stringify({ message: "x", code: Number(status) })).status).toBe(500);
	});

	it("D32: all else is 500 with the text, never with a traceback", () => {
		const plain = { status: 500, type: "server_error", param: null, code: "worker_failed" };
		expect(failureOfError("bad seed")).toEqual({ ...plain, message: "bad seed" });
		expect(
			failureOfError(
				JSON.stringify({
					error_type: "<class 'ValueError'>",
					error_message: "no such model",
					error_traceback: "secret",
				}),
			),
		).toEqual({ ...plain, message: "no such model" });
		expect(failureOfError(JSON.stringify({ error_type: "x", error_traceback: "secret" })).message).not.toContain(
			"secret",
		);
		expect(failureOfError("handler: broke half way \ntraceback: secret")).toEqual({
			...plain,
			message: "broke half way",
		});
		for (const text of ["", "5", "null", "[1]", "{'a'", "{1: 2}", '{"detail": 7}'])
			expect(failureOfError(text)).toEqual({ ...plain, message: text });
	});

	it("D32: an error with a word for a code is 500 and keeps it; what has no such type is null", () => {
		expect(failureOfError(JSON.stringify({ message: "x", type: 5, param: {}, code: "slow" }))).toEqual({
			status: 500,
			message: "x",
			type: "server_error",
			param: null,
			code: "slow",
		});
	});

	it("texts of any size and depth are taken", () => {
		for (const text of [
			"[".repeat(100_000),
			"{'a': ".repeat(10_000),
			`'${"\\'".repeat(1_000_000)}`,
			`{'a': '${"x".repeat(60_000)}'}`,
		])
			expect(failureOfError(text)).toMatchObject({ status: 500, message: text });
	});
});

describe("readPython", () => {
	it("reads plain values, and nothing else", () => {
		expect(
			readPython(`{'a': [1, -2.5, 1e3, (), ('x',)], "b": {'c': True, 'd': False, 'e': None}, 'f': 'g\\n\\x41\\q'}`),
		).toEqual({ a: [1, -2.5, 1000, [], ["x"]], b: { c: true, d: false, e: null }, f: "g\nA\\q" });
		for (const text of [
			"",
			"None",
			"x",
			"{'a': 1} x",
			"{'a' 1}",
			"{'a': nan}",
			"[1 2]",
			"[1",
			"{'a': <object>}",
			"['\\U00110000'",
		])
			expect(readPython(text), text).toBeUndefined();
		expect(readPython("{'__proto__': 1}")).toEqual(Object.assign(Object.create(null), { ["__proto__"]: 1 }));
	});
});

describe("an output", () => {
	it("protocol C.2: of OpenAI's error form is a failure with the status of its code", () => {
		expect(failureInOutput(JSON.stringify({ object: "error", ...inner }))).toEqual({
			status: 404,
			...inner,
		});
		expect(failureInOutput(JSON.stringify({ error: inner }))).toEqual({ status: 404, ...inner });
		expect(failureInOutput('{"object":"error","message":"x"}')).toMatchObject({
			status: 500,
			message: "x",
		});
	});

	it("that only has something to do with an error is a result", () => {
		for (const value of [
			{ object: "response", error: null },
			{ object: "response", error: { message: "x", code: "y" } },
			{ error: "x" },
			{ object: "error" },
			["error"],
			"error",
			{ choices: [{ text: '"error"' }] },
		]) {
			expect(failureInOutput(JSON.stringify(value)), JSON.stringify(value)).toBeUndefined();
		}
	});
});

describe("ends of jobs", () => {
	const fresh = newJob(
		{
			id: "j",
			endpoint: "e",
			operation: "openai",
			lowPriority: false,
			ttlMs: 1,
			executionTimeoutMs: 1,
			leaseMs: 1,
			retainMs: 1,
			recordMs: 1,
		},
		0,
	);
	const of = (change: Partial<Job>, error?: string) => failureOfJob({ job: { ...fresh, ...change }, error });

	it("D32: no worker in time is 503 and may be retried; a time-out is 504, a cancelled job 409, neither may", () => {
		expect(of({ state: "TIMED_OUT" }, "waited")).toEqual({
			status: 503,
			type: "server_error",
			param: null,
			code: "no_worker_in_time",
			message: "waited",
			retryAfter: 5,
		});
		expect(of({ state: "TIMED_OUT", startedAt: 1 }, "ran")).toEqual({
			status: 504,
			type: "server_error",
			param: null,
			code: "job_timed_out",
			message: "ran",
		});
		expect(of({ state: "CANCELLED" })).toMatchObject({ status: 409, code: "job_cancelled" });
		expect(of({ state: "CANCELLED" }).retryAfter).toBeUndefined();
		expect(of({ state: "FAILED" }, "x")).toMatchObject({ status: 500, message: "x" });
	});
});

describe("refusals", () => {
	it("D32: have the message and code of the table, the first bad field and when to come again", () => {
		expect(failureOfRefusal(new ApiError("queue_full", { endpoint: "e", limit: 5 }))).toMatchObject({
			status: 429,
			type: "rate_limit_error",
			code: "queue_full",
			param: null,
			retryAfter: 5,
		});
		expect(failureOfRefusal(new ApiError("unauthorized", { why: "No." }))).toMatchObject({
			status: 401,
			type: "authentication_error",
		});
		const bad = failureOfRefusal(badRequest([{ field: "a.b", message: "is bad." }]));
		expect(JSON.parse(failureBody(bad))).toEqual({
			error: {
				message: "The request has a bad field: a.b is bad.",
				type: "invalid_request_error",
				param: "a.b",
				code: "bad_request",
			},
		});
	});
});
