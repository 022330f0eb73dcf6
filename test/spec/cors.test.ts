/**
 * D38: pages of other origins on the clients' API, as a browser asks for them; `OPTIONS`
 * everywhere.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/modules/tables.ts";
import { call, KEY, startService, type TestService } from "../support/service.ts";
import { expectError, handWorker, submitted } from "./hand-worker.ts";
import { type RawAnswer, rawConnection, requestText } from "./raw-http.ts";

const PAGE = "https://app.example:8443";
const OTHER = "https://evil.example";
const EXPOSED = [
	"Sluice-Ignored",
	"Sluice-Job-Status",
	"Sluice-Next-Offset",
	"Retry-After",
	"RateLimit-Limit",
	"RateLimit-Remaining",
	"RateLimit-Reset",
	"x-request-id",
	"ETag",
];
const AUTH = { Authorization: `Bearer ${KEY}` };

let open: TestService;
let listed: TestService;
beforeAll(async () => {
	const endpoints = { ep: {}, tight: { limits: { requests: { per10s: 1 } } } };
	open = await startService({ endpoints });
	listed = await startService({
		endpoints,
		settings: { cors: { origins: ["http://localhost:3000", PAGE] } },
	});
});
afterAll(() => Promise.all([open.end(), listed.end()]));

// Node's fetch sends no Origin, and sets what it likes: bytes are what a browser sends.
async function ask(
	service: TestService,
	q: { method: string; path: string; headers?: Record<string, string>; body?: string },
	head = false,
): Promise<RawAnswer> {
	const connection = await rawConnection(service.url);
	connection.write(requestText(q));
	try {
		return await connection.answer({ head });
	} finally {
		connection.socket.destroy();
	}
}

function corsHeaders({ headers }: RawAnswer): string[] {
	return Object.keys(headers).filter(
		(name) => name.startsWith("access-control-") || (name === "vary" && headers[name] === "Origin"),
	);
}

/** What a browser checks before it hands an answer to the page. */
function expectReadable(answer: RawAnswer, origin: string): void {
	expect(answer.headers["access-control-allow-origin"]).toBe(origin);
	expect(answer.headers["access-control-expose-headers"]?.split(", ")).toEqual(EXPOSED);
	expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
}

const real = (path: string): string =>
	path.replace(":endpoint", "ep").replace(/:\w+/g, "none").replace("*", "v1/models");
const PATHS = [...Map.groupBy(ROUTES, ({ path }) => path)].map(([path, routes]) => ({
	path,
	// HEAD goes with GET, but of workers.
	methods: routes.flatMap(({ methods, access }) =>
		methods.flatMap((method) => (method === "GET" && access !== "worker" ? [method, "HEAD"] : [method])),
	),
}));
const OURS = PATHS.filter(({ path }) => /^\/((sdk\/)?v2|s3)\//.test(path));
const OTHERS = PATHS.filter(({ path }) => !OURS.some((each) => each.path === path));

describe("OPTIONS", () => {
	it.each(PATHS)("D38, D1: $path answers 200 with Allow and nothing else, without a key", async ({ path, methods }) => {
		const answer = await ask(open, { method: "OPTIONS", path: real(path) });
		expect([answer.status, answer.text, answer.headers["content-length"], answer.headers["allow"]]).toEqual([
			200,
			"",
			"0",
			[...methods, "OPTIONS"].join(", "),
		]);
		expect(corsHeaders(answer)).toEqual([]);
	});

	it("D38: an unknown path has no options, and no endpoint is told apart", async () => {
		expectError(await ask(open, { method: "OPTIONS", path: "/v2/ep/nothing" }), 401, "unauthorized");
		expectError(await ask(open, { method: "OPTIONS", path: "/nothing" }), 404, "path_not_found");
		expect((await ask(open, { method: "OPTIONS", path: "/v2/nowhere/run" })).status).toBe(200);
	});
});

describe("preflight", () => {
	const wish = {
		Origin: PAGE,
		"Access-Control-Request-Method": "POST",
		"Access-Control-Request-Headers": "authorization,content-type,x-stainless-os",
	};

	it.each(OURS)("D38: $path allows its methods and the headers asked for", async ({ path, methods }) => {
		for (const [service, origin] of [
			[open, "*"],
			[listed, PAGE],
		] as const) {
			const answer = await ask(service, { method: "OPTIONS", path: real(path), headers: wish });
			expect([answer.status, answer.text]).toEqual([200, ""]);
			expectReadable(answer, origin);
			expect(answer.headers["access-control-allow-methods"]).toBe(methods.join(", "));
			expect(answer.headers["access-control-allow-headers"]).toBe(wish["Access-Control-Request-Headers"]);
			expect(Number(answer.headers["access-control-max-age"])).toBeGreaterThan(0);
		}
	});

	it.each(OTHERS)("D38: $path allows nothing to pages", async ({ path }) => {
		for (const service of [open, listed]) {
			const answer = await ask(service, { method: "OPTIONS", path: real(path), headers: wish });
			expect(answer.status).toBe(200);
			expect(corsHeaders(answer)).toEqual([]);
		}
	});

	it("D38: an origin that is not listed is allowed nothing", async () => {
		for (const origin of [
			OTHER,
			"null",
			"https://app.example",
			"http://app.example:8443",
			`${PAGE}.evil.example`,
			`${PAGE}/`,
			PAGE.toUpperCase(),
		]) {
			expect(
				corsHeaders(
					await ask(listed, {
						method: "OPTIONS",
						path: "/v2/ep/run",
						headers: { ...wish, Origin: origin },
					}),
				),
				origin,
			).toEqual(["vary"]);
		}
	});

	it.each(["a b", "a:b", "a,,b", ",", "a, b;", "é"])("D38: the header names %s are not sent back", async (names) => {
		const answer = await ask(open, {
			method: "OPTIONS",
			path: "/v2/ep/run",
			headers: { ...wish, "Access-Control-Request-Headers": names },
		});
		expect(answer.status).toBe(200);
		expect(answer.headers["access-control-allow-headers"]).toBeUndefined();
	});
});

describe("answers to a page", () => {
	it.each([
		["a success", "GET", "/v2/ep/health", AUTH, 200],
		["a missing key", "GET", "/v2/ep/health", {}, 401],
		["an unknown endpoint", "GET", "/v2/nowhere/health", AUTH, 404],
		["an unknown path", "GET", "/v2/ep/nothing", AUTH, 404],
		["an unknown job", "GET", "/sdk/v2/ep/stream/none", AUTH, 404],
		["a wrong method", "PUT", "/v2/ep/run", AUTH, 405],
		["a bad body", "POST", "/v2/ep/run", AUTH, 400],
		["a body that is too large", "POST", "/v2/ep/run", { ...AUTH, "Content-Length": "99999999" }, 413],
		["an answer of /openai", "POST", "/v2/ep/openai/v1/models", AUTH, 400],
	])("D38: %s can be read", async (_, method, path, headers, status) => {
		for (const [service, origin, vary] of [
			[open, "*", undefined],
			[listed, PAGE, "Origin"],
		] as const) {
			const answer = await ask(service, { method, path, headers: { ...headers, Origin: PAGE } });
			expect(answer.status, answer.text).toBe(status);
			expectReadable(answer, origin);
			expect(answer.headers["vary"]).toBe(vary);
			expect(answer.headers["access-control-allow-methods"]).toBeUndefined();
		}
		const refused = await ask(listed, { method, path, headers: { ...headers, Origin: OTHER } });
		expect(refused.status).toBe(status);
		expect(corsHeaders(refused)).toEqual(["vary"]);
		expect(corsHeaders(await ask(listed, { method, path, headers }))).toEqual([]);
	});

	it("D38, D24: so can a 429, with its numbers", async () => {
		await ask(open, {
			method: "GET",
			path: "/v2/tight/requests",
			headers: { ...AUTH, Origin: PAGE },
		});
		const answer = await ask(open, {
			method: "GET",
			path: "/v2/tight/requests",
			headers: { ...AUTH, Origin: PAGE },
		});
		expectError(answer, 429, "rate_limited");
		expectReadable(answer, "*");
		expect(answer.headers).toMatchObject({
			"retry-after": expect.stringMatching(/^\d+$/),
			"ratelimit-limit": "1",
			"ratelimit-remaining": "0",
		});
	});

	it("D38, D7: so can a stream, in each of its forms, with the place and the status", async () => {
		const worker = await handWorker(open, "ep");
		const id = await submitted(open, "ep");
		await worker.takeThis(id);
		await worker.chunk(id, { output: "a" });
		await worker.done(id, { output: null });
		for (const prefix of ["/v2", "/sdk/v2"]) {
			const parts = await ask(open, {
				method: "GET",
				path: `${prefix}/ep/stream/${id}?offset=0`,
				headers: { ...AUTH, Origin: PAGE },
			});
			expectReadable(parts, "*");
			expect(parts.headers).toMatchObject({
				"sluice-job-status": "COMPLETED",
				"sluice-next-offset": "1",
				"content-type": "application/json",
				"ratelimit-limit": "2000",
			});
			const events = await ask(
				open,
				{
					method: "GET",
					path: `${prefix}/ep/stream/${id}`,
					headers: { ...AUTH, Origin: PAGE, Accept: "text/event-stream" },
				},
				true,
			);
			expectReadable(events, "*");
			expect(events.headers).toMatchObject({
				"content-type": "text/event-stream",
				"ratelimit-limit": "2000",
			});
		}
	});

	it.each(["/v1/endpoints", "/worker/ep/ping/w", "/healthz", "/console/"])("D38: never %s", async (path) => {
		expect(corsHeaders(await ask(open, { method: "GET", path, headers: { ...AUTH, Origin: PAGE } }))).toEqual([]);
	});

	it("D38: a client that is no page gets none of it", async () => {
		const answer = await call(open.url, "/v2/ep/health");
		expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
	});
});
