/** A batch while this server runs it (D57): every change is a new version of its row. */
import { uuidv7 } from "../../kernel/lib/ids.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { StoredFiles, WrittenFile } from "../../kernel/engine/stored-files.ts";
import type { BatchRow } from "../../kernel/store/contract/batches.ts";
import { type FileRow, PART } from "../../kernel/store/contract/files.ts";
import { type Counts, type Ending, type Progress, progressOf } from "./progress.ts";

export type RunKernel = Pick<
	Kernel,
	| "allowPrivateNetworks"
	| "background"
	| "calendar"
	| "clock"
	| "endpoints"
	| "events"
	| "jobs"
	| "now"
	| "post"
	| "random"
	| "store"
	| "workers"
>;

/** What all runs of this server share, so that they are bounded together. */
export interface Shared {
	/** Bytes of requests on their way to the store. */
	unstoredBytes: number;
	/** Waits for its turn to read a whole input; the returned function ends it. */
	validation(): Promise<() => void>;
}

export interface RunContext {
	kernel: RunKernel;
	shared: Shared;
	files: StoredFiles;
	/** Called once all requests have ended and the files are there, on the server that did it. */
	ended: (batch: Batch) => void;
	/** Called with the results that are in a part now. */
	collected: (endpoint: string, counts: Pick<Counts, "completed" | "failed">) => void;
}

/** Another server has changed the batch, or it was removed with its endpoint. */
export class Superseded extends Error {}

/** Files that appear and disappear with a new version. */
interface Change {
	isOpen?: boolean;
	insert?: readonly FileRow[];
	remove?: readonly string[];
	/** Their bytes are counted already. */
	isBounded?: boolean;
}

export type Batch = ReturnType<typeof openBatch>;

export function openBatch({ kernel, files }: RunContext, row: BatchRow) {
	const { id, endpoint, key } = row;
	let { version } = row;
	let progress = progressOf(row);
	const unbounded = { endpointBytes: Number.MAX_SAFE_INTEGER, totalBytes: Number.MAX_SAFE_INTEGER };
	return {
		row,
		get progress(): Readonly<Progress> {
			return progress;
		},
		/** Returns false, without a change, if files would pass their bounds. Throws {@link Superseded}. */
		async save(members: Partial<Progress>, change: Change = {}): Promise<boolean> {
			const next = { ...progress, ...members };
			const { isOpen = true, insert, remove = [], isBounded = true } = change;
			const bounds = isBounded ? files.bounds : unbounded;
			const outcome = await kernel.store.batches.replace({
				...{ endpoint, id, version, isOpen, progress: JSON.stringify(next) },
				files: insert && { ...bounds, insert, remove },
			});
			if (outcome === "stale") throw new Superseded();
			if (outcome !== "replaced") return false;
			version += 1;
			progress = next;
			return true;
		},
		partRow: ({ id: part, bytes }: WrittenFile): FileRow => ({
			...{ id: part, endpoint, key, bytes, purpose: PART, createdAt: kernel.now() },
			name: `${id}.part`,
			type: "application/jsonl",
		}),
		fileRow: ({ id: file, bytes }: { id: string; bytes: number }, kind: "output" | "error"): FileRow => ({
			...{ id: file, endpoint, key, bytes, purpose: "batch_output", createdAt: kernel.now() },
			name: `${id}_${kind}.jsonl`,
			type: "application/jsonl",
			expiresAt: kernel.now() + progress.outputMs,
		}),
		/** The members with which it is over; it stays open until its webhook was notified. */
		over(state: Ending, more: Partial<Progress>): [Partial<Progress>, Pick<Change, "isOpen">] {
			const { webhook, at } = progress;
			const now = kernel.now();
			const event = `evt_${uuidv7(now, kernel.random).replaceAll("-", "")}`;
			const notification = webhook === undefined ? undefined : { event, attempts: 0, dueAt: now };
			return [{ ...more, state, at: { ...at, [state]: now }, notification }, { isOpen: notification !== undefined }];
		},
		/** Id of a request in the files. */
		requestId: (line: number): string => `batch_req_${id.slice("batch_".length)}_${line}`,
	};
}

/** What ends a run, or the feeding of a batch. */
export interface Control {
	/** This server stops, or another one runs the batch. */
	signal: AbortSignal;
	/** When its client cancelled it, the job clock. */
	cancelledAt: () => number | undefined;
	/** Batches of the endpoint that run. */
	beside: () => number;
	/** Calls the listener when its client has cancelled it. Returns its removal. */
	onCancel: (listener: () => void) => () => void;
}
