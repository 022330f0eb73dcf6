/** What the module that stores files lends to modules that read files and make some. */
import type { FileRow } from "../store/contract/files.ts";

export interface StoredFiles {
	/** Throws `file_not_found`. */
	find(endpoint: string, id: string): Promise<FileRow>;
	/** Opens its bytes from `start` up to and without `end`. Throws `file_missing`, `StoreUnavailable`. */
	open(file: Pick<FileRow, "id" | "bytes">, range: ByteRange): Promise<ContentReader>;
	/** Writes the bytes of a new file, until they are durable. The caller stores its row. Throws `StoreUnavailable`. */
	write(pieces: AsyncIterable<Uint8Array>): Promise<WrittenFile>;
	/** Removes bytes whose row was removed. */
	remove(id: string): Promise<void>;
	/** Memory that one of them needs, bytes. */
	memory(of: "upload" | "download"): Promise<number>;
	/** Bytes that one file, the files of one endpoint, and all files may have. */
	bounds: { maxBytes: number; endpointBytes: number; totalBytes: number };
}

export interface ByteRange {
	start: number;
	end: number;
}

/** Pieces that the caller may keep. */
export interface ContentReader extends AsyncIterable<Uint8Array> {
	/** Must be called in the end, read or not. */
	close(): Promise<void>;
}

export interface WrittenFile {
	id: string;
	bytes: number;
	/** Called when its row is stored, or may be. */
	done(): void;
	/** Removes the bytes. */
	drop(): Promise<void>;
}
