/** `Idempotency-Key` of a submission, and what shows that two have the same body (D14). */
import { createHash } from "node:crypto";
import { badRequest } from "../../core/errors.ts";
import type { JsonText } from "../../lib/json/json-text.ts";
import type { Call } from "./call.ts";

const MAX_KEY_LENGTH = 255;

/** SHA-256, hex. */
export function hashOf(body: JsonText): string {
	const hash = createHash("sha256");
	for (const piece of typeof body === "string" ? [body] : body) hash.update(piece);
	return hash.digest("hex");
}

/** Undefined without the header. Throws 400. */
export function idempotencyKey({ req }: Call): string | undefined {
	const key = req.headers["idempotency-key"];
	if (key === undefined) return undefined;
	if (typeof key === "string" && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key) && key.length <= MAX_KEY_LENGTH)
		return key;
	throw badRequest([
		{
			field: "Idempotency-Key",
			message: `must be 1 to ${MAX_KEY_LENGTH} printable ASCII characters.`,
		},
	]);
}
