/** The input file of a batch (D57). */
import { ApiError } from "../../kernel/core/errors.ts";
import type { ContentReader, StoredFiles } from "../../kernel/engine/stored-files.ts";
import type { InputFault } from "./progress.ts";

export const MISSING_INPUT: InputFault = {
	code: "input_file_missing",
	line: null,
	message: "The input file was deleted, has expired, or its bytes are missing in the store.",
	param: "input_file_id",
};

/** The store has not all bytes of the input. */
class LostInput extends Error {}

/** Resolves with undefined if the store has lost what is read. */
export const unlessLost = <T>(read: Promise<T>): Promise<T | undefined> =>
	read.catch((error: unknown) => {
		if (error instanceof LostInput) return undefined;
		throw error;
	});

/**
 * Its bytes from `byte` on, to be read within {@link unlessLost}. Undefined if it does not exist any more. Throws
 * `StoreUnavailable`.
 */
export async function inputFrom(
	files: StoredFiles,
	{ endpoint, input, byte }: { endpoint: string; input: string; byte: number },
): Promise<ContentReader | undefined> {
	try {
		const file = await files.find(endpoint, input);
		const reader = await files.open(file, { start: byte, end: file.bytes });
		return { [Symbol.asyncIterator]: () => piecesOf(reader), close: () => reader.close() };
	} catch (error) {
		if (error instanceof ApiError) return undefined;
		throw error;
	}
}

async function* piecesOf(reader: ContentReader): AsyncGenerator<Uint8Array> {
	try {
		yield* reader;
	} catch (error) {
		throw error instanceof ApiError ? new LostInput(error.message, { cause: error }) : error;
	}
}
