/** What other modules do with files (`kernel/engine/stored-files.ts`). */
import { ApiError } from "../../kernel/core/errors.ts";
import type { StoredFiles } from "../../kernel/engine/stored-files.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import type { ContentPieces } from "./contents/contents.ts";
import type { FilesContext } from "./files.ts";
import { findRow, newId } from "./row.ts";

export type Lent = Omit<StoredFiles, "bounds">;

/** Modules may keep what they read. */
async function* copiesOf(pieces: ContentPieces): AsyncGenerator<Uint8Array, void> {
	for await (const piece of pieces) yield Uint8Array.from(piece);
}

export function lentFiles({ kernel, contents }: Pick<FilesContext, "kernel" | "contents">): Lent {
	/** No client waits for the answer: a lack of space is an outage of the store, after which the work goes on. */
	function admit(): void {
		try {
			kernel.space.admit();
		} catch (error) {
			if (!(error instanceof ApiError)) throw error;
			throw new StoreUnavailable("full", error.message, { cause: error });
		}
	}

	return {
		find: (endpoint, id) => findRow(kernel, { endpoint, id }),
		async open(file, range) {
			const pieces = await contents.open(file, range);
			return { [Symbol.asyncIterator]: () => copiesOf(pieces), close: () => pieces.close() };
		},

		async write(pieces) {
			admit();
			const id = newId(kernel.now(), kernel.random);
			const writer = await contents.create(id);
			let bytes = 0;
			try {
				for await (const piece of pieces) {
					admit();
					await writer.write(piece);
					bytes += piece.length;
				}
				await writer.finish();
			} catch (error) {
				await writer.drop();
				throw error;
			}
			return { id, bytes, done: () => writer.done(), drop: () => writer.drop() };
		},

		remove: (id) => contents.remove(id),
		memory: async (of) => contents.memory[of],
	};
}
