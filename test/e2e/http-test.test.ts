/** `sluice http test`: one job to an HTTP server without a queue (D36). */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { KEY } from "../support/service.ts";
import { httpServer } from "../support/worker-kit/http-servers.ts";
import { sluice } from "./command.ts";
import { site } from "./site.ts";

/** A server of jobs with a state, and `sluice http test` with this mapping. */
async function scene(test: TestContext, mapping: object) {
	const cwd = site(test).folder.path;
	let polls = 0;
	const server = await httpServer(({ url, body, headers }, response) => {
		const json = (value: unknown, status = 200): void =>
			void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
		if (url === "/jobs/7") return json({ status: (polls += 1) < 4 ? "running" : "done", result: [1] });
		if (url === "/stream") return response.writeHead(200).end('{"n":1}\n{"n":2}\n');
		if (url === "/submit") return json({ id: 7 });
		if (url === "/large") return json({ text: "x".repeat(5000) });
		if (url === "/busy") return json({ detail: "full" }, 502);
		return json({ body: body.toString(), token: headers["x-api-key"] }, body.includes("bad") ? 422 : 200);
	});
	test.onTestFinished(() => server.close());
	writeFileSync(join(cwd, "mapping.yaml"), JSON.stringify(mapping));
	const at = `http://127.0.0.1:${server.port}`;
	const run = (input: string, ...more: string[]) =>
		sluice(test, ["http", "test", "./mapping.yaml", at, "--input", input, ...more], {
			cwd,
			env: { TOKEN: "s3cret-of-the-server" },
		});
	return { at, cwd, run, server };
}

describe("sluice http test", () => {
	it.concurrent("D36: shows request, answer and output, without a service and without credentials", async (test) => {
		const request = { path: "/run", headers: { "x-api-key": "{env.TOKEN}", "x-plain": "p" } };
		const { at, run, server } = await scene(test, { request, answer: { at: "/body" } });
		const { code, stdout } = await run('{"text": "h\u00e9"}');
		expect(code).toBe(0);
		const [sent, answer, outcome] = stdout.split(/^(?=HTTP 200|COMPLETED)/m);
		expect(sent).toMatch(new RegExp(`^POST ${at}/run\n  host: 127\\.0\\.0\\.1:\\d+\n`));
		for (const line of ["x-api-key: ***", "x-plain: p", "content-type: application/json"])
			expect(sent).toContain(`  ${line}\n`);
		expect(sent).toMatch(/^ {2}idempotency-key: [0-9a-f-]{36}-1$/m);
		expect(sent).toMatch(/\n\n {2}\{"text": "h\u00e9"\}\n\n$/);
		expect(answer).toMatch(
			/^HTTP 200 application\/json, \d+ ms, for POST \/run\n\n {2}\{"body":".*","token":"\*\*\*"\}\n\n$/,
		);
		expect(outcome).toMatch(/^COMPLETED after \d+ ms, with the output:\n"?\{"text": "h\u00e9"\}"?\n$/);
		expect(server.received[0]!.headers["x-api-key"]).toBe("s3cret-of-the-server");
	});

	it.concurrent("D36: a failure as a client sees it is exit 1; a body is cut after 4 KB", async (test) => {
		const { run } = await scene(test, { request: { path: "/{input.route}" } });
		const failed = await run('{"route": "run", "text": "bad"}');
		expect(failed.code).toBe(1);
		expect(failed.stdout).toMatch(/^FAILED after \d+ ms: HTTP 422: \{"body":/m);
		const missing = await run('{"text": "no route"}');
		expect(missing.code).toBe(1);
		expect(missing.stdout).toMatch(/^FAILED after \d+ ms: The path of the request needs input\.route/);
		const lost = await run('{"route": "busy"}');
		expect(lost.code).toBe(1);
		expect(lost.stdout).toMatch(/^Back in the queue after \d+ ms, for any worker: HTTP 502: \{"detail":"full"\}$/m);
		const large = await run('{"route": "large"}');
		expect(large.stdout).toMatch(/^ {2}\{"text":"x{4087}… \(5011 bytes\)$/m);
		expect(large.stdout).toMatch(/^\{"text":"x{5000}"\}$/m);
	});

	it.concurrent("D36: an asynchronous job shows each poll that says something new", async (test) => {
		const polled = { path: "/jobs/{submit.id}", everyMs: 10, done: ["done"], result: { path: "/jobs/{submit.id}" } };
		const { run } = await scene(test, { request: { path: "/submit" }, async: polled, answer: { at: "/result" } });
		const { code, stdout } = await run("{}");
		expect(code).toBe(0);
		expect(stdout.match(/^(?:GET|POST) \S+|for (?:GET|POST) \S+|^ {2}\{.*\}$/gm)).toEqual([
			expect.stringMatching(/^POST .*\/submit$/),
			"  {}",
			"for POST /submit",
			'  {"id":7}',
			expect.stringMatching(/^GET .*\/jobs\/7$/),
			"for GET /jobs/7",
			'  {"status":"running","result":[1]}',
			"for GET /jobs/7",
			'  {"status":"done","result":[1]}',
		]);
		expect(stdout).toMatch(/^\[1\]\n$/m);
	});

	it.concurrent("D36: a stream shows its chunks", async (test) => {
		const { run } = await scene(test, {
			request: { path: "/stream" },
			stream: { as: "ndjson", when: "always", at: "/n" },
		});
		const { code, stdout } = await run("{}");
		expect(code).toBe(0);
		expect(stdout).toMatch(/^chunk 1\nchunk 2\nCOMPLETED after /m);
	});

	it.concurrent("D36: takes the mapping of an endpoint, and says what is wrong", async (test) => {
		const { cwd, at } = await scene(test, {});
		const docs = { http: { preset: "ollama", ready: { path: null } } };
		const { url } = await site(test).serve({ endpoints: { docs, plain: {} } });
		const env = { SLUICE_URL: url, SLUICE_API_KEY: KEY };
		const ask = (...args: string[]) => sluice(test, ["http", "test", ...args], { cwd, env });
		const found = await ask("docs", at, "--input", "{}");
		expect(found.code).toBe(0);
		expect(found.stdout).toMatch(new RegExp(`^POST ${at}/api/generate$`, "m"));
		expect(await ask("plain", at, "--input", "{}")).toMatchObject({
			code: 1,
			stderr: expect.stringMatching(
				/^There is no preset 'plain'\. As an endpoint: Endpoint 'plain' has no HTTP servers/,
			),
		});
		expect(await ask("docs", at)).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^Missing option --input\. /),
		});
		expect(await ask("raw", at, "--input", "{")).toMatchObject({
			code: 2,
			stderr: expect.stringMatching(/^--input: It is not JSON: /),
		});
		const closed = await ask("raw", "http://127.0.0.1:1", "--input", "{}");
		expect(closed).toMatchObject({
			code: 1,
			stdout: "",
			stderr:
				"Waiting until http://127.0.0.1:1 is ready.\n" +
				"The server at http://127.0.0.1:1 was not ready within 12 s: connect ECONNREFUSED 127.0.0.1:1.\n",
		});
	});
});
