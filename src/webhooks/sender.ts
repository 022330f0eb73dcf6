/** The engine's interface for sending a webhook. Types only. */
import type { JsonText } from "../core/json/json-text.ts";

/** One try of a delivery. */
export interface WebhookTry {
	url: string;
	/** Header `webhook-id`. */
	id: string;
	body: JsonText;
	/** Each `whsec_` + base64 of the key; more than one while one replaces another. */
	secrets: readonly string[];
	/** Aborts the try, which then rejects. */
	signal: AbortSignal;
}

/** The response status, or why there is none. */
export interface WebhookAnswer {
	status?: number | undefined;
	/** The beginning of the response, printable; absent when it is empty. */
	answer?: string | undefined;
	/** A sentence that never contains the URL. */
	error?: string | undefined;
	/** A retry cannot help: the target is refused. */
	final?: boolean | undefined;
}

/** Sends one try. Rejects only when its signal aborts. */
export type SendWebhook = (q: WebhookTry) => Promise<WebhookAnswer>;
