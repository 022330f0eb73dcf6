/** Pieces that are read ahead, next to the file as a whole (D56, README: Buffers). */
import fc from "fast-check";
import { expect, it } from "vitest";
import { openAhead } from "./read-ahead.ts";

const SIZE = 8;

it("D56: any range is that of the file, and a piece stays as it is until the next one is asked for", async () => {
	const file = fc.uint8Array({ minLength: 1, maxLength: 5 * SIZE });
	await fc.assert(
		fc.asyncProperty(file, fc.nat(), fc.nat(), async (bytes, one, other) => {
			const [start, end] = [one, other].map((at) => at % (bytes.length + 1)).toSorted((a, b) => a - b) as [
				number,
				number,
			];
			const pieces = await openAhead({ start, end, bytes: bytes.length, size: SIZE }, async (number, into) => {
				const piece = bytes.subarray(number * SIZE, (number + 1) * SIZE);
				expect(into.length).toBe(piece.length);
				// As the bytes of a network, which arrive whatever the caller does.
				into.fill(0xff);
				await Promise.resolve();
				into.set(piece);
			});
			const got: number[] = [];
			for await (const piece of pieces()) {
				const before = [...piece];
				await new Promise((resolve) => setImmediate(resolve));
				expect([...piece]).toEqual(before);
				got.push(...piece);
			}
			expect(got).toEqual([...bytes.subarray(start, end)]);
		}),
		{ numRuns: 200 },
	);
});

it("D56: one piece is read ahead, and none for a caller who leaves; a failure is that of its piece", async () => {
	const asked: number[] = [];
	const whole = { start: 0, end: 5 * SIZE, bytes: 5 * SIZE, size: SIZE };
	const read = async (number: number): Promise<void> => {
		asked.push(number);
		if (number === 2) throw new Error("of the third piece");
	};
	for await (const _ of (await openAhead(whole, read))()) break;
	expect(asked).toEqual([0, 1]);
	const pieces = (await openAhead(whole, read))();
	expect([(await pieces.next()).done, (await pieces.next()).done]).toEqual([false, false]);
	await expect(pieces.next()).rejects.toThrow("of the third piece");
	await expect(openAhead({ ...whole, start: 2 * SIZE }, read)).rejects.toThrow("of the third piece");
});
