/** Objects of S3 clients (D59): rows of keys and uploads. Their bytes are those of files, whose rows no list has. */
import type { FileRow } from "./files.ts";

export interface ObjectPlace {
	endpoint: string;
	bucket: string;
	key: string;
}

export interface ObjectRow extends ObjectPlace {
	/** The file with its bytes, or the upload whose parts have them. Copies share it. */
	content: string;
	bytes: number;
	/** The ETag without its quotes. */
	etag: string;
	/** JSON of the module: the headers to answer with. */
	headers: string;
	createdAt: number;
	/** It is missing to every read from then on. */
	expiresAt?: number | undefined;
}

/** An object with the files that its bytes are in, in order. */
export interface StoredObject extends ObjectRow {
	parts: ContentPart[];
}

export interface ContentPart {
	file: string;
	bytes: number;
}

export type ListedObject = Pick<ObjectRow, "key" | "bytes" | "etag" | "createdAt">;

export interface BucketRow {
	endpoint: string;
	name: string;
	createdAt: number;
}

export interface UploadRow extends ObjectPlace {
	id: string;
	headers: string;
	createdAt: number;
}

export interface PartRow {
	number: number;
	file: string;
	bytes: number;
	/** The ETag without its quotes. */
	etag: string;
	createdAt: number;
}

export interface FileBounds {
	endpointBytes: number;
	totalBytes: number;
}

/** Files whose rows were removed: the caller removes their bytes. */
export interface Freed {
	freed: string[];
}

/** `removed`: objects and uploads; 0 if none is left. */
export type Removed = Freed & { removed: number };

export type NotStored = "no endpoint" | "too many buckets" | "exists" | { over: "endpoint" | "total"; bytes: number };

export interface ObjectStore {
	/**
	 * Replaces what the key has. The bucket exists from then on. `ifAbsent`: `exists`, without a change, if there is an
	 * object.
	 */
	put(q: { object: ObjectRow; file: FileRow; ifAbsent: boolean; now: number } & FileBounds): Promise<Freed | NotStored>;
	/** `etag`, `bytes`, `content` and the default of `headers` are those of `from`. */
	copy(q: {
		from: ObjectPlace;
		object: ObjectPlace & Pick<ObjectRow, "createdAt" | "expiresAt"> & { headers: string | undefined };
		now: number;
	}): Promise<(Freed & { etag: string }) | "no object" | NotStored>;
	find(q: ObjectPlace & { now: number }): Promise<StoredObject | undefined>;
	/**
	 * Lists by key, in the order of its UTF-8 bytes, behind `after`. With a delimiter, keys with it behind the prefix
	 * are one folder, named up to its end; `after` may be one. May return less than `limit` although there are more.
	 */
	list(q: {
		endpoint: string;
		bucket: string;
		prefix: string;
		delimiter: string;
		after: string;
		limit: number;
		now: number;
	}): Promise<{ objects: ListedObject[]; folders: string[]; last: string | undefined }>;
	/** Objects of all buckets whose key begins with this folder, the newest first. */
	inFolder(q: { endpoint: string; folder: string; now: number; limit: number }): Promise<ObjectRow[]>;
	/** Stops behind one with very many files. `removed`: how many keys were handled, at least one. */
	remove(q: { endpoint: string; bucket: string; keys: readonly string[] }): Promise<Removed>;
	removeFolder(q: { endpoint: string; folder: string; limit: number }): Promise<Removed>;
	/** Removes expired objects, and uploads from before `uploadsBefore`. */
	expire(q: { now: number; uploadsBefore: number; limit: number }): Promise<Removed>;

	buckets(q: { endpoint: string }): Promise<BucketRow[]>;
	hasBucket(q: { endpoint: string; name: string }): Promise<boolean>;
	createBucket(q: BucketRow): Promise<"created" | "no endpoint" | "too many buckets">;
	removeBucket(q: { endpoint: string; name: string; now: number }): Promise<"removed" | "not empty" | "no bucket">;

	createUpload(q: { upload: UploadRow }): Promise<"created" | "no endpoint" | "too many buckets" | "too many uploads">;
	/** Undefined unless the upload is of this key. */
	findUpload(q: ObjectPlace & { id: string }): Promise<UploadRow | undefined>;
	/** Lists by key and id, behind `after`. */
	uploads(q: {
		endpoint: string;
		bucket: string;
		prefix: string;
		after: { key: string; id: string };
		limit: number;
	}): Promise<UploadRow[]>;
	/** Replaces a part with the same number. */
	putPart(
		q: { upload: string; part: PartRow; row: FileRow } & FileBounds,
	): Promise<Freed | "no upload" | Exclude<NotStored, "too many buckets" | "exists">>;
	/** Lists by number, behind `after`. */
	parts(q: { upload: string; after: number; limit: number }): Promise<PartRow[]>;
	/**
	 * Makes an object of these parts, whose ETags must be the stored ones; others are removed. `object.content` is the
	 * upload. A repetition returns the same, as long as the key has that object.
	 */
	complete(q: {
		object: Omit<ObjectRow, "bytes">;
		parts: readonly { number: number; etag: string }[];
		maxBytes: number;
		ifAbsent: boolean;
		now: number;
	}): Promise<Freed | "no upload" | "too large" | { badPart: number } | "exists">;
	abort(q: ObjectPlace & { id: string }): Promise<Freed | "no upload">;
}

/** Buckets of an endpoint, and uploads of an endpoint that are not complete, at most. */
export const MOST_BUCKETS = 1000;
export const MOST_UPLOADS = 1000;
