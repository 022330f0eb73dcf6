/**
 * What the service answers, as far as the console reads it (`src/http/docs/shapes.ts` describes all
 * of it). Moments are ISO 8601, times ms.
 */
import type { DeliveryState } from "../../src/core/delivery.ts";
import type { Scope } from "../../src/core/key-request.ts";
import type { JobState } from "../../src/core/job-states.ts";
import type { TimelineEvent } from "../../src/core/timeline-events.ts";
import type { Reason } from "../../src/core/timeline.ts";

export type { DeliveryState, JobState, Scope };

/** Who is signed in; `endpoints`: the only ones the key is good for. */
export interface Principal {
	name: string;
	scopes: readonly Scope[];
	endpoints?: readonly string[];
}

export interface JobCounts {
	completed: number;
	failed: number;
	inProgress: number;
	inQueue: number;
	retried: number;
}

export interface WorkerCounts {
	idle: number;
	initializing: number;
	ready: number;
	running: number;
	throttled: number;
	unhealthy: number;
}

/** An endpoint in the live feed. */
export interface Overview {
	id: string;
	name: string;
	paused: boolean;
	queue: JobCounts;
	workers: WorkerCounts;
	perMinute: Partial<Record<Outcome | "submitted" | "retried", number>>;
	/** Jobs ended per minute, the last 30 min. */
	spark: readonly number[];
}

export type Outcome = "completed" | "failed" | "timedOut" | "cancelled";

/** An endpoint with its settings. */
export interface Endpoint extends Readonly<Record<string, unknown>> {
	id: string;
	name: string;
	launcher: { type: string };
	env: readonly string[];
	paused: boolean;
	createdAt: string;
	jobs: JobCounts;
	workers: WorkerCounts;
}

export type Series = readonly (number | null)[];

/** The history of an endpoint; `step` in ms, null where nothing is known. */
export interface Metrics {
	step: number;
	from: string;
	series: Record<
		| Outcome
		| "submitted"
		| "retried"
		| "queued"
		| "running"
		| "workersReady"
		| "workersBusy"
		| "workersStarting"
		| "coldStarts",
		Series
	> &
		Record<"delayMs" | "executionMs", Record<"p50" | "p95" | "p99", Series>>;
}

export interface JobSummary {
	id: string;
	status: JobState;
	delayTime: number;
	executionTime: number;
	error?: string;
	workerId?: string;
	retries?: number;
	submittedAt: string;
	startedAt?: string;
	endedAt?: string;
	expired: boolean;
}

export interface Attempt {
	attempt: number;
	workerId: string;
	startedAt: string;
	endedAt?: string;
	end: string;
	open: boolean;
	stop?: string;
}

export interface JobDetail extends JobSummary {
	queuedAt: string;
	expiresAt?: string;
	reason?: Reason;
	operation: string;
	lowPriority: boolean;
	policy: { ttl: number; executionTimeout: number };
	webhook?: string;
	s3Config: boolean;
	chunks: { written: number; delivered: number };
	attempts: readonly Attempt[];
	timeline: readonly {
		at: string;
		event: TimelineEvent["event"];
		message: string;
		attempt?: number;
		workerId?: string;
	}[];
	input?: unknown;
	output?: unknown;
}

export interface WorkerShown {
	id: string;
	state: "initializing" | "idle" | "running" | "unhealthy" | "stopping";
	launcher: string;
	createdAt: string;
	seenAt: string;
	jobs: readonly string[];
	gpus?: readonly number[];
	version?: string;
	warning?: string;
}

export interface LogLine {
	text: string;
	position: number;
	job?: string;
	level?: string;
}

export interface Delivery {
	id: string;
	endpoint: string;
	job: string;
	state: DeliveryState;
	url: string;
	createdAt: string;
	dueAt?: string;
	tries: readonly { at: string; tookMs: number; status?: number; error?: string }[];
}

export interface ApiKey {
	id: string;
	name: string;
	scopes: readonly Scope[];
	endpoints?: readonly string[];
	createdAt: string;
	lastUsedAt?: string;
	/** Only in the answer to its making. */
	key?: string;
}

/** A page of a list; `next` is the cursor of the page after it. */
export type Page<Name extends string, Item> = Record<Name, readonly Item[]> & {
	next: string | null;
};
