/** The Standard Webhooks signature (D21). */
import { createHmac } from "node:crypto";
import type { JsonText } from "../lib/json/json-text.ts";

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
