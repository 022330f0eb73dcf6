/**
 * Large texts in files beside the database, `<store>.payloads/<number>` (decision 0047): each is
 * written once, one behind another, and flushed before the row that refers to it is committed. A
 * file without such rows is written again from the start under another number: overwriting costs
 * the disk a fraction of new space.
 */
import { constants } from "node:fs";
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type JsonBlocks, sizeOf } from "../../../core/json/json-text.ts";
import { makeFolder, OWNER_FILE, requireKind } from "../../../durable-file.ts";
import type { CopiedFile } from "../../contract/backup.ts";
import { StoreUnavailable } from "../../contract/store.ts";
import { FlushFailed, whyFull } from "../disk-errors.ts";
import { piecesOf } from "../file-pieces.ts";
import { grouped } from "./grouped.ts";
import type { FileBlock } from "./file-block.ts";
import { filesInPlace } from "./files-in-place.ts";
import { confirm, openFiles } from "./open-files.ts";
import { checksum, CutOff, readAll, writeAll } from "./text-bytes.ts";

/** A file with this many bytes gets no further text. */
const SEGMENT_BYTES = 64 * 2 ** 20;

/** Maximum number of files without texts that are kept to be written again. */
const MOST_SPARE = 8;

/** Returns the folder of the store at `path`. */
export function payloadFolder(path: string): string {
	return `${path}.payloads`;
}

/** A payload file. */
interface Segment {
	number: number;
	/** Bytes given to texts. */
	size: number;
	/** No further text is appended to it. */
	full: boolean;
	/** Bytes that rows refer to, as of the last answer of the database thread. */
	referenced: number;
	/** Texts whose row may still be committed. */
	pending: number;
	readers: number;
	/** Flushes all texts that are written by then. */
	flush: () => Promise<void>;
	/** Nothing is written or flushed after a failure: the system may have dropped what it held. */
	fault: Error | undefined;
}

/** A flushed text. */
export interface Written {
	block: FileBlock;
	/** Call when its row is committed or will not be. */
	settled(): void;
}

export interface PayloadFiles {
	/** Throws {@link StoreUnavailable} `full`. */
	write(text: JsonBlocks): Promise<Written>;
	/** Begins at once: the file stays until it is read. Throws {@link StoreUnavailable} `damaged`. */
	read(block: FileBlock): Promise<JsonBlocks>;
	/**
	 * At most the first `most` bytes, for display: they are not checked. Undefined if they cannot be
	 * read.
	 */
	head(block: FileBlock, most: number): Promise<JsonBlocks | undefined>;
	/** Bytes of these files that rows refer to after a commit. */
	referenced(changes: readonly (readonly [segment: number, bytes: number])[]): void;
	/** A file that gets no further text, of which rows refer to the smallest share. */
	mostUnused(except: ReadonlySet<number>): { number: number; bytes: number; referenced: number } | undefined;
	/** Bytes of all files, and of those that rows refer to. */
	total(): { bytes: number; referenced: number };
	/** Throws {@link StoreUnavailable} `moved` when a file that rows refer to is missing or was replaced. */
	confirm(): Promise<void>;
	/** Removes a file that is kept to be written again, if none was since the last call. */
	trim(): Promise<void>;
	/** Removes all of these. Returns false when there are none. */
	release(): Promise<boolean>;
	/** Until `release` no file is removed or written again. */
	hold(): HeldFiles;
	close(): Promise<void>;
}

/** Texts that are written by now, for a copy of the store. */
export interface HeldFiles {
	files(): CopiedFile[];
	release(): void;
}

/** Errors of a flush that mean a full disk; the file gets no further text. */
const NO_ROOM: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT"]);

/**
 * `referenced`: of all files that rows refer to. Removes files that no row refers to. `flushFailed`:
 * called when the process must end ({@link FlushFailed}).
 */
export async function openPayloadFiles(q: {
	folder: string;
	referenced: readonly (readonly [segment: number, bytes: number])[];
	flushFailed?: (error: FlushFailed) => void;
	segmentBytes?: number;
}): Promise<PayloadFiles> {
	const { folder, segmentBytes = SEGMENT_BYTES } = q;
	const segments = new Map<number, Segment>();
	const spare: string[] = [];
	let reused = false;
	let current: Segment | undefined;
	let opening: Promise<void> | undefined;
	let last = 0;
	let closed = false;
	let holders = 0;

	const pathOf = (number: number): string => join(folder, String(number));
	const needed = (): Set<string> =>
		new Set([...segments.values()].flatMap(({ number, referenced }) => (referenced > 0 ? [String(number)] : [])));
	const files = openFiles({
		pathOf,
		isInUse(number) {
			const segment = segments.get(number);
			return segment !== undefined && (segment === current || segment.pending + segment.readers > 0);
		},
	});

	function segmentOf(number: number, referenced: number): Segment {
		const segment: Segment = {
			number,
			size: 0,
			full: false,
			referenced,
			pending: 0,
			readers: 0,
			flush: grouped(async () => {
				if (segment.fault) throw segment.fault;
				const file = await files.open(number);
				await Promise.all([flushed(pathOf(number), file.datasync()), confirm(pathOf(number), file)]);
			}),
			fault: undefined,
		};
		segments.set(number, segment);
		last = Math.max(last, number);
		return segment;
	}

	async function flushed(path: string, flush: Promise<void>): Promise<void> {
		try {
			await flush;
		} catch (error) {
			if (!NO_ROOM.has((error as NodeJS.ErrnoException).code)) q.flushFailed?.(new FlushFailed(path, error as Error));
			throw error;
		}
	}

	function unavailable(cause: unknown): StoreUnavailable {
		if (cause instanceof StoreUnavailable) return cause;
		const why = whyFull(dirname(folder)) ?? (cause as Error).message;
		return new StoreUnavailable("full", `${folder} cannot be written: ${why}.`, { cause });
	}

	/** Begins a file: one without texts, or a new one. Its name is durable when this resolves. */
	async function openNext(): Promise<void> {
		const number = (last += 1);
		const path = pathOf(number);
		const old = spare.pop();
		if (old === undefined) {
			// Another folder in the place of a lost one would be in the way of the original.
			if (needed().size === 0) makeFolder(folder);
			const flags = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR;
			await (await open(path, flags, OWNER_FILE)).close();
		} else {
			reused = true;
			await rename(old, path);
		}
		const names = await open(folder, "r");
		try {
			await flushed(folder, names.sync());
		} finally {
			await names.close();
		}
		current = segmentOf(number, 0);
	}

	/** A file with room for a text of this length; the room is the caller's. */
	async function reserve(length: number): Promise<{ segment: Segment; at: number }> {
		for (;;) {
			if (closed) throw new StoreUnavailable("closed", "The store is closed.");
			if (current && (current.size === 0 || current.size + length <= segmentBytes)) {
				const at = current.size;
				current.size += length;
				current.pending += 1;
				return { segment: current, at };
			}
			if (current) end(current);
			await (opening ??= openNext().finally(() => (opening = undefined)));
		}
	}

	function copied(segment: Segment): CopiedFile {
		const path = pathOf(segment.number);
		const bytes = segment.size;
		return {
			name: String(segment.number),
			bytes,
			async *read() {
				const file = await open(path, "r");
				try {
					yield* piecesOf(file, bytes);
				} finally {
					await file.close();
				}
			},
		};
	}

	/** The file gets no further text. */
	function end(segment: Segment): void {
		segment.full = true;
		if (current === segment) current = undefined;
		retireLater(segment);
	}

	/**
	 * Retires the file when nothing refers to it. Later: a call that has just got a place in it from the
	 * database thread begins to read in the same turn of the event loop.
	 */
	function retireLater(segment: Segment): void {
		setImmediate(() => {
			const { full, pending, readers, referenced, number } = segment;
			if (!full || pending > 0 || readers > 0 || referenced > 0) return;
			if (closed || holders > 0 || segments.get(number) !== segment) return;
			segments.delete(number);
			void retire(segment);
		});
	}

	/** Begins at once: the file stays until it is read. */
	async function readFrom(number: number, place: { at: number; length: number }): Promise<Buffer[]> {
		const segment = segments.get(number);
		if (!segment) throw new Error("it is missing");
		segment.readers += 1;
		try {
			return await readAll(await files.open(number), place);
		} finally {
			segment.readers -= 1;
			retireLater(segment);
		}
	}

	async function retire(segment: Segment): Promise<void> {
		const path = pathOf(segment.number);
		await files.close(segment.number);
		if (segment.fault === undefined && segment.size <= segmentBytes && spare.length < MOST_SPARE) spare.push(path);
		else await rm(path, { force: true }).catch(() => {});
	}

	requireKind(folder, "folder");
	const present = await numbersIn(folder);
	for (const [number, bytes] of q.referenced) {
		const segment = segmentOf(number, bytes);
		segment.full = true;
		if (present.has(number)) segment.size = (await stat(pathOf(number))).size;
	}
	const missing = [...segments.keys()].filter((number) => !present.has(number));
	if (missing.length > 0)
		throw new Error(
			`${folder} lacks ${missing.length === 1 ? "the file" : "the files"} ` +
				`${missing.slice(0, 5).join(", ")}${missing.length > 5 ? ", ..." : ""}, ` +
				"with inputs and results of at least 64 kB: the database was copied or restored without them. " +
				"Copy this folder together with the database, or restore a backup.",
		);
	for (const number of present)
		if (!segments.has(number)) {
			last = Math.max(last, number);
			const path = pathOf(number);
			if (spare.length < MOST_SPARE && (await stat(path)).size <= segmentBytes) spare.push(path);
			else await rm(path, { force: true });
		}

	return {
		async write(text) {
			const length = sizeOf(text);
			const { segment, at } = await reserve(length).catch((error: unknown) => {
				throw unavailable(error);
			});
			try {
				const file = await files.open(segment.number);
				const [sum] = await Promise.all([checksum(text), writeAll(file, text, at)]);
				await segment.flush();
				let settled = false;
				return {
					block: { segment: segment.number, at, length, sum },
					settled() {
						if (settled) return;
						settled = true;
						segment.pending -= 1;
						retireLater(segment);
					},
				};
			} catch (error) {
				segment.fault ??= error as Error;
				segment.pending -= 1;
				end(segment);
				throw unavailable(error);
			}
		},

		async read({ segment: number, at, length, sum }) {
			const path = pathOf(number);
			const text = await readFrom(number, { at, length }).catch((error: Error) => {
				throw damaged(path, error.message, error instanceof CutOff ? undefined : error);
			});
			if ((await checksum(text)) === sum) return text;
			throw damaged(path, `its bytes ${at} to ${at + length} are not those that were written`);
		},

		head: ({ segment, at, length }, most) =>
			readFrom(segment, { at, length: Math.min(length, most) }).catch(() => undefined),

		referenced(changes) {
			for (const [number, bytes] of changes) {
				const segment = segments.get(number);
				if (!segment) continue;
				segment.referenced = bytes;
				if (bytes === 0) retireLater(segment);
			}
		},

		mostUnused(except) {
			let found: Segment | undefined;
			for (const segment of segments.values())
				if (
					segment.full &&
					segment.referenced > 0 &&
					!except.has(segment.number) &&
					(!found || segment.referenced / segment.size < found.referenced / found.size)
				)
					found = segment;
			return found && { number: found.number, bytes: found.size, referenced: found.referenced };
		},

		total() {
			let [bytes, rows] = [0, 0];
			for (const { size, referenced } of segments.values()) {
				bytes += size;
				rows += referenced;
			}
			return { bytes, referenced: rows };
		},

		confirm: filesInPlace({ folder, needed }),

		async trim() {
			const path = reused || closed ? undefined : spare.shift();
			reused = false;
			if (path !== undefined) await rm(path, { force: true });
		},

		async release() {
			const paths = spare.splice(0);
			await Promise.all(paths.map((path) => rm(path, { force: true })));
			return paths.length > 0;
		},

		hold() {
			holders += 1;
			let held = true;
			return {
				files: () => [...segments.values()].map(copied),
				release() {
					if (!held) return;
					held = false;
					holders -= 1;
					for (const segment of segments.values()) retireLater(segment);
				},
			};
		},

		async close() {
			closed = true;
			await files.closeAll();
		},
	};
}

/** With `cause` when the text could not be read, which may end (`damageOf`). */
function damaged(path: string, why: string, cause?: Error): StoreUnavailable {
	return new StoreUnavailable("damaged", `${path} is damaged: ${why}. Restore a backup.`, {
		...(cause && { cause }),
	});
}

async function numbersIn(folder: string): Promise<Set<number>> {
	const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return [];
		throw error;
	});
	return new Set(names.filter((name) => /^[1-9]\d{0,14}$/.test(name)).map(Number));
}
