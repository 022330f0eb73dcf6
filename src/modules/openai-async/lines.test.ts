import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LINE_BYTES, type Line, linesFrom, requestIn } from "./lines.ts";

async function* cutAt(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
	let at = 0;
	for (const size of sizes) {
		yield bytes.slice(at, at + size);
		at += size;
	}
	yield bytes.slice(at);
}

async function linesOf(bytes: Uint8Array, sizes: readonly number[] = []): Promise<Line[]> {
	return await Array.fromAsync(linesFrom(cutAt(bytes, sizes), { line: 1, byte: 0 }));
}

const text = ({ bytes }: Line): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

describe("lines of a file", () => {
	it("are the same however the bytes are cut, and begin where they say", async () => {
		const content = fc.array(fc.constantFrom("a", "é", "\n", "\r\n", " ", "\ufeff", "b\n\n"), { maxLength: 30 });
		await fc.assert(
			fc.asyncProperty(content, fc.array(fc.nat(9), { maxLength: 40 }), async (parts, sizes) => {
				const file = parts.join("");
				const bytes = new TextEncoder().encode(file);
				const found = await linesOf(bytes, sizes);
				const all = file.replace(/^\ufeff/, "").split("\n");
				const expected = all.flatMap((line, at) => (/^[ \t\r]*$/.test(line) ? [] : [{ line: at + 1, text: line }]));
				expect(found.map((each) => ({ line: each.line, text: text(each) }))).toEqual(expected);
				for (const { line, byte } of found) {
					const [again] = await Array.fromAsync(linesFrom(cutAt(bytes.subarray(byte), [3]), { line, byte }));
					expect(again).toEqual(found.find((each) => each.line === line));
				}
			}),
		);
	});

	it("of more than 20 MiB have no bytes, and the next one is found", async () => {
		const long = new Uint8Array(LINE_BYTES + 1).fill(0x61);
		const bytes = Buffer.concat([long, Buffer.from("\nb")]);
		const [first, second] = await linesOf(bytes, [LINE_BYTES - 5, 3, 9]);
		expect([first!.bytes, first!.line, second!.line, text(second!)]).toEqual([undefined, 1, 2, "b"]);
	});
});

it("a body of exactly the depth that workers can read is a request", async () => {
	const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
	const line = (depth: number): string => `{"custom_id":"x","method":"POST","url":"/v1/x","body":${nested(depth)}}`;
	const [fits] = await linesOf(Buffer.from(line(499)));
	expect(await requestIn(fits!, "/v1/x")).toEqual({ customId: "x", body: nested(499) });
	const [deeper] = await linesOf(Buffer.from(line(500)));
	expect(await requestIn(deeper!, "/v1/x")).toMatchObject({ code: "invalid_json_line" });
});
