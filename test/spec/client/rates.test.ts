/**
 * Section 8, rates over HTTP: each operation's budget, and what a response reports about it (D24).
 */
import { describe, expect, it } from "vitest";
import {
	DEFAULT_LIMITS,
	LIMITED_OPERATIONS,
	type LimitedOperation,
} from "../../../src/kernel/core/endpoints/limits.ts";
import { ROUTES } from "../../../src/modules/tables.ts";
import { call } from "../../support/service.ts";
import { rawConnection, requestText } from "../raw-http.ts";
import { AUTH, clock, service, small, useLimitedService } from "./limited-service.ts";

useLimitedService();

/** Rows with a limit, as the service has them. */
const ROWS = ROUTES.flatMap((route) =>
	route.limit ? route.methods.map((method) => ({ method, path: route.path, limit: route.limit! })) : [],
);

/** Those that are answered at once: a GET of /openai is a job. */
const PROMPT = ROWS.filter(({ method, limit }) => method === "POST" || limit !== "openai");

type Answer = Awaited<ReturnType<typeof call>>;

/** A request of this row that is answered at once: a success, or an error after it was let in. */
function ask(endpoint: string, { method, path }: { method: string; path: string }): Promise<Answer> {
	const real = path.replace(":endpoint", endpoint).replace(":job", "none").replace("*", "v1/chat/completions");
	return call(service.url, real, method === "POST" ? { method, text: "nonsense" } : { method });
}

/** What an answer reports of the rate: limit, remaining, reset. */
function quota({ headers }: Pick<Answer, "headers">): (string | null)[] {
	return ["limit", "remaining", "reset"].map((name) => headers.get(`ratelimit-${name}`));
}

function expect429(answer: Answer, code: "rate_limited" | "too_many_at_once", parts: readonly string[]): void {
	expect(answer.status, answer.text).toBe(429);
	const error = answer.json.error as string | { code: string; message: string };
	const [said, sentence] =
		typeof error === "string" ? [answer.json.code as string, error] : [error.code, error.message];
	expect(said).toBe(code);
	for (const part of parts) expect(sentence).toContain(part);
	expect(answer.headers.get("retry-after")).toMatch(/^([1-9]|10)$/);
}

describe("the rate", () => {
	it("spec 8, D24: every operation with a limit is served under its own; others have none", () => {
		for (const { path, limit } of ROUTES) {
			// Files and batches are no jobs (D56, D57).
			const [, operation] =
				/^(?:\/sdk)?\/v2\/:endpoint\/(?!openai\/v1\/(?:batches|files|uploads))([^/]+)/.exec(path) ?? [];
			expect(limit, path).toBe(LIMITED_OPERATIONS.find((each) => each === operation));
		}
		expect([...new Set(ROWS.map(({ limit }) => limit))].toSorted()).toEqual(LIMITED_OPERATIONS.toSorted());
	});

	it.each(PROMPT)(
		"spec 8.1, D24: $method $path: as many as the limit pass in 10 s, the next is 429, until the first is 10 s old",
		async (row) => {
			const endpoint = small.next();
			const first = await ask(endpoint, row);
			expect([200, 400, 404, 501], first.text).toContain(first.status);
			expect(quota(first)).toEqual(["2", "1", "10"]);
			await clock.advance(2500);
			const second = await ask(endpoint, row);
			expect([second.status, ...quota(second)]).toEqual([first.status, "2", "0", "8"]);
			expect(second.headers.get("retry-after")).toBeNull();

			const third = await ask(endpoint, row);
			expect429(third, "rate_limited", [`'${endpoint}'`, `'${row.limit}'`, "2 requests", "10 s"]);
			expect([...quota(third), third.headers.get("retry-after")]).toEqual(["2", "0", "8", "8"]);

			await clock.advance(7499);
			expect429(await ask(endpoint, row), "rate_limited", []);
			await clock.advance(1);
			expect(quota(await ask(endpoint, row))).toEqual(["2", "0", "3"]);
			expect429(await ask(endpoint, row), "rate_limited", []);
		},
	);

	it.each(LIMITED_OPERATIONS)(
		"D24: all methods under /v2 and /sdk/v2 share the budget of /%s, and no other operation uses it",
		async (operation) => {
			const endpoint = small.next();
			const [plain, sdk] = ["/v2", "/sdk/v2"].map(
				(prefix) => PROMPT.find(({ path, limit }) => limit === operation && path.startsWith(`${prefix}/`))!,
			);
			for (const row of [plain!, sdk!]) expect((await ask(endpoint, row)).status).not.toBe(429);
			for (const row of ROWS.filter(({ limit }) => limit === operation))
				expect429(await ask(endpoint, row), "rate_limited", []);
			const others = PROMPT.filter(({ path, limit }) => limit !== operation && path.startsWith("/v2/"));
			for (const row of new Map(others.map((each) => [each.limit, each])).values())
				expect((await ask(endpoint, row)).status, row.path).not.toBe(429);
			expect((await ask("plain", plain!)).status).not.toBe(429);
		},
	);

	it.each<[LimitedOperation, string, string]>([
		["purge-queue", "POST", "/v2/plain/purge-queue"],
		["requests", "GET", "/v2/plain/requests"],
		["cancel", "POST", "/v2/plain/cancel/none"],
	])("spec 8: /%s has the number of the table", async (operation, method, path) => {
		await clock.advance(10_000);
		const { per10s } = DEFAULT_LIMITS[operation];
		for (let index = 0; index < per10s!; index += 1)
			expect((await call(service.url, path, { method })).status).not.toBe(429);
		expect429(await call(service.url, path, { method }), "rate_limited", [
			`'plain' allows ${per10s} requests of '${operation}'`,
		]);
	});

	it("D24: /retry and /health have no limit and report none", async () => {
		const endpoint = small.next();
		for (const [method, path] of [
			["POST", "retry/none"],
			["GET", "health"],
		]) {
			for (let index = 0; index < 5; index += 1) {
				const answer = await call(service.url, `/v2/${endpoint}/${path}`, { method: method! });
				expect(answer.status).not.toBe(429);
				expect(quota(answer)).toEqual([null, null, null]);
			}
		}
	});

	it("D35: with limits off nothing is limited or reported", async () => {
		for (let index = 0; index < 15; index += 1) {
			for (const row of PROMPT.filter(({ path }) => path.startsWith("/v2/"))) {
				const answer = await ask("off", row);
				expect([answer.status === 429, ...quota(answer)]).toEqual([false, null, null, null]);
			}
		}
	});

	it("D24: of a burst exactly as many as the limit pass", async () => {
		const answers = await Promise.all(Array.from({ length: 80 }, () => call(service.url, "/v2/burst/status/none")));
		expect(answers.filter(({ status }) => status === 404)).toHaveLength(30);
		for (const answer of answers.filter(({ status }) => status !== 404)) expect429(answer, "rate_limited", []);
		const left = answers.filter(({ status }) => status === 404).map((answer) => Number(quota(answer)[1]));
		expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, index) => index));
	});

	it("spec 5, D3: who has no key or no endpoint gets that error, uses nothing up, and learns no numbers", async () => {
		const endpoint = small.next();
		for (let index = 0; index < 5; index += 1) {
			const refused = await call(service.url, `/v2/${endpoint}/requests`, {
				key: "wrong-key-0123456789",
			});
			expect([refused.status, ...quota(refused)]).toEqual([401, null, null, null]);
		}
		const nowhere = await call(service.url, "/v2/nowhere/requests");
		expect([nowhere.status, ...quota(nowhere)]).toEqual([404, null, null, null]);
		expect(quota(await call(service.url, `/v2/${endpoint}/requests`))).toEqual(["2", "1", "10"]);
	});

	it("D24: a refused request is answered before its body, also a too large one; a sent body is skipped", async () => {
		const endpoint = small.next();
		for (let index = 0; index < 2; index += 1) await call(service.url, `/v2/${endpoint}/run`, { text: "{}" });
		for (const length of ["1000", "99999999"]) {
			const connection = await rawConnection(service.url);
			connection.write(
				requestText({
					method: "POST",
					path: `/v2/${endpoint}/run`,
					headers: { ...AUTH, "Content-Length": length },
				}),
			);
			expect((await connection.answer()).status).toBe(429);
			connection.socket.destroy();
		}
		const connection = await rawConnection(service.url);
		connection.write(
			requestText({
				method: "POST",
				path: `/v2/${endpoint}/run`,
				headers: AUTH,
				body: JSON.stringify({ input: { text: "x".repeat(100_000) } }),
			}),
		);
		expect((await connection.answer()).status).toBe(429);
		connection.write(requestText({ method: "GET", path: `/v2/${endpoint}/health`, headers: AUTH }));
		const next = await connection.answer();
		expect(JSON.parse(next.text).jobs.inQueue).toBe(0);
		connection.socket.destroy();
	});
});
