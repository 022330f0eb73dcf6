/** Bytes of files in rows of 1 MiB of the PostgreSQL store, so that servers share nothing but the database. */
import { ApiError } from "../../../kernel/core/errors.ts";
import { PIECE_BYTES, type PieceStore } from "../../../kernel/store/contract/files.ts";
import { StoreUnavailable } from "../../../kernel/store/contract/store.ts";
import { ERRORS } from "../errors.ts";
import { inBlocks } from "./blocks.ts";
import type { FileContents } from "./contents.ts";
import { openAhead } from "./read-ahead.ts";

/** Memory of a call: two pieces, and in an upload what the driver makes of one, in a download the rows that arrive. */
const MEMORY = 4 * PIECE_BYTES;

export function rowContents(pieces: PieceStore, now: () => number): FileContents {
	const missing = (file: string): ApiError => new ApiError(ERRORS.file_missing, { file });
	return {
		memory: { upload: MEMORY, download: MEMORY },
		async create(file) {
			let number = 0;
			const blocks = inBlocks(PIECE_BYTES, async (bytes) => {
				await pieces.put({ file, number, bytes, now: now() });
				number += 1;
			});
			return {
				write: blocks.write,
				async finish() {
					await blocks.end();
					// The sweep takes an upload for given up that has written nothing for an hour.
					if ((await pieces.touch({ file, now: now() })) === number) return;
					throw new StoreUnavailable(
						"unreachable",
						"Bytes of the upload were removed, since it had paused for over an hour.",
					);
				},
				done() {},
				// The sweep finds what cannot be removed now.
				drop: () => pieces.remove({ file }).catch(() => {}),
			};
		},

		async open({ id, bytes }, range) {
			const opened = await openAhead({ ...range, bytes, size: PIECE_BYTES }, async (number, into) => {
				if ((await pieces.get({ file: id, number, into })) !== into.length) throw missing(id);
			});
			return { [Symbol.asyncIterator]: opened, close: async () => {} };
		},

		remove: (file) => pieces.remove({ file }).catch(() => {}),

		async sweep(ageMs) {
			while ((await pieces.sweep({ before: now() - ageMs })) > 0);
		},
	};
}
