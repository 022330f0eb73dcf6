/** base64 of the input, decoded in pieces. */
import { JobFailure } from "../job-failure.ts";
import type { RequestBody } from "./exchange.ts";

/** Characters of a piece, a multiple of 4. */
const PIECE = 65_536;

/** `what` names the value in errors. Accepts line breaks and the URL alphabet. Throws a {@link JobFailure}. */
export function decodedBase64(given: string, what: string): RequestBody {
	const text = /\s/.test(given) ? given.replace(/\s+/g, "") : given;
	const padding = text.indexOf("=");
	const length = padding === -1 ? text.length : padding;
	const valid =
		!/[^\w+/=-]/.test(text) && text.length - length <= 2 && !/[^=]/.test(text.slice(length)) && length % 4 !== 1;
	if (!valid) throw new JobFailure(`${what} must be base64, a data: URL with base64, or an address.`);
	return {
		length: Math.floor((length * 3) / 4),
		*pieces() {
			for (let at = 0; at < length; at += PIECE)
				yield Buffer.from(text.slice(at, Math.min(at + PIECE, length)), "base64");
		},
	};
}
