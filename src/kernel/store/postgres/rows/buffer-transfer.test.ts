/** Large texts from the database become blocks without a byte changed. */
import { expect, it } from "vitest";
import { BLOCK_BYTES, LARGE_BYTES } from "../../../lib/json/json-text.ts";
import { jsonTextOf } from "./buffer-transfer.ts";

/** One to four bytes a character; the sizes let block edges fall into each of them. */
const TEXTS = ["x", "é", "€", "😀", "aé€😀"].flatMap((part) =>
	[0, 1, 2, 3].map((shift) => "x".repeat(shift) + part.repeat(Math.ceil((BLOCK_BYTES + 20) / Buffer.byteLength(part)))),
);

it.each(TEXTS.map((text, index) => [index, text] as const))(
	"D5: a large text in blocks is the same bytes: text %i",
	(_, text) => {
		const blocks = jsonTextOf(text);
		if (typeof blocks === "string") throw new Error("A large text came as a string.");
		expect(Buffer.concat(blocks).equals(Buffer.from(text))).toBe(true);
		expect(blocks.length).toBeGreaterThan(1);
		expect(Math.max(...blocks.map(({ length }) => length))).toBeLessThanOrEqual(BLOCK_BYTES);
		expect(new Set(blocks.map(({ buffer }) => buffer)).size).toBe(blocks.length);
	},
);

it("D5: bytes decide, not characters", () => {
	expect(jsonTextOf("")).toBe("");
	expect(typeof jsonTextOf("x".repeat(LARGE_BYTES - 1))).toBe("string");
	expect(jsonTextOf("x".repeat(LARGE_BYTES))).toHaveLength(1);
	expect(jsonTextOf("€".repeat(LARGE_BYTES / 3 + 1))).toHaveLength(1);
});
