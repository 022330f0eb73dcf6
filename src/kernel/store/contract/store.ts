/**
 * The contract of every store. Rules:
 * 1. Each method is one atomic step.
 * 2. Time is an argument, `now`, in ms since the epoch.
 * 3. `core/jobs/job-transitions.ts` defines what an event does to a job; everything else is an argument.
 * 4. Refusals are values, faults are exceptions. A store that cannot write now throws {@link StoreUnavailable}.
 * 5. Payloads (`input`, `output`, chunks) are opaque JSON text, returned byte for byte (D5).
 * 6. A resolved write is durable (D17). Calls may share a commit; claims run after its inserts.
 * 7. Deadlines hold without the sweeper (D15): a method that moves a job first settles passed deadlines, and one that
 *    reads a job answers as if they were settled. An erased job is missing to every method unless its description says
 *    otherwise.
 * 8. Signals report moves that other calls or servers caused. They may be lost or duplicated, and contain only ids.
 */
import type { JobState } from "../../core/jobs/job-states.ts";
import type { Histogram } from "../../lib/histogram.ts";
import type { AuditStore, MetricsStore } from "./records.ts";
import type { BatchStore } from "./batches.ts";
import type { ChunkStore, JobStore } from "./jobs.ts";
import type { ClusterStore, LimitStore, TimeStore } from "./cluster.ts";
import type { FilesFolder, FileStore, PieceStore } from "./files.ts";
import type { ObjectStore } from "./objects.ts";
import type { EndpointStore, ReleaseStore, ResourceStore } from "./endpoints.ts";
import type { HostStore, WorkerStore } from "./workers.ts";
import type { KeyStore, RegistryStore, SecretStore, SessionStore, TokenStore } from "./access.ts";
import type { WebhookStore } from "./webhooks.ts";

/**
 * Why a call failed:
 * - `full`: the database cannot be written at present: full disk, read-only file system, I/O error or no permission
 * - `moved`: the database file was deleted or replaced
 * - `damaged`: what this call needs cannot be read, now or later
 * - `closed`: the store was closed
 * - `unreachable`: PostgreSQL does not respond, or another process has the SQLite file open
 * - `busy`: other transactions blocked this one for too long
 * - `blocked`: a session outside the service locks a whole table
 * - `unreadable`, `unwritable`: the payload file of this call cannot be read, or written for another reason than a full
 *   disk, at present; other calls go on
 */
type Unavailable =
	| "full"
	| "moved"
	| "damaged"
	| "closed"
	| "unreachable"
	| "busy"
	| "blocked"
	| "unreadable"
	| "unwritable";

/** The same call may succeed later. */
export class StoreUnavailable extends Error {
	readonly why: Unavailable;
	/** Whether this call was applied is unknown. */
	readonly unsure: boolean;
	constructor(
		why: Unavailable,
		message: string,
		{ unsure = false, ...options }: ErrorOptions & { unsure?: boolean } = {},
	) {
		super(message, options);
		this.why = why;
		this.unsure = unsure;
	}
}

/**
 * See rule 8. `queued`: a job waits; `worker` lost it, if this server noticed that; `silent` may still run it,
 * because only its lease ended, whichever server noticed. `delivery`: a webhook is due. `lost`: every waiter must read
 * the store. Only from other servers: chunks were added to a job, or its stream is free again; endpoints changed; keys,
 * sessions or worker tokens (`access`) changed; a server started, left or freed leases.
 */
export type Signal =
	| { kind: "queued"; endpoint: string; id: string; worker?: string | undefined; silent?: string }
	| { kind: "settled"; endpoint: string; id: string; state: JobState; release?: number | undefined }
	| { kind: "stop"; endpoint: string; id: string; worker: string }
	| { kind: "purged"; endpoint: string }
	| { kind: "delivery" }
	| { kind: "chunks"; endpoint: string; id: string }
	| { kind: "endpoints" }
	| { kind: "access" }
	| { kind: "servers" }
	| { kind: "lost" };

/** What a store measured since it was opened, and holds now, for `/metrics` (D40). */
export interface StoreLoad {
	/** Times of commits of jobs. */
	commitMs: Histogram;
	/** Operations in each commit. */
	commitSizes: Histogram;
	/** Statements that PostgreSQL has not answered, by connection. This and the rest are absent with SQLite. */
	statements?: Readonly<Record<string, number>>;
	/** Operations that wait for a transaction. */
	waiting?: number;
	/** Transactions that waited too long for a lock. */
	lockTimeouts?: number;
}

/** Texts of modules by name, one for all servers. */
interface DocumentStore {
	read(name: string): Promise<string | undefined>;
	/** False, without a change, if the text is no longer `from`. */
	replace(q: { name: string; from: string | undefined; to: string }): Promise<boolean>;
}

export interface Store {
	jobs: JobStore;
	chunks: ChunkStore;
	endpoints: EndpointStore;
	workers: WorkerStore;
	hosts: HostStore;
	tokens: TokenStore;
	keys: KeyStore;
	sessions: SessionStore;
	registries: RegistryStore;
	releases: ReleaseStore;
	resources: ResourceStore;
	documents: DocumentStore;
	audit: AuditStore;
	files: FileStore;
	batches: BatchStore;
	objects: ObjectStore;
	webhooks: WebhookStore;
	metrics: MetricsStore;
	secrets: SecretStore;
	time: TimeStore;
	limits: LimitStore;
	/** Absent from a store that only one server can open. */
	cluster?: ClusterStore;
	/** Absent where the database has tools of its own for that. */
	backup?: BackupStore;
	/** Bytes of files; absent where `filesFolder` has them. */
	pieces?: PieceStore;
	filesFolder?: FilesFolder;
	/** A random text created with the store: distinguishes this service's workers from another's. */
	identity(): Promise<string>;
	/** Resolves when a write works; otherwise throws {@link StoreUnavailable}. */
	ping(): Promise<void>;
	/** Bytes of files that no job has stored any more, but that stay because their file has other texts. */
	unusedBytes?(): number;
	load?(): StoreLoad;
	/** Called once when this process must end: a flush failed (decision 0031), or the database thread. */
	onFailure?(listener: (error: Error) => void): void;
	/** Called once for each payload file that cannot be read or written, and again after it could be meanwhile. */
	onFileFault?(listener: (error: StoreUnavailable) => void): void;
	/** Returns the removal of the listener. `elsewhere`: another server caused the signal. */
	onSignal(listener: (signal: Signal, elsewhere?: boolean) => void): () => void;
	/** Ends after the writes in flight; later calls throw {@link StoreUnavailable}. */
	close(): Promise<void>;
}

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
