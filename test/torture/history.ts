/**
 * What clients and workers did and saw, one operation a line: when it was sent, when its answer
 * arrived, and what that said. The checker reads nothing else.
 */
import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { JobState } from "../../src/kernel/core/jobs/job-states.ts";

/**
 * `ok`: acknowledged. `fail`: refused, or never sent: nothing changed. `unknown`: the connection
 * broke or the answer was a 5xx, so it may have taken effect or not.
 */
export type Result = "ok" | "fail" | "unknown";

interface Timed {
	/** The client or worker. */
	by: string;
	result: Result;
	/** Sent and answered, monotonic ms. */
	from: number;
	to: number;
}

/** A job as an answer or a webhook shows it. `output` and `error` are shortened by {@link brief}. */
export interface Seen {
	state: JobState;
	output?: string;
	error?: string;
	delayTime?: number;
	executionTime?: number;
	retries?: number;
}

export type Chunks = [number: number, text: string][];

/** Facts about an endpoint, before anything happens there. */
export interface EndpointTerms {
	op: "endpoint";
	id: string;
	leaseMs: number;
	retentionMs: { run: number; runsync: number };
	/** Its queue limit, and by how many it may be exceeded (D23). */
	queue?: { limit: number; slack: number };
	workersMax?: number;
	/** Several servers: a post of chunks that is repeated at another one is stored twice (D7). */
	repeats?: true;
}

export interface SubmitOp extends Timed {
	op: "submit";
	endpoint: string;
	operation: "run" | "runsync";
	/** Number of the submission, which is in its input. */
	n: number;
	input: string;
	key?: string;
	webhook?: true;
	ttlMs: number;
	timeoutMs: number;
	job?: string;
	/** By `/runsync`. */
	seen?: Seen;
	/** `/runsync`: the queue was purged. */
	missing?: true;
}

interface JobOp extends Timed {
	job: string;
}

/** `missing`: 404. */
export type ReadOp = JobOp & { op: "read"; how: string; seen?: Seen; missing?: true };
export type CancelOp = JobOp & { op: "cancel"; state?: JobState; missing?: true };
/** `fail`: 409, the job is not FAILED or TIMED_OUT. */
export type RetryOp = JobOp & { op: "retry"; missing?: true };
/** A read of `/stream`: those before `next`, at the cursor. */
export type StreamOp = JobOp & { op: "stream"; next?: number; chunks?: string[]; missing?: true };
/** Server-sent events from number `start`; with `seen` up to the end of the job. */
export type EventsOp = JobOp & {
	op: "events";
	start: number;
	chunks: Chunks;
	seen?: Seen;
	missing?: true;
};
export type ReportOp = JobOp & { op: "report"; kind: "complete" | "fail"; text: string };
/** A worker gives a job back (D54). `take` as of chunks. */
export type ReturnOp = JobOp & { op: "return"; take: number; loss: boolean };
/** `take`: which run of the job, counted by the harness. */
export type ChunkOp = JobOp & { op: "chunk"; take: number; text: string };

/** A background response as an answer shows it. `text`: all of it, shortened by {@link brief}. */
export interface SeenResponse {
	status: "queued" | "in_progress" | "completed" | "failed" | "incomplete" | "cancelled";
	text: string;
}

/** `cancel`: the answer to a cancellation, which is an operation of its own too. */
export type ResponseReadOp = JobOp & {
	op: "response-read";
	how: "get" | "cancel";
	seen?: SeenResponse;
	missing?: true;
};
/** Number, type, and what else it says: of a text its delta, of others all, shortened by {@link brief}. */
export type ResponseEvent = [number: number, type: string, text: string];
/** Events with higher numbers than `after`; with `seen`, the response of the last event, up to the end. */
export type ResponseEventsOp = JobOp & {
	op: "response-events";
	after: number;
	events: ResponseEvent[];
	seen?: SeenResponse;
	missing?: true;
};
/** A worker holds a job no longer, without a report. */
export type DropOp = JobOp & { op: "drop"; why: "crash" | "stopped" | "omitted" | "suspended" };
/** A delivery arrived, and was answered with a status. */
export type WebhookOp = JobOp & { op: "webhook"; delivery: string; status: number; seen: Seen };
/** The harness is finished with a job, which has ended. */
export type CloseOp = JobOp & { op: "close" };

export interface TakeOp extends Timed {
	op: "take";
	endpoint: string;
	size: number;
	/** It said that it holds no job. */
	idle: boolean;
	/** `take` numbers the runs; `run` is the number that the service gave (D55). */
	jobs: { id: string; n: number; input: string; take: number; run?: number }[];
}

export interface PingOp extends Timed {
	op: "ping";
	endpoint: string;
	named: string[];
}

export interface PurgeOp extends Timed {
	op: "purge";
	endpoint: string;
	removed?: number;
}

/** `idle`: nothing happens at the endpoint, and all of its jobs are closed. */
export interface HealthOp extends Timed {
	op: "health";
	endpoint: string;
	idle: boolean;
	jobs?: Record<"completed" | "failed" | "inProgress" | "inQueue" | "retried", number>;
}

/** Processes of launched workers that live, counted when one starts. */
export interface LaunchedOp extends Timed {
	op: "launched";
	endpoint: string;
	alive: number;
}

/** Members of an object as texts, by their names. */
export type Members = Readonly<Record<string, string>>;

/**
 * Something that operators and clients change, such as `endpoint mixed`, `template 12ab`, `file n-1` or
 * `s3 shared/k-01`.
 */
interface ObjectOp extends Timed {
	object: string;
	/** The address of the server that was asked. */
	server: string;
}

/**
 * What was done to an object. A creation sets all members, and a `put` creates or sets them all; after a
 * deletion there are none. `upload`: by the completion of this upload in parts.
 */
export type ChangeOp = ObjectOp & {
	op: "change";
	how: "create" | "put" | "set" | "delete";
	sets: Members;
	upload?: string;
};

/**
 * What a server showed after it had read the store, in a list or by the refusal of what only a missing object allows.
 * `missing`: 404, or not in the list.
 */
export type ShownOp = ObjectOp & {
	op: "shown";
	how?: "list" | "condition";
	members?: Members;
	missing?: true;
};

/** What was asked of an upload in parts (D59), or that a list has it. A completion is a change of its object too. */
export interface UploadOp extends ObjectOp {
	op: "upload";
	upload: string;
	how: "part" | "complete" | "abort" | "listed";
	/** Numbers and ETags: the part that was sent, or those that the completion names. */
	parts?: [number: number, etag: string][];
	/** S3's code of a refusal. */
	error?: string;
}

/** States of a batch in which it changes no more. */
export const ENDED_STATES = ["completed", "failed", "cancelled", "expired"] as const;

/** A batch as an answer shows it. */
export interface SeenBatch {
	state: "validating" | "in_progress" | "finalizing" | "cancelling" | (typeof ENDED_STATES)[number];
	total: number;
	completed: number;
	failed: number;
	/** Ids of its files, and all else that stays the same after its end, shortened by {@link brief}. */
	rest: string;
}

/** A client asks for a batch. Repeats of the request name the same file, and no other request does. */
export interface BatchOp extends Timed {
	op: "batch";
	endpoint: string;
	file: string;
	/** Numbers in its requests, whose `custom_id` is `n-` and the number. */
	lines: { n: number; input: string }[];
	/** A further line of the file is none. */
	bad?: true;
	batch?: string;
	/** Of a refusal. */
	error?: string;
}

/** `cancel`: the answer to a cancellation. `missing`: 404, or not in the list. */
export interface BatchReadOp extends Timed {
	op: "batch-read";
	batch: string;
	how: "get" | "list" | "cancel";
	seen?: SeenBatch;
	missing?: true;
}

/** A line of a file, of which `status` and `job` are in its response, `code` in its error. */
export interface ResultLine {
	/** Its `custom_id`. */
	id: string;
	job?: string;
	status?: number;
	code?: string;
	/** Body of the response. */
	text?: string;
}

/** The files of an ended batch as a client read them. `missing`: 404. */
export interface BatchFilesOp extends Timed {
	op: "batch-files";
	batch: string;
	output: ResultLine[];
	errors: ResultLine[];
	missing?: true;
}

export interface FileTotal {
	files: number;
	bytes: number;
}

/** Files of an endpoint as `/metrics` counts them and as they are listed, when none changes any more. */
export interface FileTotalsOp extends Timed {
	op: "file-totals";
	endpoint: string;
	counted: FileTotal;
	listed: FileTotal;
}

/** A fault in which servers do not reach their store, and answer all the same: how it begins. */
export const PARTITION = "partition";

/** Something is broken, until all work again. */
export interface FaultOp extends Timed {
	op: "fault";
	what: string;
}

export type JobBoundOp =
	| ReadOp
	| CancelOp
	| RetryOp
	| StreamOp
	| EventsOp
	| ReportOp
	| ReturnOp
	| ChunkOp
	| DropOp
	| WebhookOp
	| ResponseReadOp
	| ResponseEventsOp
	| CloseOp;
export type Op =
	| EndpointTerms
	| SubmitOp
	| JobBoundOp
	| TakeOp
	| PingOp
	| PurgeOp
	| HealthOp
	| LaunchedOp
	| ChangeOp
	| ShownOp
	| UploadOp
	| BatchOp
	| BatchReadOp
	| BatchFilesOp
	| FileTotalsOp
	| FaultOp;

/** Longest text that a history holds as it is. */
const BRIEF = 80;

/** Texts that are equal where the whole ones are. */
export function brief(text: string): string {
	if (text.length <= BRIEF) return text;
	return `${text.length}:${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
}

/** Lines of a segment; segments that are kept. */
const SEGMENT_BYTES = 32 * 2 ** 20;
const SEGMENTS = 8;
const BUFFER = 64 * 1024;

/** A history in files of bounded size: of a long run the latest. */
export interface HistoryFile {
	add(op: Op): void;
	/** Writes what is buffered, and closes. Answers the paths, oldest first. */
	close(): string[];
}

export function historyFile(folder: string): HistoryFile {
	const paths: string[] = [];
	let file: number | undefined;
	let bytes = 0;
	let serial = 0;
	let buffered: string[] = [];
	let length = 0;

	function flush(): void {
		if (length === 0) return;
		if (file === undefined || bytes > SEGMENT_BYTES) next();
		bytes += writeSync(file!, buffered.join(""));
		buffered = [];
		length = 0;
	}

	function next(): void {
		if (file !== undefined) closeSync(file);
		const path = join(folder, `history-${String((serial += 1)).padStart(4, "0")}.jsonl`);
		file = openSync(path, "w");
		bytes = 0;
		paths.push(path);
		if (paths.length > SEGMENTS) rmSync(paths.shift()!);
	}

	return {
		add(op) {
			const line = `${JSON.stringify(op)}\n`;
			buffered.push(line);
			length += line.length;
			if (length > BUFFER) flush();
		},
		close() {
			flush();
			if (file !== undefined) closeSync(file);
			return paths;
		},
	};
}

/** The operations of a file. */
export function readHistory(path: string): Op[] {
	return readFileSync(path, "utf8")
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line) as Op);
}
