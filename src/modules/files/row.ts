/** Finds rows of files, and makes ids for new ones. */
import { ApiError } from "../../kernel/core/errors.ts";
import { type Random, uuidv7 } from "../../kernel/lib/ids.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { FileRow } from "../../kernel/store/contract/files.ts";
import { ERRORS } from "./errors.ts";

export function newId(createdAt: number, random: Random): string {
	return `file-${uuidv7(createdAt, random).replaceAll("-", "")}`;
}

/** Throws `file_not_found`. */
export async function findRow(
	{ store, now }: Pick<Kernel, "now" | "store">,
	{ endpoint, id }: { endpoint: string; id: string },
): Promise<FileRow> {
	return found(await store.files.find({ endpoint, id, now: now() }), { endpoint, id });
}

/** Throws `file_not_found` without a row. */
export function found(row: FileRow | undefined, { endpoint, id }: { endpoint: string; id: string }): FileRow {
	if (row) return row;
	throw new ApiError(ERRORS.file_not_found, { file: id.slice(0, 80), endpoint });
}
