/** Bodies of forms with files (RFC 7578). */
import type { RequestBody } from "./exchange.ts";

export interface Part {
	field: string;
	/** Undefined: a field without a file. */
	file?: { name: string; type: string };
	content: RequestBody;
}

/** `boundary` must be random: a file that contains it would end its part. */
export function multipart(parts: readonly Part[], boundary: string): { type: string; body: RequestBody } {
	const heads = parts.map(({ field, file }) => {
		const name = `name="${quoted(field)}"${file ? `; filename="${quoted(file.name)}"` : ""}`;
		const type = file ? `\r\nContent-Type: ${file.type}` : "";
		return Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${name}${type}\r\n\r\n`);
	});
	const end = Buffer.from(`--${boundary}--\r\n`);
	const length = parts.reduce((sum, { content }, index) => sum + heads[index]!.length + content.length + 2, end.length);
	return {
		type: `multipart/form-data; boundary=${boundary}`,
		body: {
			length,
			async *pieces() {
				for (const [index, { content }] of parts.entries()) {
					yield heads[index]!;
					yield* content.pieces();
					yield "\r\n";
				}
				yield end;
			},
		},
	};
}

/** As browsers do (HTML, "multipart form data"). */
function quoted(text: string): string {
	return text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

export function textBody(text: string): RequestBody {
	return { length: Buffer.byteLength(text), pieces: () => [text] };
}

/** A content type of a job or another server, which must not add lines to the head of a part. */
export function partType(text: unknown): string | undefined {
	return typeof text === "string" && /^[\w.+-]+\/[\w.+-]+(?:;[\x20-\x7e]*)?$/.test(text) ? text : undefined;
}
