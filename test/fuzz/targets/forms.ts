/**
 * Forms, however they are cut: well-formed ones have the same parts, all others keep to the bounds, and each gets an
 * answer. A boundary with one dash behind it may end a form or not, by the place of the cut (busboy 3.2.6).
 */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import fc from "fast-check";
import type { Call } from "../../../src/kernel/http/exchange/call.ts";
import { ApiError } from "../../../src/kernel/core/errors.ts";
import { readForm } from "../../../src/kernel/http/exchange/form.ts";
import { bytesOf, natural, oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

const LIMITS = { bytes: 4096, fields: 3, fieldBytes: 40, files: 2, fileBytes: 200 };

/** Parts as texts, or the code of a refusal. */
async function read(bytes: Buffer, sizes: readonly number[]): Promise<unknown> {
	const pieces: Buffer[] = [];
	for (let at = 0, n = 0; at < bytes.length; n += 1) {
		const size = 1 + (natural(sizes[n % sizes.length] ?? 0) % 16);
		pieces.push(bytes.subarray(at, at + size));
		at += size;
	}
	const req = Object.assign(Readable.from(pieces, { objectMode: false }), {
		headers: { "content-type": "multipart/form-data; boundary=b" },
		setTimeout: () => {},
		complete: true,
	}) as unknown as IncomingMessage;
	const engine = { now: () => 0, budgets: { readTimeout: { limit: 1000 } } };
	const call = { req, engine } as unknown as Call;
	const found: string[] = [];
	try {
		for await (const part of readForm(call, LIMITS)) {
			must(part.name.length <= 256, "a long name");
			if ("content" in part) {
				const content = Buffer.concat(await part.content.toArray());
				must(content.length <= LIMITS.fileBytes, "a large file");
				found.push(`${part.name}|${part.fileName}|${part.type}|${content.toString("latin1")}`);
			} else {
				must(Buffer.byteLength(part.value, "latin1") <= LIMITS.fieldBytes, "a large field");
				found.push(`${part.name}|${part.value}`);
			}
		}
	} catch (error) {
		if (!(error instanceof ApiError)) throw error;
		return error.code;
	}
	must(found.length <= LIMITS.fields + LIMITS.files, "many parts");
	return found;
}

const line = fc.oneof(
	{
		weight: 3,
		arbitrary: fc.constantFrom(
			...["--b", "--b--", "--b-", "", "--", "Content-Type: text/plain; charset=utf-16le"],
			...['Content-Disposition: form-data; name="a"', 'Content-Disposition: form-data; name="f"; filename="x.png"'],
			...["Content-Disposition: form-data; name*=utf-8''%ff", "Content-Transfer-Encoding: base64"],
		),
	},
	{ weight: 1, arbitrary: oddText },
);

export const FORMS = target({
	name: "forms",
	sources: ["kernel/http/exchange/form"],
	cases: fc.record({
		lines: fc.array(fc.tuple(line, fc.constantFrom("\r\n", "\r\n", "\n", "\r", "")), { maxLength: 14 }),
		sizes: fc.array(fc.nat(16), { maxLength: 6 }),
	}),
	async check(q) {
		const texts = q.lines.map((each) => each.map(String).join(""));
		await read(bytesOf(`--b\r\n${texts.join("")}`), q.sizes);
		// No content has the boundary.
		const contents = texts
			.slice(0, LIMITS.files)
			.map((text) => bytesOf(text).toString("latin1").replaceAll("b", "c").slice(0, LIMITS.fileBytes));
		const files = contents.map(
			(text, at) => `--b\r\nContent-Disposition: form-data; name="${at}"; filename="f"\r\n\r\n${text}\r\n`,
		);
		same(
			"parts",
			await read(bytesOf(`${files.join("")}--b--\r\n`), q.sizes),
			contents.map((text, at) => `${at}|f|text/plain|${text}`),
		);
	},
});
