/** The bytes of a text in a file. */
import type { FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { BLOCK_BYTES, type JsonBlocks, sizeOf } from "../../../core/json/json-text.ts";

/** CRC-32. */
export async function checksum(text: JsonBlocks): Promise<number> {
	return text.reduce((value, block) => crc32(block, value), 0);
}

export async function writeAll(handle: FileHandle, text: JsonBlocks, at: number): Promise<void> {
	const length = sizeOf(text);
	const { bytesWritten } = await handle.writev([...text], at);
	if (bytesWritten === length) return;
	// A full disk takes a part; the next write says why.
	for (let done = bytesWritten, from = 0, n = 0; n < text.length; from += text[n]!.length, n += 1) {
		const block = text[n]!;
		while (done < from + block.length)
			done += (await handle.write(block, done - from, undefined, at + done)).bytesWritten;
	}
}

/** The file ends within the text. */
export class CutOff extends Error {}

/** Throws {@link CutOff}, or the error of the system. */
export async function readAll(handle: FileHandle, { at, length }: { at: number; length: number }): Promise<Buffer[]> {
	const text: Buffer[] = [];
	for (let left = length; left > 0; left -= BLOCK_BYTES) text.push(Buffer.allocUnsafeSlow(Math.min(left, BLOCK_BYTES)));
	if (length === 0) return text;
	const { bytesRead } = await handle.readv(text, at);
	if (bytesRead === length) return text;
	throw new CutOff(`it ends after ${at + bytesRead} bytes`);
}
