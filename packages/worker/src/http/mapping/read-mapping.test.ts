import { describe, expect, it } from "vitest";
import { hasStatus } from "./mapping.ts";
import { readMapping } from "./read-mapping.ts";

describe("readMapping", () => {
	it("has defaults for all but the server's place", () => {
		const read = readMapping({ port: 8000 });
		expect(read).toMatchObject({
			ok: true,
			mapping: {
				place: { port: 8000 },
				ready: { path: undefined, status: [200], everyMs: 1000, timeoutMs: 5000, lostAfterMs: 30_000 },
				request: { method: "POST", path: "/", query: {}, headers: {}, body: { as: "json", template: "{input}" } },
				urls: "never",
				answer: { as: "auto", at: undefined, maxBytes: 47_185_920 },
				cancel: { call: undefined, ending: "close", waitMs: 5000 },
				errors: { fail: ["3xx", "4xx", 500], busy: [408, 425, 429, 503], lose: [502, 504], busyMs: 60_000 },
				concurrency: 1,
				timeouts: { connectMs: 5000, silenceMs: 0 },
			},
		});
	});

	it("reads times and sizes with units", () => {
		const value = { port: 1, ready: { everyMs: "1.5s", lostAfterMs: "2M" }, answer: { maxBytes: "4 kb" } };
		expect(readMapping(value)).toMatchObject({
			ok: true,
			mapping: { ready: { everyMs: 1500, lostAfterMs: 120_000 }, answer: { maxBytes: 4096 } },
		});
	});

	it("a GET has no body, and a request with files is a form", () => {
		const get = readMapping({ port: 1, request: { method: "GET", path: "/x" } });
		expect(get).toMatchObject({ ok: true, mapping: { request: { body: undefined } } });
		const files = [{ field: "f", from: "{input.f}" }];
		expect(readMapping({ port: 1, request: { files, form: { a: 1 } } })).toMatchObject({
			ok: true,
			mapping: { request: { body: { as: "multipart", fields: { a: 1 }, files: [{ field: "f", required: true }] } } },
		});
	});

	it("a route that names its job may cancel one of several", () => {
		const call = { path: "/cancel", body: { id: "{job.uuid}" } };
		expect(readMapping({ port: 1, concurrency: 2, cancel: call })).toMatchObject({ ok: true });
	});

	it("a number in one list of errors leaves the defaults of the others", () => {
		expect(readMapping({ port: 1, errors: { fail: [503, "4xx"], lose: [500] } })).toMatchObject({
			ok: true,
			mapping: { errors: { fail: [503, "4xx"], busy: [408, 425, 429], lose: [500] } },
		});
	});

	it("credentials go with every call, other headers with that of the job only", () => {
		const read = readMapping({
			port: 1,
			request: { headers: { Authorization: "Bearer {env.TOKEN}", "x-lang": "{input.lang}", accept: "image/png" } },
			async: {
				path: "/jobs/{submit.id}",
				done: ["done"],
				result: { path: "/r/{submit.id}" },
				existing: { checks: [{ path: "/queue", contains: "x" }], submit: {}, discard: { path: "/discard" } },
			},
			cancel: { path: "/stop" },
			sleep: { path: "/sleep", each: { path: "/models", at: "" }, until: { path: "/models" } },
		});
		if (!read.ok) throw new Error(JSON.stringify(read.faults));
		const { credentials, async, cancel, sleep } = read.mapping;
		expect(credentials).toEqual({ authorization: "Bearer {env.TOKEN}" });
		const { existing } = async!;
		const ofJob = [async!.poll, async!.result, cancel.call, existing!.checks[0]!.call, existing!.discard];
		const others = [sleep!.call, sleep!.each!.call, sleep!.until!.call];
		for (const call of [...ofJob, ...others]) expect(call!.headers).toEqual(credentials);
	});

	it.each([
		[7, "http must be an object; it is 7."],
		[{}, "http.port is missing: write the server's http.port: 8000"],
		[{ port: 1, socket: "/s" }, "http.socket does not go with http.port"],
		[{ socket: `/${"x".repeat(200)}` }, "at most 103 bytes"],
		[{ url: "https://user:word@host/" }, "no user, password"],
		[{ url: "ftp://host/" }, "http.url must be an http or https URL"],
		[{ port: 70_000 }, "http.port must be an integer from 0 to 65535; it is 70000."],
		[{ port: 1, reqest: {} }, "http.reqest is unknown. Expected one of"],
		[{ port: 1, ready: { pth: "/x" } }, "http.ready.pth is unknown. Expected one of everyMs"],
		[{ port: 1, failed: [{ at: "/a" }, { at: "/b", im: [1] }] }, "http.failed[1].im is unknown. Expected one of at"],
		[{ port: 1, request: { path: "x" } }, "http.request.path must begin with /"],
		[{ port: 1, request: { path: "/{inptu.x}" } }, "has the unknown name {inptu.x}"],
		[{ port: 1, request: { path: "/{submit.id}" } }, "has the unknown name {submit.id}"],
		[{ port: 1, request: { path: "/x?a={input.a}" } }, "write query"],
		[{ port: 1, request: { body: { a: ["{env.TOKEN}"] } } }, "has the unknown name {env.TOKEN}"],
		[{ port: 1, request: { headers: { a: "{env.RUNPOD_AI_API_KEY}" } } }, "are secret"],
		[{ port: 1, request: { headers: { a: "{env.SLUICE_HTTP}" } } }, "are secret"],
		[{ port: 1, request: { headers: { Origin: "x" } } }, "http.request.headers.origin cannot be set"],
		[{ port: 1, request: { headers: { "a b": "x" } } }, "no name of a header"],
		[{ port: 1, request: { body: {}, text: "x" } }, "does not go with body"],
		[{ port: 1, request: { body: {}, files: [{ field: "f", from: "{input}" }] } }, "does not go with files"],
		[{ port: 1, request: { files: [{ from: "{input}" }] } }, "http.request.files[0].field is missing"],
		[{ port: 1, request: { form: "{input} x" } }, "http.request.form must be an object of fields, or the name of one"],
		[{ port: 1, request: { form: "{submit}" } }, "has the unknown name {submit}"],
		[{ port: 1, request: { method: "TRACE" } }, "must be one of GET, POST"],
		[{ port: 1, ready: { path: "/h", tcp: true } }, "http.ready.tcp does not go with"],
		[{ port: 1, ready: { where: { at: "/s", in: [1] } } }, "needs http.ready.path"],
		[{ port: 1, ready: { path: "/h", where: { at: "s", in: [1] } } }, 'write "/s"'],
		[{ port: 1, ready: { path: "/h", everyMs: "1 day" } }, 'or a text such as "5s"; it is "1 day".'],
		[{ port: 1, ready: { path: "/h", everyMs: "1ms" } }, "http.ready.everyMs must be an integer from 10"],
		[{ port: 1, ready: { path: "/h", everyMs: "10.0001s" } }, "must be an integer"],
		[{ port: 1, answer: { maxBytes: 2 ** 30 } }, 'from 1 to 47185920 bytes, or a text such as "4mb"'],
		[{ port: 1, answer: { maxBytes: "46mb" } }, 'it is "46mb"'],
		[{ port: 1, request: { paths: { a: "b" } } }, "http.request.paths.a must begin with /"],
		[{ port: 1, request: { paths: { a: "/{poll.x}" } } }, "has the unknown name {poll.x}"],
		[{ port: 1, openai: {} }, "http.openai.routes must be a list of routes"],
		[{ port: 1, openai: { routes: ["DELETE /v1/models"] } }, "http.openai.routes must be a list of routes"],
		[{ port: 1, openai: { routes: ["GET /v1/models"], base: "/v1/" } }, "http.openai.base must be a path"],
		[{ port: 1, openai: { routes: ["GET /v1/models"], mapped: ["GET /v1/x"] } }, "http.openai.mapped must be a list"],
		[{ port: 1, answer: { store: "a.mp4" } }, "http.answer.store is for bytes: write http.answer.as: binary."],
		[{ port: 1, async: { path: "/a", done: [1], fails: [200] } }, "http.async.fails must not have 200"],
		[{ port: 1, answer: { as: "text", at: "/x" } }, "http.answer.at is for JSON"],
		[{ port: 1, failed: [{ at: "/a", in: [] }] }, "http.failed[0].in is missing"],
		[{ port: 1, stream: {} }, "http.stream.as is missing"],
		[{ port: 1, stream: { as: "text", at: "/x" } }, "http.stream.at is for events"],
		[{ port: 1, stream: { as: "sse" }, async: { path: "/a", done: [1] } }, "does not go with http.async"],
		[{ port: 1, async: { path: "/a" } }, "http.async.done is missing"],
		[{ port: 1, stream: { as: "sse", when: "{stream}" } }, "has the unknown name {stream}"],
		[{ port: 1, async: { path: "/a", done: [1] }, timeouts: { silenceMs: 1000 } }, "longer than http.async.everyMs"],
		[{ port: 1, progress: { from: "poll", percent: "/p" } }, "must not be poll without http.async"],
		[{ port: 1, progress: { percent: "/p" } }, "http.progress.path is missing"],
		[
			{ port: 1, progress: { path: "/p", percent: "/a", of: "b" } },
			'http.progress.of must be a JSON pointer: write "/b"',
		],
		[
			{ port: 1, progress: { path: "/p", percent: "/a", of: "/b", scale: 2 } },
			"http.progress.scale does not go with of",
		],
		[{ port: 1, cancel: { path: "/{submit.id}" } }, "has the unknown name {submit.id}"],
		[{ port: 1, concurrency: 2, cancel: { path: "/interrupt" } }, "http.cancel.path has a route that does not name"],
		[{ port: 1, answer: { at: "/{submit.id}" } }, "http.async is missing: pointers with names of submit"],
		[{ port: 1, answer: { at: "/{input.id}" } }, "http.answer.at has the unknown name {input.id}"],
		[{ port: 1, answer: { files: { path: "/view" } } }, "http.answer.files.where.at is missing"],
		[{ port: 1, request: { uploads: [{ path: "/u" }] } }, "http.request.uploads[0].each must be the name of a list"],
		[{ port: 1, request: { headers: { "Accept-Encoding": "gzip" } } }, "headers.accept-encoding cannot be set"],
		[{ port: 1, stream: { as: "sse", when: "true" } }, "http.stream.when must be always, or the name of a value"],
		[{ port: 1, stream: { as: "sse", when: "{input.a}{input.b}" } }, "http.stream.when must be always"],
		[{ port: 1, errors: { busy: [202] } }, "http.errors.busy must not have 202, which is no refusal"],
		[{ port: 1, errors: { fail: ["2xx"] } }, "http.errors.fail must not have 200"],
		[{ port: 1, errors: { lose: ["299-500"] } }, "http.errors.lose must not have 299"],
		[{ port: 1, async: { path: "/a", done: [1], missing: [204] } }, "http.async.missing must not have 204"],
		[{ port: 1, errors: { busyMs: 0 } }, "http.errors.busyMs must be an integer from 1000 to 86400000 ms"],
		[{ port: 1, errors: { busy: ["6xx"] } }, "must be a list of statuses"],
		[{ port: 1, sleep: { path: "/{input.x}" } }, "has the unknown name {input.x}"],
		[{ port: 1, sleep: { path: "/{each.x}" } }, "has the unknown name {each.x}"],
		[{ port: 1, sleep: { path: "/x", each: { path: "/ps" } } }, "http.sleep.each.at is missing"],
		[{ port: 1, sleep: { path: "/x", until: { at: "/x" } } }, "http.sleep.until.in is missing"],
		[{ port: 1, sleep: { path: "/x", until: { at: "/x", atMost: "1" } } }, "http.sleep.until.atMost must be a number"],
		[{ port: 1, failed: [{ at: "/a", in: [1], atMost: 1 }] }, "http.failed[0].atMost does not go with in"],
		[{ port: 1, async: { path: "/a", done: [1], existing: {} } }, "http.async.existing.checks is missing"],
		[
			{ port: 1, async: { existing: { checks: [{ path: "/a" }] } } },
			"http.async.existing.checks[0].contains is missing",
		],
		[{ port: 1, async: { existing: { submit: "{submit.id}" } } }, "has the unknown name {submit.id}"],
	])("refuses %j", (value, sentence) => {
		const read = readMapping(value);
		expect(read.ok ? "" : read.faults.map(({ path, message }) => `${path} ${message}`).join("\n")).toContain(sentence);
	});
});

describe("hasStatus", () => {
	it("knows numbers, classes and ranges", () => {
		expect(hasStatus([404, "5xx"], 404)).toBe(true);
		expect(hasStatus([404, "5xx"], 503)).toBe(true);
		expect(hasStatus(["200-204"], 204)).toBe(true);
		expect(hasStatus(["200-204"], 205)).toBe(false);
		expect(hasStatus(["5xx"], 503, true)).toBe(false);
	});
});
