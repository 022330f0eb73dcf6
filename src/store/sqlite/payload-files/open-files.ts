/** Payload files that stay open, by number. */
import { type FileHandle, open, stat } from "node:fs/promises";
import { StoreUnavailable } from "../../contract/store.ts";

/** Maximum number of files that stay open without being used. */
const MOST_OPEN = 64;

export interface OpenFiles {
	open(number: number): Promise<FileHandle>;
	close(number: number): Promise<void>;
	closeAll(): Promise<void>;
}

export function openFiles({
	pathOf,
	isInUse,
}: {
	pathOf: (number: number) => string;
	isInUse: (number: number) => boolean;
}): OpenFiles {
	/** That opened first first. */
	const handles = new Map<number, Promise<FileHandle>>();

	function closeIdle(): void {
		for (const number of handles.keys()) {
			if (handles.size <= MOST_OPEN) return;
			if (!isInUse(number)) void close(number);
		}
	}

	async function close(number: number): Promise<void> {
		const handle = handles.get(number);
		handles.delete(number);
		await (await handle?.catch(() => undefined))?.close();
	}

	return {
		open(number) {
			let handle = handles.get(number);
			if (!handle) {
				handle = open(pathOf(number), "r+");
				handles.set(number, handle);
				handle.catch(() => handles.delete(number));
				closeIdle();
			}
			return handle;
		},
		close,
		async closeAll() {
			await Promise.all([...handles.keys()].map(close));
		},
	};
}

/** Throws when the path does not lead to the open file: the next start would not find it. */
export async function confirm(path: string, file: FileHandle): Promise<void> {
	const [own, named] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
	if (named?.ino === own.ino && named.dev === own.dev) return;
	throw new StoreUnavailable("moved", `${path} was deleted, moved or replaced. Put it back.`);
}
