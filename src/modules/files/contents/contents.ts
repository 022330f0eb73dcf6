/** Where the bytes of files are: what all places promise. */
import type { ByteRange } from "../../../kernel/engine/stored-files.ts";

export interface FileContents {
	/** What one of them needs, bytes. */
	readonly memory: Readonly<Record<"upload" | "download", number>>;
	/** Begins the bytes of a new file. Throws `StoreUnavailable`. */
	create(id: string): Promise<ContentWriter>;
	/** Opens the bytes from `start` up to and without `end`. Throws `file_missing` if the file has not all its bytes. */
	open(file: { id: string; bytes: number }, range: ByteRange): Promise<ContentPieces>;
	/** After the row. Bytes that cannot be removed now are removed by {@link sweep}. */
	remove(id: string): Promise<void>;
	/** Ids whose rows have expired, for a place where {@link sweep} does not find them within the hour. */
	expired?(ids: readonly string[]): void;
	/** Removes bytes without a row that were last written over `ageMs` ago. Called each hour. */
	sweep(ageMs: number, signal?: AbortSignal): Promise<void>;
}

/** Pieces, each the caller's until it asks for the next one: memory is used again ([1](../README.md#buffers)). */
export interface ContentPieces extends AsyncIterable<Uint8Array> {
	/** Must be called in the end, read or not. */
	close(): Promise<void>;
}

export interface ContentWriter {
	/** Keeps the piece until it is written. Throws `StoreUnavailable`. */
	write(piece: Uint8Array): Promise<void>;
	/** Resolves when all is durable. Throws `StoreUnavailable`, also if bytes were removed meanwhile. */
	finish(): Promise<void>;
	/** Called after `finish`, when the row is stored. */
	done(): void;
	/** Removes all of it, also after `finish`. */
	drop(): Promise<void>;
}
