/** Texts as strings, as bytes and in pieces. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asOne, stringOf } from "./json-text.ts";

const encoder = new TextEncoder();
const piece = fc.tuple(fc.string({ unit: "grapheme" }), fc.boolean()).map(([text, bytes]) => (bytes ? encoder.encode(text) : text));

describe("a text in pieces", () => {
  it("D5: is the same text in one, whatever its pieces are", () => {
    fc.assert(fc.property(fc.array(piece), (pieces) => stringOf(asOne(pieces)) === pieces.map(stringOf).join("")));
  });

  it("D5: is a string when all pieces are, so that what is small is never turned into bytes", () => {
    expect(asOne("one")).toBe("one");
    expect(asOne(["a", "b"])).toBe("ab");
    expect(asOne(["a", encoder.encode("é")])).toEqual(encoder.encode("aé"));
  });

  it("D5: a byte order mark inside a text is kept", () => {
    expect(stringOf(encoder.encode("\ufeff1"))).toBe("\ufeff1");
  });
});
