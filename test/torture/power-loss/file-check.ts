/** Files after a loss of power: rows, bytes and totals against what was acknowledged (D56). */
import { readdir } from "node:fs/promises";
import type { FileRow } from "../../../src/kernel/store/contract/files.ts";
import type { Store } from "../../../src/kernel/store/contract/store.ts";
import { filesFolder } from "../../../src/kernel/store/sqlite/file/files-folder.ts";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { folderContents } from "../../../src/modules/files/contents/folder.ts";
import type { FileContents } from "../../../src/modules/files/contents/contents.ts";
import { T0 } from "../../store/site.ts";
import type { ExpectedFile } from "./expected.ts";
import { hashOf } from "./file-store.ts";

/** By name. */
export type KnownFiles = ReadonlyMap<string, ExpectedFile>;

const LIMIT = 10_000;

/**
 * `path` is that of the database, `others` are files of batches and objects. Totals of all endpoints are checked, also
 * of those without files. What is wrong; empty when nothing is.
 */
export async function wrongFiles(
	path: string,
	store: Pick<Store, "files">,
	{ files: known, others }: { files: KnownFiles; others: readonly FileRow[] },
): Promise<string[]> {
	const folder = filesFolder(path);
	const contents = folderContents(folder, store.files, systemClock);
	// All that no row refers to, however new.
	await contents.sweep(-Infinity);
	const wrong: string[] = [];
	const found = new Map<string, FileRow>();
	const totals = await store.files.totals();
	const ofOthers = new Map(others.map((row) => [row.id, row]));
	for (const endpoint of new Set([...known.values(), ...others, ...totals].map((each) => each.endpoint))) {
		const { files: listed } = await store.files.list({ endpoint, order: "asc", limit: LIMIT, now: T0 });
		const files = listed.filter(({ id }) => !ofOthers.has(id));
		for (const row of files) found.set(row.name, row);
		const all = [...files, ...[...ofOthers.values()].filter((each) => each.endpoint === endpoint)];
		const total = totals.find((each) => each.endpoint === endpoint);
		const bytes = all.reduce((sum, each) => sum + each.bytes, 0);
		if ((total?.files ?? 0) !== all.length || (total?.bytes ?? 0) !== bytes)
			wrong.push(
				`${all.length} files of ${endpoint} are counted as ${total?.files}, ${bytes} bytes as ${total?.bytes}`,
			);
	}
	for (const expected of known.values())
		if (expected.state === "stored" && found.get(expected.name)?.id !== expected.id)
			wrong.push(`file ${expected.name} is lost`);
	for (const row of found.values()) wrong.push(...(await wrongOf(contents, row, known.get(row.name))));
	const left = await readdir(folder.path).catch(() => []);
	const ids = new Set([...others, ...found.values()].map(({ id }) => id));
	const unknown = left.filter((name) => !ids.has(name));
	if (unknown.length > 0) wrong.push(`the sweep leaves ${unknown.join()}`);
	return wrong;
}

async function wrongOf(contents: FileContents, row: FileRow, expected: ExpectedFile | undefined): Promise<string[]> {
	const { name, bytes } = row;
	if (!expected) return [`file ${name} was never sent`];
	if (expected.state === "deleted") return [`file ${name} is back`];
	try {
		const pieces: Uint8Array[] = [];
		const content = await contents.open(row, { start: 0, end: bytes });
		for await (const piece of content) pieces.push(piece);
		await content.close();
		return hashOf(Buffer.concat(pieces)) === expected.hash ? [] : [`file ${name} has other bytes`];
	} catch (error) {
		return [`file ${name} is not whole: ${(error as Error).message}`];
	}
}
