/** Bytes of an upload in blocks (D56). */
import fc from "fast-check";
import { expect, it } from "vitest";
import { inBlocks } from "./blocks.ts";

const SIZE = 8;

it("D56: blocks have the bytes in their order, and stay as they are until they are put, one at a time", async () => {
	const written = fc.array(fc.uint8Array({ maxLength: 3 * SIZE }), { maxLength: 8 });
	await fc.assert(
		fc.asyncProperty(written, async (pieces) => {
			const put: Buffer[] = [];
			let running = 0;
			const blocks = inBlocks(SIZE, async (block) => {
				running += 1;
				expect(running).toBe(1);
				const before = Buffer.from(block);
				await new Promise((resolve) => setImmediate(resolve));
				expect(block.equals(before)).toBe(true);
				put.push(before);
				running -= 1;
			});
			for (const piece of pieces) {
				const given = Buffer.from(piece);
				await blocks.write(given);
				// The caller may overwrite what it gave.
				given.fill(0xee);
			}
			await blocks.end();
			expect(Buffer.concat(put).equals(Buffer.concat(pieces))).toBe(true);
			expect(put.slice(0, -1).every(({ length }) => length === SIZE)).toBe(true);
		}),
		{ numRuns: 200 },
	);
});

it("D56: one block is filled while another is put; a block that fails fails the upload, the last one too", async () => {
	const failing = Promise.withResolvers<void>();
	const blocks = inBlocks(SIZE, () => failing.promise);
	await blocks.write(Buffer.alloc(2 * SIZE - 1));
	failing.reject(new Error("of the disk"));
	await expect(blocks.write(Buffer.alloc(1))).rejects.toThrow("of the disk");
	const last = inBlocks(SIZE, () => failing.promise);
	await last.write(Buffer.alloc(SIZE + 1));
	await expect(last.end()).rejects.toThrow("of the disk");
	const only = inBlocks(SIZE, () => failing.promise);
	await only.write(Buffer.alloc(1));
	await expect(only.end()).rejects.toThrow("of the disk");
});
