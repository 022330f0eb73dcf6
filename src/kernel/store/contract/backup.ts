/** Name of the database among the files of a copy. */
export const DATABASE_NAME = "sluice.db";

/** Files are read in their order. */
export interface CopiedFile {
	/** `folder/file` belongs into the folder `<database>.folder`. */
	name: string;
	bytes: number;
	/** Pieces that the caller may keep; `bytes` in all. */
	read(): AsyncIterable<Uint8Array>;
}

/** Consistent, with everything that was acknowledged before the copy began (D46). */
export interface StoreCopy {
	migration: number;
	files: readonly CopiedFile[];
	/** Idempotent. */
	close(): Promise<void>;
}

export interface BackupStore {
	/** Bytes that a copy needs on the disk of the store. */
	size(): Promise<number>;
	/**
	 * Other operations run between its steps. One copy at a time. Throws an Error with the reason, or the reason of the
	 * signal; then nothing of it is left.
	 */
	copy(q: {
		signal: AbortSignal;
		progress: (at: { copiedBytes: number; totalBytes: number }) => void;
	}): Promise<StoreCopy>;
}
