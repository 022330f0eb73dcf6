/** Objects after a loss of power (D59): each key has one of the contents that it may have, and uploads their parts. */
import type { FileRow, FilesFolder } from "../../../src/kernel/store/contract/files.ts";
import type { ContentPart, PartRow, UploadRow } from "../../../src/kernel/store/contract/objects.ts";
import type { Store } from "../../../src/kernel/store/contract/store.ts";
import { systemClock } from "../../../src/kernel/system/clock.ts";
import { folderContents } from "../../../src/modules/files/contents/folder.ts";
import { T0 } from "../../store/site.ts";
import type { ExpectedObject, ExpectedUpload } from "./expected.ts";
import { hashOf } from "./file-store.ts";
import { BUCKET, etagOf } from "./object-store.ts";

/** By key and by id. */
export interface KnownObjects {
	objects: ReadonlyMap<string, ExpectedObject>;
	uploads: ReadonlyMap<string, ExpectedUpload>;
}

const LIMIT = 1000;

/** What is wrong with them, and the rows of their files. */
export async function checkObjects(
	folder: FilesFolder,
	{ objects, files }: Pick<Store, "objects" | "files">,
	known: KnownObjects,
): Promise<{ wrong: string[]; files: FileRow[] }> {
	const contents = folderContents(folder, files, systemClock);
	const wrong: string[] = [];
	const rows = new Map<string, FileRow>();

	async function bytesOf(endpoint: string, parts: readonly ContentPart[]): Promise<Buffer> {
		const pieces: Uint8Array[] = [];
		for (const { file, bytes } of parts) {
			const row = await files.find({ endpoint, id: file, now: T0 });
			if (!row) throw new Error(`${file} has no row`);
			rows.set(file, row);
			const content = await contents.open(row, { start: 0, end: bytes });
			// They are used again for the next ones.
			for await (const piece of content) pieces.push(Uint8Array.from(piece));
			await content.close();
		}
		return Buffer.concat(pieces);
	}

	async function checkObject({ object: key, endpoint, may }: ExpectedObject): Promise<void> {
		const found = await objects.find({ endpoint, bucket: BUCKET, key, now: T0 });
		if (!found) return may.includes(null) ? undefined : void wrong.push(`object ${key} is lost`);
		if (may.every((each) => each === null)) return void wrong.push(`object ${key} is back`);
		try {
			const hash = hashOf(await bytesOf(endpoint, found.parts));
			if (!may.includes(hash)) wrong.push(`object ${key} has other bytes`);
		} catch (error) {
			wrong.push(`object ${key} is not whole: ${(error as Error).message}`);
		}
	}

	async function checkPart({ id, endpoint }: UploadRow, part: PartRow): Promise<void> {
		try {
			if (etagOf(await bytesOf(endpoint, [part])) !== part.etag)
				wrong.push(`part ${part.number} of ${id} has other bytes`);
		} catch (error) {
			wrong.push(`part ${part.number} of ${id} is not whole: ${(error as Error).message}`);
		}
	}

	async function checkUpload(row: UploadRow, expected: ExpectedUpload | undefined): Promise<void> {
		const parts = await objects.parts({ upload: row.id, after: 0, limit: LIMIT });
		for (const part of parts) await checkPart(row, part);
		if (expected?.state === "ended") wrong.push(`upload ${row.id} is back`);
		if (expected?.state !== "open") return;
		for (const [number, etag] of expected.parts)
			if (!parts.some((each) => each.number === number && each.etag === etag))
				wrong.push(`part ${number} of ${row.id} is lost`);
	}

	for (const expected of known.objects.values()) await checkObject(expected);
	const open = new Map<string, UploadRow>();
	for (const endpoint of new Set([...known.objects.values(), ...known.uploads.values()].map((each) => each.endpoint)))
		for (const row of await objects.uploads({
			...{ endpoint, bucket: BUCKET, prefix: "", after: { key: "", id: "" }, limit: LIMIT },
		}))
			open.set(row.id, row);
	for (const row of open.values()) await checkUpload(row, known.uploads.get(row.id));
	for (const { upload, state } of known.uploads.values())
		if (state === "open" && !open.has(upload)) wrong.push(`upload ${upload} is lost`);
	return { wrong, files: [...rows.values()] };
}
