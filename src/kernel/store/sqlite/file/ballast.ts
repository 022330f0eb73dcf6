/**
 * A file next to the store, `<store>.ballast`, that is emptied when the disk is full, so that operations that remove
 * data can be written (D41).
 */
import { randomBytes } from "node:crypto";
import { open, rm, stat, truncate } from "node:fs/promises";
import { OWNER_FILE } from "../../../system/durable-file.ts";

const PIECE_BYTES = 2 ** 20;

/** Opens the ballast. `size`: bytes of the complete file. */
export function openBallast(store: string, size: number) {
	const path = `${store}.ballast`;
	let filled = false;

	async function held(): Promise<number> {
		return await stat(path).then(
			(found) => found.size,
			() => 0,
		);
	}

	return {
		size,
		held,

		async fill(): Promise<void> {
			if (filled || (await held()) === size) return;
			filled = true;
			await rm(path, { force: true });
			const file = await open(path, "wx", OWNER_FILE);
			try {
				// Random bytes: a file system that compresses would reserve no space for zeros.
				const piece = randomBytes(PIECE_BYTES);
				for (let left = size; left > 0; left -= piece.length) await file.writeFile(piece.subarray(0, left));
			} finally {
				await file.close();
			}
		},

		/** Empties the file. False if it did not exist or was empty. */
		async release(): Promise<boolean> {
			filled = false;
			if ((await held()) === 0) return false;
			await truncate(path);
			return true;
		},
	};
}
