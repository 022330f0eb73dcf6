/** Files that clients uploaded (D56): rows decide which exist; their bytes are in a folder, or in rows of their own. */

/** Purpose of what will be a part of a file: no list has it. */
export const PART = "part";

/** Document that names the bucket with the bytes of files, as JSON with `name`; absent or empty without one. */
export const PLACE_DOCUMENT = "files.place";

/** Name of the bucket in the text of {@link PLACE_DOCUMENT}. */
export function bucketNameIn(text: string | undefined): string | undefined {
	return text === undefined || text === "" ? undefined : (JSON.parse(text) as { name: string }).name;
}

export interface FileRow {
	/** `file-` and 32 hex digits, the first of which are its time of creation: ids sort by age. */
	id: string;
	endpoint: string;
	/** Name that the client gave it, without control characters. */
	name: string;
	purpose: string;
	/** Media type. */
	type: string;
	bytes: number;
	/** Id of the key that made it. */
	key: string;
	createdAt: number;
	/** It is missing to every read from then on. */
	expiresAt?: number | undefined;
}

/** Rows of an endpoint, with those that have expired and are not removed yet. */
export interface FileTotal {
	endpoint: string;
	files: number;
	bytes: number;
}

export interface FileStore {
	/**
	 * Its bytes must be durable. Refused beyond a bound in bytes, for its endpoint or for all, with the bytes that are
	 * stored, and when the endpoint is being removed.
	 */
	insert(q: {
		row: FileRow;
		endpointBytes: number;
		totalBytes: number;
	}): Promise<"inserted" | "no endpoint" | { over: "endpoint" | "total"; bytes: number }>;
	find(q: { endpoint: string; id: string; now: number }): Promise<FileRow | undefined>;
	/** Lists by age, without parts. `after`: the id of the last one before, which need not exist any more. */
	list(q: {
		endpoint: string;
		purpose?: string | undefined;
		after?: string | undefined;
		order: "asc" | "desc";
		limit: number;
		now: number;
	}): Promise<{ files: FileRow[]; more: boolean }>;
	/** The caller removes its bytes afterwards. Undefined when there is none. */
	remove(q: { endpoint: string; id: string; now: number }): Promise<FileRow | undefined>;
	/** Removes the rows of expired files, and those of endpoints that do not exist. Returns their ids. */
	expire(q: { now: number; limit: number }): Promise<string[]>;
	/** Returns those of the ids that have no row. */
	unknown(q: { ids: readonly string[] }): Promise<string[]>;
	totals(): Promise<FileTotal[]>;
}

/** Bytes of files as rows of at most {@link PIECE_BYTES}, where servers share nothing but the database. */
export interface PieceStore {
	/** Replaces a piece with the same number. */
	put(q: { file: string; number: number; bytes: Uint8Array; now: number }): Promise<void>;
	/**
	 * Reads a piece into `into`, which must be left alone until the answer: the bytes that the piece has, of which `into`
	 * has only some if they are more than fit. Undefined when there is none.
	 */
	get(q: { file: string; number: number; into: Uint8Array }): Promise<number | undefined>;
	/** Sets the time at which the last piece was put, and returns the number of pieces. */
	touch(q: { file: string; now: number }): Promise<number>;
	remove(q: { file: string }): Promise<void>;
	/**
	 * Removes some pieces of files that have no row, and whose last piece was put before `before`. Returns how many; 0 if
	 * there are no more.
	 */
	sweep(q: { before: number }): Promise<number>;
}

export const PIECE_BYTES = 2 ** 20;

/** Folder with a file for each row, named by its id. */
export interface FilesFolder {
	readonly path: string;
	/** Waits for the end of a backup that may still read the file. */
	remove(name: string): Promise<void>;
}
