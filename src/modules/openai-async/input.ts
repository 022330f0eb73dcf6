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

/** Its bytes from `byte` on. Undefined if it does not exist any more. Throws `StoreUnavailable`. */
export async function inputFrom(
	files: StoredFiles,
	{ endpoint, input, byte }: { endpoint: string; input: string; byte: number },
): Promise<ContentReader | undefined> {
	try {
		const file = await files.find(endpoint, input);
		return await files.open(file, { start: byte, end: file.bytes });
	} catch (error) {
		if (error instanceof ApiError) return undefined;
		throw error;
	}
}
