/**
 * A large text in the store of SQLite: between the service's thread and the database thread, and in
 * the database, only its place in a payload file (decision 0014).
 */
import type { JsonBlocks, JsonText } from "../../../core/json/json-text.ts";

/** Bytes `at` to `at` + `length` of a payload file. `sum`: their CRC-32. */
export interface FileBlock {
	segment: number;
	at: number;
	length: number;
	sum: number;
}

/** The form of a text in the store. Outside of the store no block is a {@link FileBlock}. */
export function textInFile(block: FileBlock): JsonText {
	return [block] as unknown as JsonBlocks;
}

/** A block of a text in the store. */
export function isInFile(block: Uint8Array | FileBlock): block is FileBlock {
	return !(block instanceof Uint8Array);
}

/** The place of a text that is in a file; undefined for one that is not. */
export function placeOf(text: JsonText | undefined): FileBlock | undefined {
	if (text === undefined || typeof text === "string") return undefined;
	const block = text[0] as Uint8Array | FileBlock | undefined;
	return text.length === 1 && block && isInFile(block) ? block : undefined;
}
