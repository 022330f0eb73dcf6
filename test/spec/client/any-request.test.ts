/**
 * Section 7 for any request at all: never our own fault, always JSON, and the service works
 * afterwards.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROUTES } from "../../../src/http/routes.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { KEY, startService } from "../../support/service.ts";
import type { TestService } from "../../support/service.ts";
import { endWith, expectError, handWorker, statusOf, submitted } from "../hand-worker.ts";
import type { HandWorker } from "../hand-worker.ts";
import { expectOpenAIError } from "./openai/answers.ts";
import { rawConnection } from "../raw-http.ts";
import type { RawAnswer } from "../raw-http.ts";

const clock = manualClock();
let service: TestService;
let worker: HandWorker;
let job: string;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: { limits: "off" }, spare: {} }, clock });
	worker = await handWorker(service, "ep");
	job = await submitted(service, "ep", { input: {}, policy: { ttl: 604_800_000 } });
});
afterAll(() => endWith(service, clock));

interface Request {
	method: string;
	path: string;
	query: string;
	headers: Record<string, string>;
	body: Uint8Array | undefined;
	chunked: boolean;
}

/** Stands in generated values for what is known only when the service runs. */
const PLACES = {
	"@job": () => job,
	"@worker": () => worker.id,
	"@token": () => worker.token,
	"@key": () => KEY,
} as const;
const placed = (text: string): string =>
	text.replace(/@(?:job|worker|token|key)/g, (name) => PLACES[name as keyof typeof PLACES]());

const strange = fc.oneof(
	fc
		.string({ unit: "binary", maxLength: 30 })
		.filter((text) => text.isWellFormed())
		.map(encodeURIComponent),
	fc.constantFrom("..", "%00", "%", "%2F", "__proto__", "sync-", "0"),
);
const segment = (known: string): fc.Arbitrary<string> =>
	fc.oneof({ weight: 3, arbitrary: fc.constant(known) }, { weight: 1, arbitrary: strange });
/** An endpoint that a request may change or delete is not the one that the test goes on with. */
const placeIn = (path: string, values: Record<string, string>): string =>
	path.replace(/:(\w+)/g, (_, name: string) =>
		name === "endpoint" && values[name] === "ep" && path.startsWith("/v1/")
			? "spare"
			: (values[name] ?? "none"),
	);
const anyMethod = fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS");
const onRoute = fc
	.record({
		route: fc.constantFrom(...ROUTES),
		endpoint: segment("ep"),
		job: segment("@job"),
		worker: segment("@worker"),
		other: fc.oneof(
			{ weight: 9, arbitrary: fc.constant(undefined) },
			{ weight: 1, arbitrary: anyMethod },
		),
	})
	.map(({ route, other, ...values }) => ({
		method: other ?? route.methods.at(-1)!,
		path: placeIn(route.path, values),
	}));
const anywhere = fc.record({
	method: anyMethod,
	path: fc.array(strange, { maxLength: 5 }).map((parts) => `/${parts.join("/")}`),
});
const target = fc.oneof({ weight: 8, arbitrary: onRoute }, { weight: 1, arbitrary: anywhere });
const number = fc.oneof(
	fc.integer().map(String),
	fc.constantFrom("0", "1000", "-1", "1e9", "NaN", "", "99999999999999999999"),
	strange,
);
const query = fc
	.array(
		fc.tuple(
			fc.constantFrom(
				"wait",
				"offset",
				"ttl",
				"batch_size",
				"job_in_progress",
				"job_id",
				"status",
				"url",
				"x",
			),
			fc.oneof(number, fc.constant("@job"), fc.constant("http://a.test")),
		),
		{ maxLength: 3 },
	)
	.map((pairs) => pairs.map((pair) => pair.join("=")).join("&"));
const header = fc.string({ unit: "grapheme-ascii", maxLength: 40 });
const headers = fc.record(
	{
		Authorization: fc.oneof(
			{ weight: 4, arbitrary: fc.constantFrom("Bearer @key", "@key", "@token") },
			{ weight: 1, arbitrary: header },
		),
		"Content-Type": fc.oneof(
			fc.constantFrom("application/json", "application/x-www-form-urlencoded", "text/plain"),
			header,
		),
		Accept: fc.oneof(fc.constantFrom("application/json", "text/event-stream"), header),
		"User-Agent": fc.constantFrom("RunPod-JS-SDK/1", "curl/8"),
		"X-Request-ID": fc.oneof(fc.constant("@job"), header),
		"Last-Event-ID": fc.oneof(fc.nat().map(String), header),
		"Idempotency-Key": header,
	},
	{ requiredKeys: ["Authorization"] },
);
const text = (value: fc.Arbitrary<string>): fc.Arbitrary<Uint8Array> =>
	value.map((string) => Buffer.from(string));
const member = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant({}));
const submission = fc.record(
	{
		input: member,
		webhook: member,
		policy: fc.oneof(member, fc.record({ ttl: fc.integer(), executionTimeout: fc.double() })),
		s3Config: member,
		output: member,
		error: member,
		status: fc.constantFrom("IN_PROGRESS", "x"),
		stopPod: fc.boolean(),
	},
	{ requiredKeys: [] },
);
const body = fc.option(
	fc.oneof(
		{ weight: 4, arbitrary: text(submission.map((value) => JSON.stringify(value))) },
		{ weight: 1, arbitrary: text(fc.json()) },
		{ weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
	),
	{ nil: undefined },
);
const request: fc.Arbitrary<Request> = fc
	.record({ target, query, headers, body, chunked: fc.boolean() })
	.map(({ target: { method, path }, ...rest }) => ({ method, path, ...rest }));

/** Sends it, turning time until it is answered. */
async function answerTo(q: Request): Promise<RawAnswer> {
	const connection = await rawConnection(service.url);
	const target = placed(`${q.path}${q.query === "" ? "" : `?${q.query}`}`);
	const lines = Object.entries(q.headers).map(([name, value]) => `${name}: ${placed(value)}\r\n`);
	const framing =
		q.body === undefined
			? ""
			: q.chunked
				? "Transfer-Encoding: chunked\r\n"
				: `Content-Length: ${q.body.length}\r\n`;
	connection.write(`${q.method} ${target} HTTP/1.1\r\nHost: a\r\n${lines.join("")}${framing}\r\n`);
	if (q.body !== undefined && !q.chunked) connection.write(q.body);
	else if (q.body !== undefined) {
		if (q.body.length > 0)
			connection.write(
				Buffer.concat([
					Buffer.from(`${q.body.length.toString(16)}\r\n`),
					q.body,
					Buffer.from("\r\n"),
				]),
			);
		connection.write("0\r\n\r\n");
	}
	let done = false;
	const answer = connection.answer({ head: q.method === "HEAD" }).finally(() => (done = true));
	answer.catch(() => {});
	try {
		for (let turn = 0; turn < 400 && !done; turn += 1) await clock.advance(1000);
		return await answer;
	} finally {
		connection.socket.destroy();
	}
}

it("D2: no request is a 500 (except D32: no worker took the job), all answers are JSON, jobs still run", {
	timeout: 60_000,
}, async () => {
	const seen = new Map<number, number>();
	await fc.assert(
		fc.asyncProperty(request, async (q) => {
			const answer = await answerTo(q);
			seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
			// D32: no worker takes these jobs, which is a 503 of its own.
			if (answer.status >= 500) {
				expectOpenAIError(answer, 503, "no_worker_in_time");
				return;
			}
			// D38: the answer to OPTIONS is empty.
			if (q.method === "OPTIONS" && answer.status === 200) {
				expect(answer.text).toBe("");
				return;
			}
			// Pages to read, ways to one, and what Prometheus reads are the answers that are no JSON.
			const page = ["/docs", "/console/", "/metrics"].includes(q.path) && answer.status === 200;
			if (
				answer.status === 204 ||
				answer.status === 303 ||
				page ||
				answer.headers["content-type"] === "text/event-stream"
			)
				return;
			expect(answer.headers["content-type"]).toBe("application/json");
			if (q.method === "HEAD") return;
			const { error, code } = answer.status < 400 ? {} : JSON.parse(answer.text);
			if (typeof error === "object") expectOpenAIError(answer, answer.status, error.code);
			else if (answer.status >= 400) expectError(answer, answer.status, code);
			else JSON.parse(answer.text);
			expect(answer.text).not.toContain(KEY);
		}),
		{ numRuns: 200 },
	);
	// The requests reached more than one kind of refusal, and were taken as well.
	for (const status of [200, 400, 401, 404, 405])
		expect(seen.get(status) ?? 0, `${status} in ${JSON.stringify([...seen])}`).toBeGreaterThan(0);

	const another = await startServiceJob();
	expect(another).toMatchObject({ status: "COMPLETED", output: { ok: true } });
});

async function startServiceJob(): Promise<unknown> {
	const fresh = await handWorker(service, "ep");
	const id = await submitted(service, "ep");
	for (;;) {
		const taken = await fresh.take({ busy: true });
		await fresh.done(taken!.id, { output: { ok: true } });
		if (taken!.id === id) return await statusOf(service, "ep", id);
	}
}
