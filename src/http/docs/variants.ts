/**
 * A document with placeholders, kept as bytes. Answers share its pieces; the variants that clients
 * read most are kept compressed, so that neither time nor memory grows with the requests.
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Cacheable, Coding } from "../cached-answer.ts";

/** Variants with compressed copies: more need many addresses. */
const KEPT = 8;

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

/** `placeholders` are replaced by the values of a variant, in the same order. */
export function variantsOf(text: string, placeholders: readonly string[]): (values: readonly string[]) => Cacheable {
	const hash = createHash("sha256").update(text).digest("base64url").slice(0, 16);
	const parts = placeholders
		.reduce(
			(pieces, placeholder) =>
				pieces.flatMap((piece) =>
					piece.split(placeholder).flatMap((part, at) => (at === 0 ? [part] : [placeholder, part])),
				),
			[text],
		)
		.map((part) => ({ at: placeholders.indexOf(part), bytes: Buffer.from(part) }));
	const kept = new Map<string, Cacheable>();

	function assembled(values: readonly string[]): Cacheable {
		const own = values.map((value) => Buffer.from(value));
		const key = createHash("sha256").update(JSON.stringify(values)).digest("base64url");
		return {
			tag: hash + key.slice(0, 8),
			pieces: parts.map(({ at, bytes }) => own[at] ?? bytes),
			packed: new Map(),
		};
	}

	return (values) => {
		const key = values.join("\n");
		const known = kept.get(key);
		if (known) return known;
		const made = assembled(values);
		if (kept.size < KEPT) {
			const bytes = Buffer.concat(made.pieces);
			const packed = new Map<Coding, Buffer>();
			const variant = { tag: made.tag, pieces: [bytes], packed };
			kept.set(key, variant);
			void promisify(gzip)(bytes).then((copy) => packed.set("gzip", copy));
			void promisify(brotliCompress)(bytes, BROTLI).then((copy) => packed.set("br", copy));
		}
		return made;
	};
}
