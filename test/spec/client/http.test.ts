/** Section 7 at the level of HTTP: paths, methods and ids. All answers are JSON. */
import { describe, expect, it } from "vitest";
import { call, startService } from "../../support/service.ts";
import { expectError, submitted } from "../hand-worker.ts";
import { requestText } from "../raw-http.ts";
import { AUTH, job, raw, service, useRawService } from "./raw-service.ts";

useRawService();

describe("paths", () => {
	it.each([
		"/v2",
		"/v2/",
		"/v2/ep",
		"/v2/ep/",
		"/v2/ep/runs",
		"/v2/ep/run/",
		"/v2/ep/run/x",
		"/v2/ep/status",
		"/v2/ep/status/",
		"/v2/ep/status/a/b",
		"/v2//run",
		"/v3/ep/run",
		"/V2/ep/health",
		"/sdk/ep/health",
		"/sdk/v2/ep/nothing",
		"/v1/nothing",
		"/worker/ep/nothing/w",
		"/index.html",
		"/v2/ep/health%2F",
	])("D3: %s is 404", async (path) => {
		for (const method of ["GET", "POST"]) expectError(await call(service.url, path, { method }), 404, "path_not_found");
	});

	it.each(["%", "%zz", "%c3%28", "%ff", "a%"])("D3: the bad escape %s in a path is 404", async (escape) => {
		expectError(
			await raw(requestText({ method: "GET", path: `/v2/ep/status/${escape}`, headers: AUTH })),
			404,
			"path_not_found",
		);
		expectError(
			await raw(requestText({ method: "GET", path: `/v2/${escape}/health`, headers: AUTH })),
			404,
			"path_not_found",
		);
	});

	const HOSTILE = [
		"..",
		"../../etc/passwd".replaceAll("/", "%2F"),
		"%00",
		"a%00b",
		"%0d%0aX:%201",
		"'%20OR%201=1--",
		"%22",
		"{}",
		"<script>",
		"null",
		"undefined",
		"__proto__",
		"constructor",
		"-1",
		"*",
		"~",
		"%F0%9F%98%80",
		"x".repeat(10_000),
		"sync-",
		"018f0000-0000-7000-8000-000000000000",
	];
	it.each(HOSTILE.map((id) => [id.slice(0, 40), id]))("D3: the job id %s is unknown, 404", async (_, id) => {
		for (const [method, operation] of [
			["GET", "status"],
			["POST", "status"],
			["GET", "status-sync"],
			["GET", "stream"],
			["POST", "stream"],
			["POST", "cancel"],
		]) {
			expectError(
				await raw(requestText({ method: method!, path: `/v2/ep/${operation}/${id}`, headers: AUTH })),
				404,
				"job_not_found",
			);
		}
		expectError(
			await raw(
				requestText({
					method: "GET",
					path: `/v2/ep/stream/${id}`,
					headers: { ...AUTH, Accept: "text/event-stream" },
				}),
			),
			404,
			"job_not_found",
		);
		expectError(
			await raw(requestText({ method: "GET", path: `/v2/ep/stream/${id}?offset=0`, headers: AUTH })),
			404,
			"job_not_found",
		);
	});

	it.each(HOSTILE.map((id) => [id.slice(0, 40), id]))("spec 5.4: the endpoint id %s is unknown, 404", async (_, id) => {
		expectError(
			await raw(requestText({ method: "GET", path: `/v2/${id}/health`, headers: AUTH })),
			404,
			"endpoint_not_found",
		);
		expectError(
			await raw(
				requestText({
					method: "POST",
					path: `/v2/${id}/run`,
					headers: AUTH,
					body: '{"input":{}}',
				}),
			),
			404,
			"endpoint_not_found",
		);
	});

	it("D3: a job of one endpoint is unknown on another", async () => {
		const own = await startService({ endpoints: { a: {}, b: {} } });
		try {
			const id = await submitted(own, "a");
			for (const [method, operation] of [
				["GET", "status"],
				["GET", "status-sync"],
				["GET", "stream"],
				["POST", "cancel"],
			]) {
				expectError(await call(own.url, `/v2/b/${operation}/${id}`, { method: method! }), 404, "job_not_found");
			}
			expect((await call(own.url, `/v2/a/status/${id}`)).json.status).toBe("IN_QUEUE");
		} finally {
			await own.end();
		}
	});
});

describe("request targets", () => {
	it("spec 4: scheme and host before the path, as for a proxy, change nothing", async () => {
		expect(
			(
				await raw(
					requestText({
						method: "GET",
						path: `HTTP://sluice:80/v2/ep/status/${job}?ttl=1800000`,
						headers: AUTH,
					}),
				)
			).status,
		).toBe(200);
		expectError(
			await raw(
				requestText({
					method: "GET",
					path: `http://sluice/v2/ep/status/${job}?ttl=x`,
					headers: AUTH,
				}),
			),
			400,
			"bad_query",
			["ttl"],
		);
		for (const path of ["http://sluice", "http://sluice?/healthz", "ftp://sluice/healthz", "*"])
			expectError(await raw(requestText({ method: "GET", path, headers: AUTH })), 404, "path_not_found");
	});

	it("D2: a tunnel is refused with an error like any other", async () => {
		expectError(await raw("CONNECT sluice:443 HTTP/1.1\r\nHost: sluice\r\n\r\n"), 404, "path_not_found");
	});

	it.each(["", "/", "/%zz", "//models"])(
		"D32: a path below /openai that has no operation, such as /openai%s, is refused in OpenAI's form",
		async (rest) => {
			for (const prefix of ["/v2", "/sdk/v2"]) {
				const { status, text } = await raw(
					requestText({ method: "GET", path: `${prefix}/ep/openai${rest}`, headers: AUTH }),
				);
				expect(status).toBe(404);
				expect(JSON.parse(text)).toEqual({
					error: {
						message: expect.any(String),
						type: "invalid_request_error",
						param: null,
						code: "path_not_found",
					},
				});
			}
		},
	);
});

describe("methods", () => {
	const ROWS: [string, string][] = [
		["run", "POST"],
		["runsync", "POST"],
		["status/JOB", "GET, HEAD, POST"],
		["status-sync/JOB", "GET, HEAD, POST"],
		["stream/JOB", "GET, HEAD, POST"],
		["cancel/JOB", "POST"],
		["health", "GET, HEAD"],
	];
	it.each(ROWS)("D3: on %s only %s is possible, others are 405 with Allow", async (operation, allow) => {
		for (const prefix of ["/v2", "/sdk/v2"]) {
			const path = `${prefix}/ep/${operation.replace("JOB", job)}`;
			const wrong = ["GET", "POST", "PUT", "DELETE", "PATCH", "PURGE", "QUERY"].filter(
				(method) => !allow.split(", ").includes(method),
			);
			for (const method of wrong) {
				const answer = await raw(requestText({ method, path, headers: AUTH }));
				expectError(answer, 405, "method_not_allowed");
				expect(answer.headers["allow"]).toBe(allow);
			}
			if (allow.includes("HEAD")) continue;
			const head = await raw(requestText({ method: "HEAD", path, headers: AUTH }), true);
			expect(head.status).toBe(405);
			expect(head.headers["allow"]).toBe(allow);
		}
	});

	it("D3: a 405 with a body is answered too, and an unknown path before the method", async () => {
		expectError(
			await call(service.url, "/v2/ep/run", { method: "PUT", text: "x".repeat(100_000) }),
			405,
			"method_not_allowed",
		);
		expectError(await call(service.url, "/v2/ep/none", { method: "DELETE" }), 404, "path_not_found");
	});
});
