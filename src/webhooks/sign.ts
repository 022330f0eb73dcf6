/** The Standard Webhooks signature (D21): lets a receiver verify origin and integrity. */
import { createHmac } from "node:crypto";
import type { JsonText } from "../core/json/json-text.ts";

/** Prefix of a secret; base64 of the key follows. */
const PREFIX = "whsec_";

/**
 * The three headers of one try, with a signature by each secret. `at` in ms since the epoch; secrets
 * as `whsec_` + base64.
 */
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
