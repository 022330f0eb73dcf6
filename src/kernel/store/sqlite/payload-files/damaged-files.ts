import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { BLOCK_BYTES } from "../../../lib/json/json-text.ts";
import type { Database } from "../file/database.ts";
import { payloadFolder } from "./payload-files.ts";

const MOST_FAULTS = 3;

/** A sentence for each file that is missing or damaged (D46). */
export function damagedFiles(db: Database): string[] {
	const folder = payloadFolder(db.path);
	const texts = db.prepare("SELECT at, length, sum FROM payloads WHERE segment = ? ORDER BY at");
	return db
		.prepare("SELECT DISTINCT segment FROM payloads")
		.all()
		.flatMap(([segment]) => {
			const path = join(folder, String(segment));
			try {
				const file = openSync(path, "r");
				try {
					const wrong = (texts.all(segment!) as [number, number, number][]).filter((text) => !isWhole(file, text));
					if (wrong.length === 0) return [];
					const places = wrong.slice(0, MOST_FAULTS).map(([at]) => at);
					return [
						`${wrong.length} large payloads in ${path} are not as they were written: at byte ` +
							`${places.join(", ")}${wrong.length > MOST_FAULTS ? ", ..." : ""}.`,
					];
				} finally {
					closeSync(file);
				}
			} catch (error) {
				return [`${path} cannot be read: ${(error as Error).message}.`];
			}
		});
}

function isWhole(file: number, [at, length, sum]: [number, number, number]): boolean {
	const piece = Buffer.alloc(Math.min(length, BLOCK_BYTES));
	let found = 0;
	for (let done = 0; done < length; ) {
		const bytes = readSync(file, piece, 0, Math.min(piece.length, length - done), at + done);
		if (bytes === 0) return false;
		found = crc32(piece.subarray(0, bytes), found);
		done += bytes;
	}
	return found === sum;
}
