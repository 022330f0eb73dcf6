/** Reads a body of XML (D59). */
import { hold } from "../../../kernel/http/memory/call-memory.ts";
import { outside } from "../../../kernel/http/exchange/call.ts";
import { S3Error } from "../errors.ts";
import type { S3Request } from "./request.ts";

/** 1,000 keys of 1,024 bytes each, with escapes; 10,000 parts with checksums. */
const MOST_BYTES = 4 * 2 ** 20;

/** Throws `MalformedXML` beyond 4 MiB. */
export async function readText(request: S3Request): Promise<string> {
	const { call } = request;
	const { content, declared } = request.payload();
	const tooLong = (): S3Error => new S3Error("MalformedXML", `The body has more than ${MOST_BYTES} bytes.`);
	if ((declared ?? 0) > MOST_BYTES) throw tooLong();
	await outside(call, hold(call, 2 * (declared ?? MOST_BYTES)) ?? Promise.resolve());
	const pieces: Buffer[] = [];
	let bytes = 0;
	for await (const piece of content) {
		bytes += piece.length;
		if (bytes > MOST_BYTES) throw tooLong();
		pieces.push(piece);
	}
	return Buffer.concat(pieces).toString();
}
