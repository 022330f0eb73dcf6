/** One POST (spec 6, D21): signed, to the checked address only, no redirects, no proxy, at most 10 s. */
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";
import { createHmac } from "node:crypto";
import type { Clock } from "../system/clock.ts";
import { traceparentOf } from "../core/trace.ts";
import { type JsonText, sizeOf } from "../lib/json/json-text.ts";
import { printable } from "../lib/terminal-text.ts";
import { POST_TIMEOUT_MS, type PostAnswer, type SignedPost } from "./contract.ts";
import { masked } from "../lib/masked.ts";
import { type Address, type Resolve, targetOf } from "./target.ts";

/** Read of an answer; only {@link KEPT_BYTES} are kept. */
const ANSWER_BYTES = 64 * 1024;

const KEPT_BYTES = 256;

/** Other codes are shown as they are, because messages may contain addresses. */
const FAULTS: Readonly<Record<string, string>> = {
	ENOTFOUND: "the host name is unknown",
	EAI_AGAIN: "the host name could not be looked up",
	ECONNREFUSED: "the connection was refused",
	ECONNRESET: "the connection was closed without an answer",
	EPIPE: "the connection was closed without an answer",
	EHOSTUNREACH: "the host cannot be reached",
	ENETUNREACH: "the network cannot be reached",
	ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name",
};

export function signedPost({
	clock,
	allowPrivateNetworks,
	userAgent,
	resolve,
}: {
	clock: Clock;
	allowPrivateNetworks: boolean;
	userAgent: string;
	resolve: Resolve;
}): SignedPost {
	return async ({ url, id, body, secrets, headers: own, requestId, trace, signal }) => {
		const over = new AbortController();
		let late = false;
		void clock.sleep(POST_TIMEOUT_MS, over.signal).then(() => {
			late = !over.signal.aborted;
			over.abort();
		});
		const limit = AbortSignal.any([over.signal, signal]);
		try {
			const target = await unlessAborted(limit, targetOf(url, { allowPrivateNetworks, resolve }));
			if (!target.ok) return { error: target.refusal, final: true };
			const size = typeof body === "string" ? Buffer.byteLength(body) : sizeOf(body);
			const headers = {
				"content-type": "application/json",
				"content-length": size,
				"user-agent": userAgent,
				...(requestId !== undefined && { "x-request-id": requestId }),
				...(trace && { traceparent: traceparentOf(trace) }),
				...(trace?.state !== undefined && { tracestate: trace.state }),
				...(target.authorization !== undefined && { authorization: target.authorization }),
				...(secrets.length > 0 && signedHeaders({ id, at: clock.wall(), body, secrets })),
				...own,
			};
			const { answer, ...rest } = await post(target.url, target.address, { headers, body, signal: limit });
			return { ...rest, answer: answer && masked(answer, target.secrets) };
		} catch (error) {
			signal.throwIfAborted();
			return {
				error: late ? `there was no answer within ${POST_TIMEOUT_MS / 1000} s` : sentence(error),
			};
		} finally {
			over.abort();
		}
	};
}

/**
 * The URL's host is not resolved again, but its certificate must match. The status counts once received, even if the
 * rest of the answer never arrives.
 */
function post(
	url: URL,
	address: Address,
	{ headers, body, signal }: { headers: Record<string, string | number>; body: JsonText; signal: AbortSignal },
): Promise<PostAnswer> {
	return new Promise((resolve, reject) => {
		const send = url.protocol === "https:" ? requestHttps : requestHttp;
		const request = send(url, {
			method: "POST",
			headers,
			signal,
			// No pooled connection: it might lead to another address or through a proxy.
			agent: false,
			lookup: (_host, { all }, found) => (all ? found(null, [address]) : found(null, address.address, address.family)),
		});
		request.on("error", reject);
		request.on("response", (response) => {
			const first: Buffer[] = [];
			let left = ANSWER_BYTES;
			const answered = (): void => resolve({ status: response.statusCode, answer: beginningOf(first) });
			response.on("data", (piece: Buffer) => {
				if (ANSWER_BYTES - left < KEPT_BYTES) first.push(piece.subarray(0, KEPT_BYTES));
				left -= piece.length;
				if (left < 0) request.destroy();
			});
			response.on("error", answered);
			response.on("close", answered);
			request.removeListener("error", reject);
			request.on("error", answered);
		});
		if (typeof body === "string") request.end(body);
		else Readable.from(body).pipe(request);
	});
}

/** A character that the cut splits is left out. */
function beginningOf(pieces: readonly Buffer[]): string | undefined {
	const bytes = Buffer.concat(pieces).subarray(0, KEPT_BYTES);
	const text = new TextDecoder().decode(bytes, { stream: true });
	return printable(text.replace(/\s+/g, " ")).trim() || undefined;
}

function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
	return new Promise((resolve, reject) => {
		if (signal.aborted) reject(signal.reason);
		signal.addEventListener("abort", () => reject(signal.reason), { once: true });
		work.then(resolve, reject);
	});
}

function sentence(error: unknown): string {
	const code = (error as NodeJS.ErrnoException).code ?? "UNKNOWN";
	return FAULTS[code] ?? `the call failed (${code})`;
}

const PREFIX = "whsec_";

/** A signature by each secret, `whsec_` + base64. `at`: ms since the epoch. */
export function signedHeaders({
	id,
	at,
	body,
	secrets,
}: {
	id: string;
	at: number;
	body: JsonText;
	secrets: readonly string[];
}): Record<string, string> {
	const timestamp = String(Math.floor(at / 1000));
	const parts = typeof body === "string" ? [body] : body;
	const signatures = secrets.map((secret) => {
		const hmac = createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.`);
		for (const part of parts) hmac.update(part);
		return `v1,${hmac.digest("base64")}`;
	});
	return {
		"webhook-id": id,
		"webhook-timestamp": timestamp,
		"webhook-signature": signatures.join(" "),
	};
}

function keyOf(secret: string): Buffer {
	return Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, "base64");
}
