/**
 * Notices that payload files were deleted, moved or replaced while the store is open (D17). A file that was changed in
 * place is found by the checksums of its texts.
 */
import type { BigIntStats } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { StoreUnavailable } from "../../contract/store.ts";
import { grouped } from "./grouped.ts";

const statOf = (path: string): Promise<BigIntStats | undefined> => stat(path, { bigint: true }).catch(() => undefined);

const isSame = (one: BigIntStats | undefined, other: BigIntStats | undefined): boolean =>
	one !== undefined && one.ino === other?.ino && one.dev === other.dev;

/** The check throws {@link StoreUnavailable} `moved`. A name belongs to the file that had it at the first check. */
export function filesInPlace(folder: string, needed: () => ReadonlySet<string>) {
	const known = new Map<string, BigIntStats>();
	let before: BigIntStats | undefined;
	let settled = false;

	function missing(path: string, found: BigIntStats | undefined): StoreUnavailable {
		return new StoreUnavailable(
			"moved",
			`${path} was ${found ? "replaced" : "deleted or moved"} while the service has it open; nothing is accepted, ` +
				"because large inputs and results would be lost at the next start. Move the original back, or stop the " +
				"service and restore a backup (sluice restore)",
		);
	}

	return grouped(async () => {
		const names = needed();
		for (const name of known.keys()) if (!names.has(name)) known.delete(name);
		if (names.size === 0) return;
		const found = await statOf(folder);
		// Names change only with the time of their folder, whose unit may be some ms.
		const unchanged = isSame(found, before) && found?.mtimeNs === before?.mtimeNs;
		if (unchanged && settled && [...names].every((name) => known.has(name))) return;
		before = undefined;
		if (!found) throw missing(folder, found);
		for (const name of names) {
			const path = join(folder, name);
			const file = await statOf(path);
			if (file && isSame(file, known.get(name) ?? file)) known.set(name, file);
			else if (needed().has(name)) throw missing(path, file);
		}
		before = found;
		settled = unchanged;
	});
}
