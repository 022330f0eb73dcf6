/** The Standard Webhooks signature (D21): lets a receiver verify origin and integrity. */
import { createHmac } from "node:crypto";
import type { JsonText } from "../core/json/json-text.ts";

/** Prefix of a secret; base64 of the key follows. */
const PREFIX = "whsec_";

/** The three headers of one try. `at` in ms since the epoch; `secret` as `whsec_` + base64. */
export function signedHeaders({
	id,
	at,
	body,
	secret,
}: {
	id: string;
	at: number;
	body: JsonText;
	secret: string;
}): Record<string, string> {
	const timestamp = String(Math.floor(at / 1000));
	const key = Buffer.from(
		secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret,
		"base64",
	);
	const hmac = createHmac("sha256", key).update(`${id}.${timestamp}.`);
	for (const part of typeof body === "string" ? [body] : body) hmac.update(part);
	return {
		"webhook-id": id,
		"webhook-timestamp": timestamp,
		"webhook-signature": `v1,${hmac.digest("base64")}`,
	};
}
