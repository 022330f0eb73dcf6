/**
 * Large texts in files next to the database, `<store>.payloads/<number>` (decision 0014). Each is flushed before the
 * row that refers to it is committed. A file is removed when no row refers to its texts.
 */
import { open, readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type JsonBlocks, sizeOf } from "../../../lib/json/json-text.ts";
import { makeFolder, requireKind } from "../../../system/durable-file.ts";
import { type CopiedFile, StoreUnavailable } from "../../contract/store.ts";
import { FlushFailed, whyFull } from "../file/disk-errors.ts";
import { piecesOf } from "../file/file-pieces.ts";
import type { SegmentBytes } from "../thread/messages.ts";
import type { FileBlock } from "./file-block.ts";
import { grouped, checksum, CutOff, Segment, type SegmentParts } from "./segment.ts";

/** Maximum size of a file, bytes, unless its first text is larger. */
const SEGMENT_BYTES = 8 * 2 ** 20;

/** Time after which a file that could not be read is tried again, ms. */
const RETRY_MS = 10_000;

/** Error codes of a full disk; the file gets no further text. */
const NO_ROOM: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT"]);

export function payloadFolder(path: string): string {
	return `${path}.payloads`;
}

export interface Written {
	block: FileBlock;
	/** Call when the row that refers to the text was committed, or will not be. */
	settled(): void;
}

export interface HeldFiles {
	files(): CopiedFile[];
	release(): void;
}

/**
 * Numbers of existing files. `last`: the highest number, also of a folder that an operator put there; no new file gets
 * a lower one.
 */
interface Numbers {
	files: ReadonlySet<number>;
	last: number;
}

interface PayloadOptions {
	folder: string;
	referenced: readonly SegmentBytes[];
	/** Called when the process must end. */
	flushFailed?: (error: FlushFailed) => void;
	/** Called once when a file cannot be read or written, and again only after it could be in between. */
	fault?: (error: StoreUnavailable) => void;
	segmentBytes?: number;
}

export async function openPayloadFiles(q: PayloadOptions): Promise<PayloadFiles> {
	requireKind(q.folder, "folder");
	const present = await numbersIn(q.folder);
	const missing = q.referenced.map(([number]) => number).filter((number) => !present.files.has(number));
	if (missing.length > 0)
		throw new Error(
			`${q.folder} lacks ${missing.length === 1 ? "the file" : "the files"} ` +
				`${missing.slice(0, 5).join(", ")}${missing.length > 5 ? ", ..." : ""}, ` +
				"with inputs and results of at least 64 kB: the database was copied or restored without them. " +
				"Copy this folder together with the database, or restore a backup.",
		);
	const files = new PayloadFiles(q);
	await files.load(present, new Map(q.referenced));
	return files;
}

export class PayloadFiles {
	readonly #folder: string;
	readonly #segmentBytes: number;
	readonly #flushFailed: (error: FlushFailed) => void;
	readonly #fault: (error: StoreUnavailable) => void;
	/** Files that could not be read, by number, each with a text whose read shows that it is readable again. */
	readonly unreadableFiles = new Map<number, FileBlock>();
	#triedAt = -Infinity;
	#isWritable = true;
	readonly #segments = new Map<number, Segment>();
	#current: Segment | undefined;
	#last = 0;
	#closed = false;
	#holders = 0;

	constructor({ folder, segmentBytes = SEGMENT_BYTES, flushFailed = () => {}, fault = () => {} }: PayloadOptions) {
		this.#folder = folder;
		this.#segmentBytes = segmentBytes;
		this.#flushFailed = flushFailed;
		this.#fault = fault;
	}

	/** Begins with the files of an earlier process, and removes those that no row refers to. */
	async load({ files, last }: Numbers, referenced: ReadonlyMap<number, number>): Promise<void> {
		this.#last = last;
		for (const number of files) {
			const parts = this.#partsOf(number);
			const bytes = referenced.get(number);
			if (bytes === undefined) await rm(parts.path, { force: true });
			else this.#add(Segment.existing(parts, { size: (await stat(parts.path)).size, referenced: bytes }));
		}
	}

	/**
	 * Writes a text. Throws {@link StoreUnavailable}: `full` for a full disk, which concerns the whole store, else
	 * `unwritable`.
	 */
	async write(text: JsonBlocks): Promise<Written> {
		const length = sizeOf(text);
		try {
			const segment = this.#withRoomFor(length);
			const { settled, ...place } = await segment.append(text);
			this.#isWritable = true;
			return { block: { segment: segment.number, length, ...place }, settled };
		} catch (error) {
			const failure = this.#writeFailure(error as Error);
			if (failure.why === "unwritable" && this.#isWritable) {
				this.#isWritable = false;
				this.#fault(failure);
			}
			throw failure;
		}
	}

	/**
	 * Reads a text. The read begins at once, and the file stays until it has ended. Throws {@link StoreUnavailable}:
	 * `damaged` for a text that differs from what was written, `unreadable` for one that may be readable later.
	 */
	async read(block: FileBlock): Promise<JsonBlocks> {
		const { segment, at, length, sum } = block;
		const { path } = this.#partsOf(segment);
		const text = await this.#bytes(segment, { at, length }).catch((error: Error) => {
			if (!(error instanceof CutOff)) throw this.#readFailure(block, error);
			this.unreadableFiles.delete(segment);
			throw damaged(path, error.message);
		});
		this.unreadableFiles.delete(segment);
		if (checksum(text) === sum) return text;
		throw damaged(path, `its bytes ${at} to ${at + length} are not those that were written`);
	}

	/** Returns at most the first `most` bytes, unchecked. Undefined if they cannot be read. */
	async head({ segment, at, length }: FileBlock, most: number): Promise<JsonBlocks | undefined> {
		return await this.#bytes(segment, { at, length: Math.min(length, most) }).catch(() => undefined);
	}

	/**
	 * Returns the numbers of files that could not be read. They are tried again from time to time; the call does not wait
	 * for that.
	 */
	unreadable(now: number): number[] {
		if (this.unreadableFiles.size > 0 && now - this.#triedAt >= RETRY_MS) {
			this.#triedAt = now;
			void this.#readAgain();
		}
		return [...this.unreadableFiles.keys()];
	}

	/** Call after a commit. */
	referenced(changes: readonly SegmentBytes[]): void {
		for (const [number, bytes] of changes) {
			const segment = this.#segments.get(number);
			if (!segment) continue;
			segment.referenced = bytes;
			this.#removeIfUnused(segment);
		}
	}

	/** Bytes of files that no row refers to: a file stays as long as one of its texts. */
	get unusedBytes(): number {
		let bytes = 0;
		for (const { size, referenced } of this.#segments.values()) bytes += Math.max(0, size - referenced);
		return bytes;
	}

	/** Keeps all files until `release` is called. */
	hold(): HeldFiles {
		this.#holders += 1;
		let isHeld = true;
		return {
			files: () => [...this.#segments.values()].filter(({ flushed }) => flushed > 0).map(copied),
			release: () => {
				if (!isHeld) return;
				isHeld = false;
				this.#holders -= 1;
				for (const segment of this.#segments.values()) this.#removeIfUnused(segment);
			},
		};
	}

	async close(): Promise<void> {
		this.#closed = true;
		await Promise.all([...this.#segments.values()].map((segment) => segment.close()));
	}

	async #readAgain(): Promise<void> {
		for (const block of [...this.unreadableFiles.values()]) {
			if (this.#closed) return;
			await this.read(block).catch(() => {});
		}
	}

	#readFailure(block: FileBlock, cause: Error): StoreUnavailable {
		const { path, number } = this.#partsOf(block.segment);
		const message = `${path} cannot be read: ${cause.message}. Put it back, or restore a backup.`;
		const failure = new StoreUnavailable("unreadable", message, { cause });
		if (!this.unreadableFiles.has(number)) this.#fault(failure);
		this.unreadableFiles.set(number, block);
		return failure;
	}

	#writeFailure(error: Error): StoreUnavailable {
		if (error instanceof StoreUnavailable) return error;
		const full = whyFull(dirname(this.#folder));
		const isFull = full !== undefined || NO_ROOM.has((error as NodeJS.ErrnoException).code);
		const message = `${this.#folder} cannot be written: ${full ?? error.message}.`;
		return new StoreUnavailable(isFull ? "full" : "unwritable", message, { cause: error });
	}

	#partsOf(number: number): SegmentParts {
		return {
			number,
			path: join(this.#folder, String(number)),
			flushFolder: this.#flushFolder,
			flushed: (path, flush) => this.#flushed(path, flush),
			released: (segment) => this.#removeIfUnused(segment),
		};
	}

	#add(segment: Segment): Segment {
		this.#segments.set(segment.number, segment);
		return segment;
	}

	#withRoomFor(length: number): Segment {
		if (this.#closed) throw new StoreUnavailable("closed", "The store is closed.");
		const current = this.#current;
		if (current && !current.isSealed && (current.size === 0 || current.size + length <= this.#segmentBytes))
			return current;
		if (current) this.#removeIfUnused(current.seal());
		// A new folder in place of a lost one would block the original.
		if (!this.#segments.values().some(({ referenced }) => referenced > 0)) makeFolder(this.#folder);
		return (this.#current = this.#add(Segment.create(this.#partsOf((this.#last += 1)))));
	}

	readonly #flushFolder = grouped(async () => {
		const names = await open(this.#folder, "r");
		try {
			await this.#flushed(this.#folder, names.sync());
		} finally {
			await names.close();
		}
	});

	async #flushed(path: string, flush: Promise<void>): Promise<void> {
		try {
			await flush;
		} catch (error) {
			if (!NO_ROOM.has((error as NodeJS.ErrnoException).code)) this.#flushFailed(new FlushFailed(path, error as Error));
			throw error;
		}
	}

	async #bytes(number: number, extent: { at: number; length: number }): Promise<Buffer[]> {
		const segment = this.#segments.get(number);
		if (!segment) throw new Error("it is missing");
		return await segment.read(extent);
	}

	/**
	 * Not at once: a call that has just received a location in the file begins its read in the same turn of the event
	 * loop.
	 */
	#removeIfUnused(segment: Segment): void {
		if (!segment.isUnused) return;
		setImmediate(() => {
			if (this.#closed || this.#holders > 0 || !segment.isUnused) return;
			// A file that cannot be removed now is removed at the next start.
			this.unreadableFiles.delete(segment.number);
			if (this.#segments.delete(segment.number)) void rm(segment.path, { force: true }).catch(() => {});
		});
	}
}

function copied({ number, path, flushed }: Segment): CopiedFile {
	return {
		name: String(number),
		bytes: flushed,
		async *read() {
			const file = await open(path, "r");
			try {
				yield* piecesOf(file, flushed);
			} finally {
				await file.close();
			}
		},
	};
}

function damaged(path: string, why: string): StoreUnavailable {
	return new StoreUnavailable("damaged", `${path} is damaged: ${why}. Restore a backup.`);
}

async function numbersIn(folder: string): Promise<Numbers> {
	const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return [];
		throw error;
	});
	const numbered = entries.filter(({ name }) => /^[1-9]\d{0,14}$/.test(name));
	const files = numbered.filter((entry) => !entry.isDirectory()).map(({ name }) => Number(name));
	return { files: new Set(files), last: numbered.reduce((last, { name }) => Math.max(last, Number(name)), 0) };
}
