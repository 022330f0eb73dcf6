/** The folder with the bytes of uploaded files, `<store>.files` (D56). The module that writes them follows the rows. */
import { open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FilesFolder } from "../../contract/files.ts";
import type { CopiedFile } from "../../contract/store.ts";
import { piecesOf } from "./file-pieces.ts";

/** Names of complete files. */
const NAME = /^file-[0-9a-f]{32}$/;

export interface HeldFolder {
	/** Complete files, each with its bytes. */
	files(): Promise<CopiedFile[]>;
	release(): void;
}

export function filesFolder(store: string): FilesFolder & { hold(): HeldFolder } {
	const path = `${store}.files`;
	let holders = 0;
	const waiting = new Set<string>();
	const removeNow = (name: string): Promise<void> => rm(join(path, name), { force: true });

	return {
		path,
		async remove(name) {
			if (holders > 0) waiting.add(name);
			else await removeNow(name);
		},
		hold() {
			holders += 1;
			let isHeld = true;
			return {
				files: async () => await Promise.all((await namesIn(path)).map((name) => copied(path, name))),
				release() {
					if (!isHeld) return;
					isHeld = false;
					holders -= 1;
					if (holders > 0) return;
					// The sweep finds what cannot be removed now.
					for (const name of waiting) void removeNow(name).catch(() => {});
					waiting.clear();
				},
			};
		},
	};
}

async function namesIn(folder: string): Promise<string[]> {
	const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return [];
		throw error;
	});
	return names.filter((name) => NAME.test(name));
}

async function copied(folder: string, name: string): Promise<CopiedFile> {
	const path = join(folder, name);
	const { size } = await stat(path);
	return {
		name: `files/${name}`,
		bytes: size,
		async *read() {
			const file = await open(path, "r");
			try {
				yield* piecesOf(file, size);
			} finally {
				await file.close();
			}
		},
	};
}
