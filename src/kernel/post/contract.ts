/** One signed POST to an address that a client or the operator chose: for webhooks and messages of alerts. */
import type { TraceContext } from "../core/trace.ts";
import type { JsonText } from "../lib/json/json-text.ts";

/** A try ends after this time without an answer. */
export const POST_TIMEOUT_MS = 10_000;

export interface PostRequest {
	url: string;
	/** Header `webhook-id`. */
	id: string;
	body: JsonText;
	/** `whsec_` + base64 of the key; several while one replaces another. None: not signed. */
	secrets: readonly string[];
	/** In addition to those of every call, or in place of them. */
	headers?: Readonly<Record<string, string>> | undefined;
	/** `X-Request-Id` of the submission. */
	requestId?: string | undefined;
	/** `traceparent` and `tracestate`. */
	trace?: TraceContext | undefined;
	/** Aborts the try, which then rejects. */
	signal: AbortSignal;
}

export interface PostAnswer {
	status?: number | undefined;
	/** The beginning of the response, printable; absent when empty. */
	answer?: string | undefined;
	/** A sentence that never contains the URL. */
	error?: string | undefined;
	/** A retry cannot help. */
	final?: boolean | undefined;
}

/** Rejects only when its signal aborts. */
export type SignedPost = (q: PostRequest) => Promise<PostAnswer>;
