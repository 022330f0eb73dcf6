import fc from "fast-check";
import { expect, it } from "vitest";
import { plainEnd } from "./plain-text.ts";

/** The same, byte by byte. */
function naive(bytes: Uint8Array, start: number): number {
	let at = start;
	while (at < bytes.length) {
		const byte = bytes[at]!;
		if (byte < 0x20 || byte > 0x7f || byte === 0x22 || byte === 0x5c) break;
		at += 1;
	}
	return at;
}

it("D5: every byte at every place of a word is found, wherever the text begins in memory", () => {
	for (let offset = 0; offset < 4; offset += 1)
		for (const at of [0, 1, 63, 64, 65, 66, 67, 68, 80, 157, 158, 159])
			for (let byte = 0; byte < 256; byte += 1) {
				const bytes = new Uint8Array(new ArrayBuffer(200), offset, 160).fill(0x41);
				bytes[at] = byte;
				expect(plainEnd(bytes, 0), `byte ${byte} at ${at}`).toBe(naive(bytes, 0));
			}
});

it("D5: any text ends where it ends byte by byte", () => {
	const text = fc.array(
		fc.oneof(
			{ weight: 40, arbitrary: fc.integer({ min: 0x20, max: 0x7f }) },
			{ weight: 1, arbitrary: fc.nat({ max: 255 }) },
		),
		{ maxLength: 400 },
	);
	fc.assert(
		fc.property(text, fc.nat({ max: 400 }), fc.nat({ max: 3 }), (list, start, offset) => {
			const bytes = new Uint8Array(new ArrayBuffer(list.length + 4), offset, list.length);
			bytes.set(list);
			const from = Math.min(start, list.length);
			expect(plainEnd(bytes, from)).toBe(naive(bytes, from));
		}),
		{ numRuns: 3000 },
	);
});
