/** Texts as strings, as blocks and in pieces. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asOne, cut, type JsonText, piecesOf, release, share, sizeOf, stringOf } from "./json-text.ts";

const encoder = new TextEncoder();

/** Blocks of `bytes`, cut anywhere: also inside a character. */
function blocksOf(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
	const edges = [0, ...cuts.map((at) => at % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
	return edges.slice(1).map((end, index) => bytes.slice(edges[index], end));
}

const blocks = fc
	.tuple(fc.string({ unit: "grapheme" }), fc.array(fc.nat()))
	.map(([text, cuts]) => ({ text, blocks: blocksOf(encoder.encode(text), cuts) }));
const either: fc.Arbitrary<{ text: string; given: JsonText }> = fc
	.tuple(blocks, fc.boolean())
	.map(([each, large]) => ({ text: each.text, given: large ? each.blocks : each.text }));

describe("a text in blocks", () => {
	it("D5: is the same text wherever its blocks are cut, and in one with others around it", () => {
		fc.assert(
			fc.property(fc.array(either), (texts) => {
				const one = asOne(piecesOf(...texts.map(({ given }) => given)));
				expect(stringOf(one)).toBe(texts.map(({ text }) => text).join(""));
			}),
		);
	});

	it("D5: a part of it is its bytes, and the blocks are not copied", () => {
		fc.assert(
			fc.property(blocks, fc.nat(), fc.nat(), (given, a, b) => {
				const bytes = encoder.encode(given.text);
				const [start, end] = [a, b].map((at) => at % (bytes.length + 1)).toSorted((x, y) => x - y) as [number, number];
				const part = cut(given.blocks, start, end);
				expect(Buffer.concat(part).equals(bytes.subarray(start, end))).toBe(true);
				expect(
					part.every((block) => block.length > 0 && given.blocks.some(({ buffer }) => buffer === block.buffer)),
				).toBe(true);
			}),
		);
	});

	it("D5: is a string when all pieces are, so that what is small is never turned into bytes", () => {
		expect(asOne("one")).toBe("one");
		expect(piecesOf("a", "b")).toBe("ab");
		expect(asOne(piecesOf("a", [encoder.encode("é")]))).toEqual([encoder.encode("a"), encoder.encode("é")]);
	});

	it("has the characters of a string or the bytes of its blocks", () => {
		expect(sizeOf("aé")).toBe(2);
		expect(sizeOf([encoder.encode("aé"), encoder.encode("b")])).toBe(4);
	});

	it("D5: a byte order mark inside a text is kept", () => {
		expect(stringOf([encoder.encode("\ufeff1")])).toBe("\ufeff1");
	});

	it("D41: one that is shared is freed by its last reader, at once without readers", () => {
		const text = [encoder.encode("aé"), encoder.encode("b")];
		share(text, 2);
		release(text);
		expect(stringOf(text)).toBe("aéb");
		release(text);
		expect(sizeOf(text)).toBe(0);
		const unread = [encoder.encode("a")];
		share(unread, 0);
		expect(sizeOf(unread)).toBe(0);
	});
});
