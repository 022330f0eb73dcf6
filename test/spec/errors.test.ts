/**
 * Section 7: every code of the table of errors is produced by a real request, with the status the
 * table has.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { writeFileSync } from "node:fs";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ErrorCode, ERRORS } from "../../src/kernel/core/error-table.ts";
import { ALL_ERRORS } from "../../src/modules/tables.ts";
import { StoreUnavailable } from "../../src/kernel/store/contract/store.ts";
import { advanceUntil, manualClock } from "../support/manual-clock.ts";
import { RECEIVER_CERTIFICATE, RECEIVER_KEY } from "../support/receiver-certificate.ts";
import { call, folder, KEY, startService, type TestService } from "../support/service.ts";
import { atOnce, begun, endWith, expectError, handWorker, submitted } from "./hand-worker.ts";
import { Agent, request } from "../support/transport.ts";
import { untilTrue } from "../support/until.ts";
import { backupErrors, WITH_PLANTED_BACKUPS } from "./backup-errors.ts";
import { keylessService, operator } from "./operator.ts";
import { rawConnection, requestText } from "./raw-http.ts";

const clock = manualClock();
let service: TestService;
beforeAll(async () => {
	service = await startService({
		modules: WITH_PLANTED_BACKUPS,
		endpoints: {
			ep: { limits: { queue: 0 } },
			open: {},
			small: { limits: { storedMb: 0 } },
			spent: { limits: { gpuSecondsPerDay: 0 } },
			tight: { limits: { cancel: { per10s: 1 }, requests: { concurrent: 0 } } },
		},
		settings: { budgets: { memory: 64 * 1024 * 1024 } },
		clock,
	});
});
afterAll(() => endWith(service, clock));

interface Answer {
	status: number;
	text: string;
	headers: Headers | Record<string, string>;
}

const get = (path: string, init: Parameters<typeof call>[2] = {}): Promise<Answer> => call(service.url, path, init);

async function raw(bytes: string): Promise<Answer> {
	const connection = await rawConnection(service.url);
	connection.write(bytes);
	const answer = await connection.answer();
	connection.socket.destroy();
	return answer;
}

/** Runs a request with one engine method replaced by a fault. */
async function withFault(error: Error, request: () => Promise<Answer>): Promise<Answer> {
	const { health } = service.engine.metrics;
	service.engine.metrics.health = () => Promise.reject(error);
	try {
		return await request();
	} finally {
		service.engine.metrics.health = health;
	}
}

/** Runs a request against a service that is stopping and waits for a job. */
async function whileStopping(
	request: (url: string, worker: { id: string; token: string }) => Promise<Answer>,
): Promise<Answer> {
	const time = manualClock();
	const stopping = await startService({ endpoints: { ep: {} }, clock: time, drainSeconds: 3600 });
	const worker = await handWorker(stopping, "ep");
	const id = await submitted(stopping, "ep");
	await worker.takeThis(id);
	const draining = stopping.next("service.draining");
	const end = stopping.end();
	await draining;
	let answered = false;
	const answer = request(stopping.url, worker).finally(() => (answered = true));
	await advanceUntil(time, () => answered, 100);
	await worker.done(id, {});
	let ended = false;
	void end.finally(() => (ended = true));
	await advanceUntil(time, () => ended, 1000);
	await end;
	return await answer;
}

/** The answer to the second of two uploads that have begun. */
async function secondUpload(path: string, size: number): Promise<Answer> {
	const upload =
		requestText({
			method: "POST",
			path,
			headers: { Authorization: KEY, "Content-Length": String(size) },
		}) + "x".repeat(20_000);
	const { memory } = service.engine.budgets;
	const first = await rawConnection(service.url);
	first.write(upload);
	await untilTrue(() => memory.used === size);
	let answered = false;
	const answer = raw(upload).finally(() => (answered = true));
	await advanceUntil(clock, () => answered, 100);
	first.socket.destroy();
	await untilTrue(() => memory.used === 0);
	return await answer;
}

/** The tests in `test/spec/management` produce these. */
const OF_MANAGEMENT = ["forbidden", "resource_not_found"] as const;

/** `src/kernel/engine/endpoints/endpoints.test.ts` produces these: it takes several servers. */
const OF_SERVERS = ["endpoint_changed", "endpoint_unreadable"] as const;

/** `test/spec/client/openai/forms.test.ts` produces these, in OpenAI's form: no other route takes forms. */
const OF_FORMS = ["bad_form", "part_too_large"] as const;

/** How each other code is produced. */
const HOW: Record<
	Exclude<ErrorCode, (typeof OF_MANAGEMENT | typeof OF_SERVERS | typeof OF_FORMS)[number]>,
	() => Promise<Answer>
> = {
	bad_json: () => get("/v2/open/run", { text: "nonsense" }),
	unsupported_encoding: () => get("/v2/open/run", { text: "{}", headers: { "content-encoding": "zstd" } }),
	bad_encoding: () => get("/v2/open/run", { text: "{}", headers: { "content-encoding": "gzip" } }),
	bad_request: () => get("/v2/open/run", { text: "{}" }),
	bad_query: () => get("/v2/open/runsync?wait=soon", { body: { input: {} } }),
	bad_http: () => raw("NONSENSE\r\n\r\n"),
	async https_only() {
		const place = folder();
		const [cert, key] = [join(place.path, "cert"), join(place.path, "key")];
		writeFileSync(cert, RECEIVER_CERTIFICATE);
		writeFileSync(key, RECEIVER_KEY);
		const env = { SLUICE_TLS_CERT: cert, SLUICE_TLS_KEY: key };
		const encrypted = await startService({ endpoints: {}, in: place, env });
		try {
			return await call(encrypted.url.replace("https:", "http:"), "/v1/endpoints");
		} finally {
			await encrypted.end();
			place.remove();
		}
	},
	unauthorized: () => get("/v2/open/health", { key: "wrong-key-0123456789" }),
	worker_unauthorized: () => get("/worker/open/ping/w", { key: "wrong-token" }),
	async too_many_failures() {
		const strict = await startService({
			endpoints: {},
			settings: { budgets: { failedKeysPerAddress: 5 } },
		});
		try {
			const wrong = (): Promise<Answer> => call(strict.url, "/v1/endpoints", { key: "wrong-key-0123456789" });
			for (let count = 0; count < 5; count += 1) await wrong();
			return await wrong();
		} finally {
			await strict.end();
		}
	},
	endpoint_not_found: () => get("/v2/nowhere/health"),
	job_not_found: () => get("/v2/open/status/none"),
	endpoint_exists: () => get("/v1/endpoints", { body: { id: "open" } }),
	key_not_found: () => get("/v1/keys/none", { method: "DELETE" }),
	async last_admin_key() {
		const { app, key, end } = await keylessService();
		try {
			const [only] = (await operator(app, key).seen("/keys")).keys;
			return await operator(app, key).remove(`/keys/${only.id}`);
		} finally {
			await end();
		}
	},
	worker_gone: () => get("/v1/endpoints/open/workers/none/stop", { method: "POST" }),
	async worker_not_launched() {
		const worker = await handWorker(service, "open");
		await worker.ping();
		return await get(`/v1/endpoints/open/workers/${worker.id}/stop`, { method: "POST" });
	},
	workers_external: () => get("/v1/endpoints/open/workers/start", { method: "POST" }),
	worker_not_found: () => get("/v1/endpoints/open/workers/none/logs"),
	path_not_found: () => get("/v2/open/none"),
	method_not_allowed: () => get("/v2/open/run", { method: "DELETE" }),
	async too_many_worker_ids() {
		const { json } = await call(service.url, `/v1/endpoints/open/worker-env?url=${service.url}&replicas=true`, {
			method: "POST",
		});
		const headers = { authorization: json.env.RUNPOD_AI_API_KEY as string };
		const ping = (worker: string) => get(`/worker/open/ping/${worker}`, { headers });
		await ping("one");
		const { registry } = service.engine.workers;
		const { token } = registry.get({ endpoint: "open", id: "one" })!;
		for (let n = registry.countOf(token!); n < 2000; n += 1)
			registry.meet({ endpoint: "open", id: `many-${n}`, ready: true, token, now: clock.now() });
		const answer = await ping("another");
		for (const worker of [...registry.of("open")]) if (worker.token === token) registry.forget(worker);
		return answer;
	},
	async duplicate_worker_id() {
		const worker = await handWorker(service, "open");
		const path = `/worker/open/job-take/${worker.id}`;
		const init = { headers: { authorization: worker.token } };
		const first = await begun(service.url, path, init);
		const announced = service.next("worker.duplicate");
		const second = await begun(service.url, path, init);
		await announced;
		await clock.advance(4999);
		expect(second.over()).toBe(false);
		await clock.advance(1);
		const answer = await atOnce(clock, second.answer);
		await clock.advance(50_000);
		await atOnce(clock, first.answer);
		return answer;
	},
	body_too_large: () =>
		raw(
			requestText({
				method: "POST",
				path: "/v2/open/run",
				headers: { Authorization: KEY, "Content-Length": "99999999" },
			}),
		),
	headers_too_large: () => raw(requestText({ method: "GET", path: "/healthz", headers: { X: "x".repeat(200_000) } })),
	async request_timeout() {
		// The server's own timeout is a minute: its event is given by hand, on a connection whose next
		// request is half sent.
		const found = new Promise<{ server: Server; socket: Socket }>((resolve) => {
			const listener = (message: unknown): void => {
				unsubscribe("http.server.request.start", listener);
				resolve(message as { server: Server; socket: Socket });
			};
			subscribe("http.server.request.start", listener);
		});
		const connection = await rawConnection(service.url);
		connection.write(`${requestText({ method: "GET", path: "/healthz" })}GET /heal`);
		expect((await connection.answer()).status).toBe(200);
		const { server, socket } = await found;
		server.emit(
			"clientError",
			Object.assign(new Error("Request timeout"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }),
			socket,
		);
		const answer = await connection.answer();
		await connection.closed;
		return answer;
	},
	async rate_limited() {
		await get("/v2/tight/cancel/none", { method: "POST" });
		await clock.advance(9000);
		return await get("/v2/tight/cancel/none", { method: "POST" });
	},
	async management_busy() {
		const feeds = new AbortController();
		const { limit } = service.engine.budgets.management;
		const headers = { authorization: `Bearer ${KEY}` };
		// The collector of garbage ends the stream of an answer that nothing refers to.
		const open: Response[] = [];
		for (let count = 0; count < limit; count += 1)
			open.push(await fetch(`${service.url}/v1/feed`, { headers, signal: feeds.signal }));
		const answer = await get("/v1/endpoints");
		expect(open).toHaveLength(limit);
		feeds.abort();
		await untilTrue(() => service.engine.budgets.management.used === 0);
		return answer;
	},
	async documents_busy() {
		const leaving = new AbortController();
		const { signal } = leaving;
		const agent = new Agent({ keepAlive: true });
		// HEAD costs the address as much as GET, and the test no transfer. Most bytes are those without coding.
		const ask = (): Promise<number> =>
			new Promise((resolve, reject) => {
				request(`${service.url}/openapi.json`, { method: "HEAD", agent, signal }, (answer) =>
					resolve(answer.resume().statusCode!),
				)
					.once("error", reject)
					.end();
			});
		// The clock stands still: the address's time is used up, then at most 256 calls wait.
		const callers = Array.from({ length: 300 }, async () => {
			while ((await ask()) !== 429);
		});
		await Promise.race(callers);
		const answer = await get("/openapi.json");
		leaving.abort();
		await Promise.allSettled(callers);
		agent.destroy();
		await clock.advance(10_000);
		return answer;
	},
	memory_share: () => secondUpload("/v2/open/run", 10_000_000),
	memory_spent: () => secondUpload("/v2/open/runsync", 20_000_000),
	too_many_at_once: () => get("/v2/tight/requests"),
	async job_not_retryable() {
		const id = await submitted(service, "open");
		const answer = await get(`/v2/open/retry/${id}`, { method: "POST" });
		await get(`/v2/open/cancel/${id}`, { method: "POST" });
		return answer;
	},
	async idempotency_reused() {
		const headers = { "idempotency-key": "reused" };
		const { json } = await call(service.url, "/v2/open/run", { text: '{"input":{}}', headers });
		const answer = await get("/v2/open/run", { text: '{"input":{"a":1}}', headers });
		await get(`/v2/open/cancel/${json.id}`, { method: "POST" });
		return answer;
	},
	async idempotency_expired() {
		const again = (): Promise<Answer> =>
			get("/v2/open/run", { text: '{"input":{}}', headers: { "idempotency-key": "expired" } });
		await again();
		await get("/v2/open/purge-queue", { method: "POST" });
		return await again();
	},
	quota_full: () => get("/v2/small/run", { body: { input: {} } }),
	gpu_quota_used: () => get("/v2/spent/run", { body: { input: {} } }),
	async store_full() {
		const { stored } = service.engine.budgets;
		stored.hold(stored.limit);
		try {
			return await get("/v2/open/run", { body: { input: {} } });
		} finally {
			stored.give(stored.limit);
		}
	},
	async queue_full() {
		await submitted(service, "ep");
		return await get("/v2/ep/run", { body: { input: {} } });
	},
	draining: () =>
		whileStopping((url, worker) =>
			call(url, `/worker/ep/job-take/${worker.id}?job_in_progress=1`, {
				headers: { authorization: worker.token },
			}),
		),
	internal: () => withFault(new Error("a secret of ours"), () => get("/v2/open/health")),
	not_ready: () => whileStopping((url) => call(url, "/readyz", { key: null })),
	store_unavailable: () => withFault(new StoreUnavailable("full", "the disk is full"), () => get("/v2/open/health")),
	outcome_unknown: () =>
		withFault(new StoreUnavailable("unreachable", "the connection broke", { unsure: true }), () =>
			get("/v2/open/health"),
		),
};

const EVERY = { ...HOW, ...backupErrors(() => service) };

describe("every code", () => {
	it("D2: is in the table of this test", () => {
		expect([...Object.keys(HOW), ...OF_MANAGEMENT, ...OF_SERVERS, ...OF_FORMS].toSorted()).toEqual(
			Object.keys(ERRORS).toSorted(),
		);
	});

	it.each(Object.keys(EVERY) as (keyof typeof EVERY)[])("D2, D3: %s", async (code) => {
		const failed: unknown[] = [];
		const remove = service.events.on("request.failed", (facts) => failed.push(facts));
		const answer = await EVERY[code]();
		remove();
		const entry: { status: number; retryAfter?: number } = ALL_ERRORS[code]!;
		const body = expectError(answer, entry.status, code);
		expect(body.error).not.toMatch(/undefined|\[object|\{\w+\}/);
		const header = (name: string): string | undefined =>
			answer.headers instanceof Headers ? (answer.headers.get(name) ?? undefined) : answer.headers[name];
		expect(header("content-type")).toBe("application/json");
		// The rest of the day.
		if (code === "gpu_quota_used") expect(Number(header("retry-after"))).toBeLessThanOrEqual(86_400);
		else expect(header("retry-after")).toBe(entry.retryAfter === undefined ? undefined : String(entry.retryAfter));
		if (entry.status === 405) expect(header("allow")).toBe("POST");
		expect(failed).toHaveLength(
			["internal", "backup_failed", "store_unavailable", "outcome_unknown"].includes(code) ? 1 : 0,
		);
		if (code === "internal") {
			const [{ requestId }] = failed as [{ requestId: string }];
			expect(requestId).toBe(header("x-request-id"));
			expect(body.error).toContain(requestId);
			expect(body.error).not.toContain("secret");
		}
		expect((await call(service.url, "/v2/open/health")).status).toBe(200);
	});
});
