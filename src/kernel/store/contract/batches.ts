/** Batches of requests (D57): a row says how far one is; its requests are jobs like any other. */
import type { FileRow } from "./files.ts";

export interface BatchRow {
	/** `batch_` and 32 hex digits, the first of which are its time of creation: ids sort by age. */
	id: string;
	endpoint: string;
	/** Id of the key that made it. */
	key: string;
	createdAt: number;
	/** When its client cancelled it. */
	cancelledAt?: number | undefined;
	/** Whether there is work left. */
	isOpen: boolean;
	/** Raised by each replacement. */
	version: number;
	/** The same for repeats of one request, SHA-256 in hex. */
	fingerprint: string;
	/** What the module keeps of it, JSON text. */
	progress: string;
}

/** What changes of an open batch while a server runs it, without its progress. */
export type OpenBatch = Pick<BatchRow, "id" | "endpoint" | "version" | "cancelledAt">;

/** Files that appear and disappear with a replacement. The bytes of those inserted must be durable. */
export interface FileChange {
	insert: readonly FileRow[];
	/** Ids. */
	remove: readonly string[];
	/** Bytes that files may have; those removed are subtracted first. */
	endpointBytes: number;
	totalBytes: number;
}

export interface BatchStore {
	/**
	 * Stores a new batch. Returns the earlier one of its endpoint instead, if that has the same fingerprint and was
	 * created at `repeatsSince` or later. Undefined when the endpoint does not exist or is being removed.
	 */
	insert(q: { row: BatchRow; repeatsSince: number }): Promise<{ batch: BatchRow; repeated: boolean } | undefined>;
	find(q: { endpoint: string; id: string }): Promise<BatchRow | undefined>;
	/** Lists newest first. `after`: the id of the last one before, which need not exist any more. */
	list(q: {
		endpoint: string;
		after?: string | undefined;
		limit: number;
	}): Promise<{ batches: BatchRow[]; more: boolean }>;
	/** Returns the open ones of all endpoints, oldest first, at most `limit`. Servers call it every few seconds. */
	open(q: { limit: number }): Promise<OpenBatch[]>;
	/**
	 * Replaces the progress, and changes files with it, in one step. `stale`, without a change: the version is another
	 * one, or there is no such batch. `over`, without one: the files would have more bytes than now, and too many; they
	 * have `bytes`.
	 */
	replace(q: {
		endpoint: string;
		id: string;
		version: number;
		isOpen: boolean;
		progress: string;
		files?: FileChange | undefined;
	}): Promise<"replaced" | "stale" | { over: "endpoint" | "total"; bytes: number }>;
	/** Notes that its client cancelled an open batch, once; the version stays. Returns it as it is then. */
	cancel(q: { endpoint: string; id: string; now: number }): Promise<BatchRow | undefined>;
	/**
	 * Removes some batches that are not open and were created before `before`, and some of endpoints that do not exist.
	 * Returns how many.
	 */
	expire(q: { before: number; limit: number }): Promise<number>;
}
