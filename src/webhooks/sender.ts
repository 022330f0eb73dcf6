/**
 * What the engine knows of sending a webhook: one try, from its row to what became of it. Types
 * only.
 */
import type { JsonText } from "../core/json/json-text.ts";

/** One try of a delivery. */
export interface WebhookTry {
	url: string;
	/** Header `webhook-id`. */
	id: string;
	/** JSON text. */
	body: JsonText;
	/** `whsec_` + base64 of the key. */
	secret: string;
	/** Ends the try; it is then rejected. */
	signal: AbortSignal;
}

/** What became of a try: the status that the receiver answered, or why there is none. */
export interface WebhookAnswer {
	status?: number | undefined;
	/** A sentence that never holds the URL. */
	error?: string | undefined;
	/** Trying again cannot help: the target is refused. */
	final?: boolean | undefined;
}

/** Sends one try. Rejects only when its signal aborts. */
export type SendWebhook = (q: WebhookTry) => Promise<WebhookAnswer>;
