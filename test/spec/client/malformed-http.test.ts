/**
 * Section 7 below HTTP: bytes that are not well-formed, and connections that end in the middle. All
 * answers are JSON, and the service goes on.
 */
import { describe, expect, it } from "vitest";
import { KEY, call } from "../../support/service.ts";
import { expectError } from "../hand-worker.ts";
import { rawConnection, requestText } from "../raw-http.ts";
import { AUTH, job, raw, service, useRawService } from "./raw-service.ts";

useRawService();

describe("bytes that are not well-formed HTTP", () => {
	it.each<[string, string | Uint8Array]>([
		["no request line", "NONSENSE\r\n\r\n"],
		["bytes of TLS", Buffer.from("160301020001000001fc0303", "hex")],
		["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
		["an unknown version", "GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n"],
		["an unknown method", "FROB /healthz HTTP/1.1\r\nHost: a\r\n\r\n"],
		["a header without a colon", "GET /healthz HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n"],
		["a NUL in a header", "GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"],
		["no Host", "GET /healthz HTTP/1.1\r\n\r\n"],
		["two Hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"],
		[
			"a length that is no number",
			requestText({
				method: "POST",
				path: "/v2/ep/run",
				headers: { ...AUTH, "Content-Length": "ten" },
			}),
		],
		[
			"a negative length",
			requestText({
				method: "POST",
				path: "/v2/ep/run",
				headers: { ...AUTH, "Content-Length": "-1" },
			}),
		],
		["two lengths", `POST /v2/ep/run HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}`],
		[
			"a length and chunks",
			`POST /v2/ep/run HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
		],
		[
			"a chunk whose size is no number",
			`POST /v2/ep/run HTTP/1.1\r\nHost: a\r\nAuthorization: ${KEY}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
		],
	])("D2: %s is 400, and the connection is closed", async (_, bytes) => {
		const answer = await raw(bytes);
		expectError(answer, 400, "bad_http");
		expect(answer.headers["content-type"]).toBe("application/json");
	});

	it.each<[string, string]>([
		["one long header", `GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(200_000)}\r\n\r\n`],
		["many headers", `GET /healthz HTTP/1.1\r\nHost: a\r\n${"X: y\r\n".repeat(50_000)}\r\n`],
		["a long path", `GET /v2/ep/status/${"x".repeat(200_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
	])("D2: %s is 431", async (_, bytes) => {
		expectError(await raw(bytes), 431, "headers_too_large");
	});

	it("D2: the sentence for too many headers names the bound that they broke", async () => {
		const headers = (count: number): string => `GET /healthz HTTP/1.1\r\nHost: a\r\n${"X: y\r\n".repeat(count)}\r\n`;
		expect((await raw(headers(900))).status).toBe(200);
		expect(expectError(await raw(headers(1001)), 431, "headers_too_large").error).toContain("1000 lines");
	});

	it("D2: a request for an upgrade is answered as any other, and the connection is closed", async () => {
		for (const [path, status] of [
			["/v2/unknown/purge-queue", 401],
			["/healthz", 405],
		] as const) {
			const connection = await rawConnection(service.url);
			const upgrade = { Connection: "Upgrade, HTTP2-Settings", Upgrade: "h2c", "HTTP2-Settings": "" };
			connection.write(requestText({ method: "POST", path, headers: upgrade, body: "{}" }));
			const first = await connection.answer();
			expect([first.status, first.headers["connection"]]).toEqual([status, "close"]);
			await connection.closed;
		}
	});

	it("D2: a HEAD with a body beyond the limit is answered before the body has arrived", async () => {
		const connection = await rawConnection(service.url);
		connection.write(requestText({ method: "HEAD", path: "/v2/ep/run", headers: { "Content-Length": "99999999999" } }));
		expect((await connection.answer({ head: true })).status).toBe(405);
		connection.socket.destroy();
		// An answer that waits for the body is sent after 30 s.
	}, 10_000);

	it("D2: an unknown expectation is passed over, 100-continue is met", async () => {
		expect((await raw(requestText({ method: "GET", path: "/healthz", headers: { Expect: "a miracle" } }))).status).toBe(
			200,
		);
		const connection = await rawConnection(service.url);
		const body = '{"input":{}}';
		connection.write(
			`POST /v2/ep/run HTTP/1.1\r\nHost: a\r\nAuthorization: ${KEY}\r\n` +
				`Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
		);
		expect((await connection.answer()).status).toBe(100);
		connection.write(body);
		expect((await connection.answer()).status).toBe(200);
		connection.socket.destroy();
	});

	it("a client that disconnects in the middle of its headers or body harms no other", async () => {
		const parts = [
			"",
			"POST /v2/e",
			"POST /v2/ep/run HTTP/1.1\r\nHost: a\r\n",
			requestText({
				method: "POST",
				path: "/v2/ep/run",
				headers: { ...AUTH, "Content-Length": "100" },
			}) + '{"input":',
		];
		const before = (await call(service.url, "/v2/ep/health")).json.jobs.inQueue;
		for (const part of parts) {
			const connection = await rawConnection(service.url);
			connection.write(part);
			connection.socket.end();
			await connection.closed;
		}
		expect((await call(service.url, "/v2/ep/health")).json.jobs.inQueue).toBe(before);
	});

	it("requests sent together on one connection are answered in order", async () => {
		const connection = await rawConnection(service.url);
		connection.write(
			["/healthz", "/none", "/v2/ep/health", `/v2/ep/status/${job}`]
				.map((path) => requestText({ method: "GET", path, headers: AUTH }))
				.join(""),
		);
		const answers = [
			await connection.answer(),
			await connection.answer(),
			await connection.answer(),
			await connection.answer(),
		];
		expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 200]);
		expect(JSON.parse(answers[3]!.text).id).toBe(job);
		connection.socket.destroy();
	});
});
