/** Rows of a binary COPY as PostgreSQL sends them. */
import { expect, it } from "vitest";
import { valueOf } from "./copy-out.ts";

const HEAD = Buffer.concat([Buffer.from("PGCOPY\n\xff\r\n\0", "latin1"), Buffer.alloc(8)]);
const END = Buffer.from([0xff, 0xff]);

function row(...values: string[]): Buffer {
	const bytes = Buffer.alloc(2);
	bytes.writeInt16BE(values.length);
	const cells = values.flatMap((value) => {
		const length = Buffer.alloc(4);
		length.writeInt32BE(value.length);
		return [length, Buffer.from(value)];
	});
	return Buffer.concat([bytes, ...cells]);
}

it("finds the value of a row, behind the head and its extension too, and the end", () => {
	expect(String(valueOf(Buffer.concat([HEAD, row("first")]), true))).toBe("first");
	expect(String(valueOf(row("second"), false))).toBe("second");
	expect(valueOf(row(""), false)).toHaveLength(0);
	const extended = Buffer.concat([HEAD, Buffer.from("more"), row("first")]);
	extended.writeInt32BE(4, HEAD.length - 4);
	expect(String(valueOf(extended, true))).toBe("first");
	expect(valueOf(END, false)).toBeUndefined();
	expect(valueOf(Buffer.concat([HEAD, END]), true)).toBeUndefined();
	expect(valueOf(HEAD, true)).toBeUndefined();
});

it("refuses what is not one value", () => {
	for (const message of [row("a", "b"), row(), row("a").subarray(0, 6), Buffer.concat([row("a"), row("b")])])
		expect(() => valueOf(message, false)).toThrow("not one value");
	expect(() => valueOf(row("first"), true)).toThrow("no binary COPY");
});
