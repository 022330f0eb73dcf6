/**
 * Locations of large payloads in payload files; the database and its thread store nothing else of them (decision 0014).
 */
import type { JsonBlocks, JsonText } from "../../../lib/json/json-text.ts";

/** The location of a payload. `sum`: CRC-32. */
export interface FileBlock {
	segment: number;
	at: number;
	length: number;
	sum: number;
}

/** Returns a location as a JSON text, a form that only the store uses. */
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
