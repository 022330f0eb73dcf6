/**
 * What the tests of `/openai/*` share: requests, streams read piece by piece, and the form of
 * errors.
 */
import { advanceUntil, type ManualClock } from "../../../support/manual-clock.ts";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import { expect } from "vitest";
import { KEY } from "../../../support/service.ts";

/** An answer that is read as it comes. */
export interface OpenAnswer {
	status: number;
	headers: Headers;
	/** The next text that arrives, undefined at the end. */
	next(): Promise<string | undefined>;
	/** All that still comes. */
	rest(): Promise<string>;
}

/** A request whose client can hang up. */
export interface Asking {
	answer: Promise<OpenAnswer>;
	hangUp(): void;
}

/** Sends a body, an object or JSON text, with the admin key. */
export function ask(url: string, path: string, body: object | string, headers: Record<string, string> = {}): Asking {
	const hungUp = new AbortController();
	const answer = fetch(url + path, {
		method: "POST",
		headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json", ...headers },
		body: typeof body === "string" ? body : JSON.stringify(body),
		signal: hungUp.signal,
	}).then((response): OpenAnswer => {
		const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
		const next = async (): Promise<string | undefined> => (await reader.read()).value;
		return {
			status: response.status,
			headers: response.headers,
			next,
			async rest() {
				let text = "";
				for (let piece = await next(); piece !== undefined; piece = await next()) text += piece;
				return text;
			},
		};
	});
	answer.catch(() => {});
	return { answer, hangUp: () => hungUp.abort() };
}

/**
 * Lets time pass until the promise is settled: a deadline holds at once, but the caller that waits for it
 * may learn it one poll later.
 */
export async function asTimePasses<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
	let over = false;
	const end = (): void => void (over = true);
	promise.then(end, end);
	await advanceUntil(clock, () => over, 100);
	return await promise;
}

/**
 * The service's side of the next request: resolves when it comes, and reports when its connection is
 * closed.
 */
export function nextArrival(): Promise<{ closed: Promise<void> }> {
	return new Promise((resolve) => {
		const listener = (message: unknown): void => {
			unsubscribe("http.server.request.start", listener);
			const { response } = message as { response: ServerResponse };
			resolve({ closed: new Promise((close) => response.once("close", close)) });
		};
		subscribe("http.server.request.start", listener);
	});
}

/**
 * What every error under `/openai/` keeps to (D32): four members in one, and JSON. Answers the
 * error.
 */
export function expectOpenAIError(
	answer: { status: number; text: string; headers: Headers | Record<string, string> },
	status: number,
	code: string | number | null,
): any {
	expect(answer.status, answer.text).toBe(status);
	expect(answer.headers instanceof Headers ? answer.headers.get("content-type") : answer.headers["content-type"]).toBe(
		"application/json",
	);
	const body = JSON.parse(answer.text);
	expect(Object.keys(body)).toEqual(["error"]);
	expect(Object.keys(body.error)).toEqual(["message", "type", "param", "code"]);
	expect(body.error).toMatchObject({
		message: expect.stringMatching(/./),
		type: expect.stringMatching(/_error$|Error$/),
		code,
	});
	return body.error;
}
