/** An app of FastAPI behind uvicorn: forms with files, streams of events, connections that it closes when idle. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import { until, within } from "../support/until.ts";
import { lacking, titled } from "./programs.ts";
import { processEndpoint, SLOW_MS, site } from "./servers.ts";

const reason = lacking("python3-fastapi", "uvicorn", "python3-multipart");

const FOLDER = dirname(fileURLToPath(import.meta.url));
const COMMAND = ["/usr/bin/python3", "-B", "-m", "uvicorn", "app:app", "--app-dir", FOLDER, "--port", "{port}"];

const app = (test: TestContext, http: object) =>
	site(test, () => processEndpoint(COMMAND, { ready: { path: "/health", everyMs: 50 }, ...http }));

describe.skipIf(reason !== undefined)(titled("a FastAPI app as a worker", reason), { timeout: 2 * SLOW_MS }, () => {
	it("gets files by a form", async (test) => {
		const { run } = await app(test, {
			request: {
				path: "/measure",
				form: { label: "{input.label}" },
				files: [{ field: "file", from: "{input.file}", name: "{input.name}", type: "image/png" }],
			},
		});
		const content = Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 251));
		const input = { label: "Ünï", name: 'a "b" ü.png', file: content.toString("base64") };
		expect((await run(input)).output).toEqual({
			label: "Ünï",
			// As browsers write it (HTML, "multipart form data"); python-multipart leaves it so.
			name: "a %22b%22 ü.png",
			type: "image/png",
			bytes: 100_000,
			sha256: createHash("sha256").update(content).digest("hex"),
		});
		expect(await run({ file: input.file, name: "x" })).toMatchObject({
			status: "FAILED",
			error: expect.stringMatching(/^HTTP 422: [^]*"label"[^]*field required/),
		});
	});

	it("streams, fails amid a stream, and ends a stream that is cancelled within 5 s", async (test) => {
		const made = await app(test, {
			request: { path: "/tokens" },
			stream: { as: "sse", when: "always", at: "/token", end: "[DONE]", error: "/error", output: "text" },
		});
		expect(await made.run({ count: 3 })).toMatchObject({ status: "COMPLETED", output: "é0é1é2" });
		expect(await made.run({ count: 2, fail: true })).toMatchObject({
			status: "FAILED",
			error: '{"message":"out of memory"}',
		});
		const id = await made.submit({ count: 1, hold: true });
		const { port } = made.server();
		const streams = async () =>
			(await (await fetch(`http://127.0.0.1:${port}/health`)).json()) as Record<string, number>;
		await until("the stream", async () => (await streams())["open"] === 3);
		await made.cancel(id);
		await until("the end of the stream", async () => (await streams())["left"] === 3, 5000);
		expect(await made.over(id)).toMatchObject({ status: "CANCELLED" });
	});

	it("closes idle connections without a loss", async (test) => {
		const { run, server } = await app(test, { request: { path: "/measure" } });
		await run({});
		// Opened after the one of the job, so that uvicorn closes it later.
		const idle = connect(server().port, "127.0.0.1");
		const closed = once(idle, "close");
		idle.resume().write("GET /health HTTP/1.1\r\nhost: app\r\n\r\n");
		await within("uvicorn to close the connection", closed);
		const job = await run({});
		expect(job).toMatchObject({ status: "FAILED", error: expect.stringMatching(/^HTTP 422: /) });
		expect(job).not.toHaveProperty("retries");
	});

	it("answers with a picture of 40 MB", async (test) => {
		const { run } = await app(test, { request: { path: "/picture", query: { size: "{input.size}" }, text: "" } });
		const { status, output } = await run({ size: 40 * 2 ** 20 });
		expect([status, output.contentType, output.bytes]).toEqual(["COMPLETED", "image/png", 40 * 2 ** 20]);
		expect(output.data.slice(0, 6)).toBe("iVBORw");
		expect(await run({ size: 46 * 2 ** 20 })).toMatchObject({
			status: "FAILED",
			error: 'HTTP 413: {"detail":"too large a picture"}',
		});
	});
});
