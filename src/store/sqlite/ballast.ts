/**
 * A file beside the store, `<store>.ballast`, whose space no other program can take: it is given up
 * when the disk is full, so that what removes data can be written (D41).
 */
import { randomBytes } from "node:crypto";
import { open, rm, stat, truncate } from "node:fs/promises";
import { OWNER_FILE } from "../../durable-file.ts";

const PIECE_BYTES = 2 ** 20;

export interface Ballast {
	/** Its size when it is complete, bytes. */
	readonly size: number;
	/** Its size now, bytes. */
	held(): Promise<number>;
	/** Makes it complete, once until it is released. */
	fill(): Promise<void>;
	/** Gives its space back. Returns false when it had none. */
	release(): Promise<boolean>;
}

export function openBallast(store: string, size: number): Ballast {
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
		async fill() {
			if (filled || (await held()) === size) return;
			filled = true;
			await rm(path, { force: true });
			const file = await open(path, "wx", OWNER_FILE);
			try {
				// Not zeros: a file system that compresses would keep no space for them.
				const piece = randomBytes(PIECE_BYTES);
				for (let left = size; left > 0; left -= piece.length) await file.writeFile(piece.subarray(0, left));
			} finally {
				await file.close();
			}
		},
		async release() {
			filled = false;
			if ((await held()) === 0) return false;
			await truncate(path);
			return true;
		},
	};
}
