/** The database and its thread have only the place of a large text in a payload file (decision 0014). */
import type { JsonBlocks, JsonText } from "../../../lib/json/json-text.ts";

/** `sum`: CRC-32. */
export interface FileBlock {
	segment: number;
	at: number;
	length: number;
	sum: number;
}

/** The form of a text inside the store only. */
export function textInFile(block: FileBlock): JsonText {
	return [block] as unknown as JsonBlocks;
}

export function isInFile(block: Uint8Array | FileBlock): block is FileBlock {
	return !(block instanceof Uint8Array);
}

export function placeOf(text: JsonText | undefined): FileBlock | undefined {
	if (text === undefined || typeof text === "string") return undefined;
	const block = text[0] as Uint8Array | FileBlock | undefined;
	return text.length === 1 && block && isInFile(block) ? block : undefined;
}
