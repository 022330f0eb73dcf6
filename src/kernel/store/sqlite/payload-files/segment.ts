import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { BLOCK_BYTES, type JsonBlocks, sizeOf } from "../../../lib/json/json-text.ts";
import { OWNER_FILE } from "../../../system/durable-file.ts";
import { StoreUnavailable } from "../../contract/store.ts";

/** Shares calls of `work`: a call during a run waits for the next run, which sees everything done before it. */
export function grouped(work: () => Promise<void>): () => Promise<void> {
	let running: Promise<void> | undefined;
	let next: Promise<void> | undefined;

	function begin(): Promise<void> {
		next = undefined;
		const mine = work().finally(() => {
			if (running === mine) running = undefined;
		});
		running = mine;
		return mine;
	}

	return () => next ?? (running ? (next = running.then(begin, begin)) : begin());
}

export interface Extent {
	at: number;
	length: number;
}

export interface SegmentParts {
	number: number;
	path: string;
	/** Makes the name of a new file durable. */
	flushFolder: () => Promise<void>;
	flushed: (path: string, flush: Promise<void>) => Promise<void>;
	released: (segment: Segment) => void;
}

export class Segment {
	size = 0;
	/** End of the last flushed text: no row refers to bytes behind it. */
	flushed = 0;
	/** Bytes that rows refer to, as of the last reply of the database thread. */
	referenced = 0;
	/** Texts whose row may still be committed, and reads. */
	#uses = 0;
	#sealed = false;
	/** A file is not written or flushed again after a failure: the system may have dropped its pages. */
	#fault: Error | undefined;
	/** Open while the file is used or not sealed. */
	#file: Promise<FileHandle> | undefined;
	#nameIsDurable = false;
	readonly #parts: SegmentParts;

	constructor(parts: SegmentParts) {
		this.#parts = parts;
	}

	/** Created by its first text. */
	static create(parts: SegmentParts): Segment {
		const segment = new Segment(parts);
		const { O_CREAT, O_EXCL, O_RDWR } = constants;
		segment.#file = open(parts.path, O_CREAT | O_EXCL | O_RDWR, OWNER_FILE);
		// The first text reports the error.
		segment.#file.catch(() => {});
		return segment;
	}

	/** Returns a file of an earlier process; nothing is appended to it. */
	static existing(parts: SegmentParts, { size, referenced }: { size: number; referenced: number }): Segment {
		return Object.assign(new Segment(parts), { size, flushed: size, referenced }).seal();
	}

	get number(): number {
		return this.#parts.number;
	}

	get path(): string {
		return this.#parts.path;
	}

	get isSealed(): boolean {
		return this.#sealed;
	}

	get isUnused(): boolean {
		return this.#sealed && this.#uses === 0 && this.referenced === 0;
	}

	/** Ends appending; the file is closed when the calls in progress have ended. */
	async close(): Promise<void> {
		this.#sealed = true;
		await this.#close();
	}

	seal(): this {
		this.#sealed = true;
		this.#closeIfIdle();
		return this;
	}

	/** Appends a text. `settled`: call when its row was committed, or will not be. A failure seals the file. */
	async append(text: JsonBlocks): Promise<{ at: number; sum: number; settled: () => void }> {
		const at = this.size;
		this.size += sizeOf(text);
		const settled = this.#use();
		try {
			const file = await this.#file!;
			const written = writeAll(file, text, at);
			const sum = checksum(text);
			await written;
			await this.#flush();
			this.flushed = Math.max(this.flushed, at + sizeOf(text));
			return { at, sum, settled };
		} catch (error) {
			this.#fault ??= error as Error;
			this.seal();
			settled();
			throw error;
		}
	}

	/** Reads bytes; the file stays until they are read. Throws {@link CutOff}, or the error of the system. */
	async read(extent: Extent): Promise<Buffer[]> {
		const settled = this.#use();
		try {
			this.#file ??= open(this.path, "r");
			return await readAll(await this.#file, extent);
		} finally {
			settled();
		}
	}

	readonly #flush = grouped(async () => {
		if (this.#fault) throw this.#fault;
		const { path, flushed, flushFolder } = this.#parts;
		const file = await this.#file!;
		await Promise.all([flushed(path, file.datasync()), this.#nameIsDurable || flushFolder(), confirm(path, file)]);
		this.#nameIsDurable = true;
	});

	#use(): () => void {
		this.#uses += 1;
		let isOver = false;
		return () => {
			if (isOver) return;
			isOver = true;
			this.#uses -= 1;
			this.#closeIfIdle();
			this.#parts.released(this);
		};
	}

	#closeIfIdle(): void {
		if (this.#sealed && this.#uses === 0) void this.#close();
	}

	async #close(): Promise<void> {
		const file = this.#file;
		this.#file = undefined;
		// Every text in it is flushed: an error of `close` means nothing.
		await file?.then((handle) => handle.close()).catch(() => {});
	}
}

/** Throws when the path does not lead to the open file: the next start would not find it. */
async function confirm(path: string, file: FileHandle): Promise<void> {
	const [own, named] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
	if (named?.ino === own.ino && named.dev === own.dev) return;
	throw new StoreUnavailable("unwritable", `${path} was deleted, moved or replaced. Put it back.`);
}

export function checksum(text: JsonBlocks): number {
	return text.reduce((value, block) => crc32(block, value), 0);
}

async function writeAll(handle: FileHandle, text: JsonBlocks, at: number): Promise<void> {
	const { bytesWritten } = await handle.writev([...text], at);
	if (bytesWritten === sizeOf(text)) return;
	// A full disk may accept a part; the next write reports the reason.
	for (let done = bytesWritten, from = 0, n = 0; n < text.length; from += text[n]!.length, n += 1) {
		const block = text[n]!;
		while (done < from + block.length)
			done += (await handle.write(block, done - from, undefined, at + done)).bytesWritten;
	}
}

/** The file ends within the text. */
export class CutOff extends Error {}

async function readAll(handle: FileHandle, { at, length }: Extent): Promise<Buffer[]> {
	const text: Buffer[] = [];
	for (let left = length; left > 0; left -= BLOCK_BYTES) text.push(Buffer.allocUnsafeSlow(Math.min(left, BLOCK_BYTES)));
	if (length === 0) return text;
	const { bytesRead } = await handle.readv(text, at);
	if (bytesRead === length) return text;
	throw new CutOff(`it ends after ${at + bytesRead} bytes`);
}
