/** The engine's interface for sending a webhook. */
import type { TraceContext } from "../core/trace-context.ts";
import type { JsonText } from "../lib/json/json-text.ts";

export interface WebhookTry {
	url: string;
	/** Header `webhook-id`. */
	id: string;
	body: JsonText;
	/** `whsec_` + base64 of the key; several while one replaces another. None: not signed. */
	secrets: readonly string[];
	/** In addition to those of a webhook, or in place of them. */
	headers?: Readonly<Record<string, string>> | undefined;
	/** `X-Request-Id` of the submission. */
	requestId?: string | undefined;
	/** `traceparent` and `tracestate`. */
	trace?: TraceContext | undefined;
	/** Aborts the try, which then rejects. */
	signal: AbortSignal;
}

export interface WebhookAnswer {
	status?: number | undefined;
	/** The beginning of the response, printable; absent when empty. */
	answer?: string | undefined;
	/** A sentence that never contains the URL. */
	error?: string | undefined;
	/** A retry cannot help. */
	final?: boolean | undefined;
}

/** Rejects only when its signal aborts. */
export type SendWebhook = (q: WebhookTry) => Promise<WebhookAnswer>;
