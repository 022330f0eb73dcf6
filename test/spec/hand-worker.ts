/**
 * A worker whose every call the test makes itself, as in the worker requests of the protocol (B),
 * and what goes with it.
 */
import { advanceUntil, type ManualClock } from "../support/manual-clock.ts";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { expect } from "vitest";
import { call, type TestService } from "../support/service.ts";

/** A job as a worker gets it. */
export interface Taken {
	id: string;
	input: any;
	s3Config?: unknown;
	/** The whole answer as text. */
	text: string;
}

/** One worker of an endpoint. */
export interface HandWorker {
	id: string;
	token: string;
	/** One job; undefined when the poll ended without one. */
	take(q?: { busy?: boolean }): Promise<Taken | undefined>;
	/** Posts a result or progress; `body` is sent as JSON, text as it is. */
	done(id: string, body: object | string): Promise<void>;
	chunk(id: string, body: object | string): Promise<void>;
	ping(...ids: string[]): Promise<void>;
	/** Takes the one job there is, which must be `id`. */
	takeThis(id: string): Promise<Taken>;
}

/** Attaches a worker to an endpoint with a token of its own. */
export async function handWorker({ url }: Pick<TestService, "url">, endpoint: string): Promise<HandWorker> {
	const { json } = await call(url, `/v1/endpoints/${endpoint}/worker-env?url=${encodeURIComponent(url)}`, {
		method: "POST",
	});
	const { RUNPOD_POD_ID: id, RUNPOD_AI_API_KEY: token } = json.env as {
		RUNPOD_POD_ID: string;
		RUNPOD_AI_API_KEY: string;
	};
	const headers = { authorization: token };
	const base = `/worker/${endpoint}`;

	async function post(operation: string, job: string, body: object | string): Promise<void> {
		const text = typeof body === "string" ? body : JSON.stringify(body);
		const answer = await call(url, `${base}/${operation}/${id}/${job}?gpu=none&isStream=false`, {
			text,
			headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
		});
		expect(answer.status, answer.text).toBe(200);
	}

	const worker: HandWorker = {
		id,
		token,
		async take({ busy = false } = {}) {
			const answer = await call(url, `${base}/job-take/${id}?gpu=none&job_in_progress=${busy ? 1 : 0}`, { headers });
			expect([200, 204], answer.text).toContain(answer.status);
			return answer.status === 204 ? undefined : { ...answer.json, text: answer.text };
		},
		done: (job, body) => post("job-done", job, body),
		chunk: (job, body) => post("job-stream", job, body),
		async ping(...ids) {
			const answer = await call(
				url,
				`${base}/ping/${id}?gpu=none${ids.length === 0 ? "" : `&job_id=${ids.join(",")}`}`,
				{ headers },
			);
			expect(answer.status).toBe(200);
		},
		async takeThis(wanted) {
			const taken = await worker.take();
			expect(taken?.id).toBe(wanted);
			return taken!;
		},
	};
	return worker;
}

/** Submits a job with `/run` and answers its id. */
export async function submitted(
	{ url }: Pick<TestService, "url">,
	endpoint: string,
	body: object = { input: {} },
): Promise<string> {
	const { status, json, text } = await call(url, `/v2/${endpoint}/run`, { body });
	expect(status, text).toBe(200);
	return json.id as string;
}

/** The job object of `/status`. */
export async function statusOf({ url }: TestService, endpoint: string, id: string): Promise<any> {
	const { status, json, text } = await call(url, `/v2/${endpoint}/status/${id}`);
	expect(status, text).toBe(200);
	return json;
}

/** A call that may be held. */
export interface HeldCall<T = Awaited<ReturnType<typeof call>>> {
	answer: Promise<T>;
	over(): boolean;
}

/** Begins a call and resolves when the service, in this process, has begun it. */
export function begun(url: string, path: string, init: Parameters<typeof call>[2] = {}): Promise<HeldCall> {
	return begunBy(path, () => call(url, path, init));
}

/** As `begun`, with a client of the test's own. */
export async function begunBy<T>(path: string, begin: () => Promise<T>): Promise<HeldCall<T>> {
	const received = new Promise<void>((resolve) => {
		const listener = (message: unknown): void => {
			if ((message as { request: IncomingMessage }).request.url !== path) return;
			unsubscribe("http.server.request.start", listener);
			resolve();
		};
		subscribe("http.server.request.start", listener);
	});
	let over = false;
	const answer = begin().finally(() => (over = true));
	answer.catch(() => {});
	await received;
	// Who calls is found out next; the wait begins with that.
	await new Promise((resolve) => setImmediate(resolve));
	return { answer, over: () => over };
}

/**
 * What comes without time passing: lets those go on that are due now, or work in progress, until the
 * promise is settled.
 */
export async function atOnce<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
	let over = false;
	const end = (): void => void (over = true);
	promise.then(end, end);
	await advanceUntil(clock, () => over, 0);
	return await promise;
}

/** Ends a service on a manual clock: time moves until it has stopped. */
export async function endWith(service: TestService | undefined, clock: ManualClock): Promise<void> {
	let ended = false;
	const end = service?.end().finally(() => (ended = true));
	await advanceUntil(clock, () => !service || ended, 1000);
	await end;
}

/**
 * What every error body keeps to (D2, D3): a sentence, a code, never `status` or `id`. Answers the
 * body.
 */
export function expectError(
	answer: { status: number; text: string },
	status: number,
	code: string,
	fields?: readonly string[],
): any {
	expect(answer.status, answer.text).toBe(status);
	const body = JSON.parse(answer.text);
	expect(body).toMatchObject({ error: expect.stringMatching(/^\S.*[.?]$/s), code });
	expect(Object.keys(body).filter((name) => !["error", "code", "details"].includes(name))).toEqual([]);
	if (fields) expect(body.details?.map((fault: { field: string }) => fault.field)).toEqual(fields);
	return body;
}

/** Endpoints for tests that are tried again. */
const SPARE = 5;

/** Endpoints for one service, so that each test can have one of its own without a start. */
export function endpointsByName(
	count: number,
	settings: object = {},
): { settings: Record<string, object>; next(): string } {
	const names = Array.from({ length: count + SPARE }, (_, index) => `e${index}`);
	let at = 0;
	return {
		settings: Object.fromEntries(names.map((name) => [name, settings])),
		next() {
			const name = names[at];
			if (name === undefined) throw new Error(`More than ${names.length} endpoints are asked for.`);
			at += 1;
			return name;
		},
	};
}
