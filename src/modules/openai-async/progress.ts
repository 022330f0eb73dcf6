/** How far a batch is (D57): what its row keeps, and what clients see of it. */
import type { Sendable } from "../../kernel/api/definition/schema.ts";
import type { Kernel } from "../../kernel/module.ts";
import type { BatchRow } from "../../kernel/store/contract/batches.ts";
import type { BatchObject, BatchStatus } from "./routes.ts";

/** Where a line of the input begins. */
export interface Place {
	/** Number, from 1. */
	line: number;
	byte: number;
}

/** A line whose job is stored, and whose result is in no part yet. */
export interface OpenLine extends Place {
	job: string;
	customId: string;
}

/** The members of an open line only. */
export const openLine = ({ line, byte, customId, job }: OpenLine): OpenLine => ({ line, byte, customId, job });

export interface Tokens {
	input: number;
	cached: number;
	output: number;
	reasoning: number;
}

export interface Counts extends Tokens {
	completed: number;
	failed: number;
}

export const NO_COUNTS: Counts = { completed: 0, failed: 0, input: 0, cached: 0, output: 0, reasoning: 0 };

export function sumOf(a: Counts, b: Readonly<Counts>): Counts {
	const names = Object.keys(NO_COUNTS) as (keyof Counts)[];
	return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as unknown as Counts;
}

/** The larger one of each. */
export function mostOf(a: Readonly<Counts>, b: Readonly<Counts>): Counts {
	const names = Object.keys(NO_COUNTS) as (keyof Counts)[];
	return Object.fromEntries(names.map((name) => [name, Math.max(a[name], b[name])])) as unknown as Counts;
}

/** A hidden file with lines of the output or of the error file. */
export interface Part {
	id: string;
	bytes: number;
}

/** A fault of the input file. `line` is null for one of the whole file. */
export interface InputFault {
	code: string;
	line: number | null;
	message: string;
	param: string | null;
}

/** Why no further line is submitted; `failed`: the input cannot be read any more. */
export type Ending = "completed" | "cancelled" | "expired" | "failed";

/** Times in ms of the job clock. */
export interface Progress {
	state: "validating" | "in_progress" | "finalizing" | Ending;
	/** Set from `finalizing` on. */
	ending?: Ending;
	/** Path of each request, such as `/v1/chat/completions`. */
	path: string;
	input: string;
	/** What the client sent. */
	window: string;
	metadata: Readonly<Record<string, string>> | null;
	/** Lifetime of the output files. */
	outputMs: number;
	expiresAt: number;
	at: Partial<Record<"in_progress" | "finalizing" | Ending, number>>;
	/** Lines of the input. */
	total: number;
	/** The first line, but for refused ones, whose job may not be stored; undefined after the last. */
	next?: Place | undefined;
	/** Lines that are submitted again. */
	refused?: readonly Place[];
	/** No line from this one on has a job. */
	tried?: number | undefined;
	open: readonly OpenLine[];
	/** Sums of the parts. */
	collected: Counts;
	/** Those, and what has ended and is in no part yet. */
	shown: Counts;
	output: readonly Part[];
	errors: readonly Part[];
	outputFile: string | null;
	errorFile: string | null;
	faults: readonly InputFault[];
	/** Why it cannot go on at present: a sentence. */
	waits?: string | undefined;
	/** Address that gets an event at the end. */
	webhook?: string | undefined;
	/** Attempts to send it, and when the next one is due. */
	notification?: { event: string; attempts: number; dueAt: number } | undefined;
	/** SHA-256 of the request that made it, hex. */
	request: string;
}

/** All of its requests have ended, and its files are there. */
export const isOver = ({ state }: Pick<Progress, "state">): boolean =>
	state !== "validating" && state !== "in_progress" && state !== "finalizing";

export const progressOf = ({ progress }: Pick<BatchRow, "progress">): Progress => JSON.parse(progress) as Progress;

export function batchObject(row: BatchRow, calendar: Kernel["calendar"]): Sendable<BatchObject> {
	const progress = progressOf(row);
	const { at, shown, faults } = progress;
	const seconds = (ms: number | undefined): number | null =>
		ms === undefined ? null : Math.floor((calendar.of(ms) as number) / 1000);
	const status: BatchStatus = row.cancelledAt !== undefined && !isOver(progress) ? "cancelling" : progress.state;
	return {
		id: row.id,
		object: "batch",
		endpoint: progress.path,
		errors: faults.length === 0 ? null : { object: "list", data: faults },
		input_file_id: progress.input,
		completion_window: progress.window,
		status,
		output_file_id: progress.outputFile,
		error_file_id: progress.errorFile,
		created_at: seconds(row.createdAt)!,
		in_progress_at: seconds(at.in_progress),
		expires_at: seconds(progress.expiresAt),
		finalizing_at: seconds(at.finalizing),
		completed_at: seconds(at.completed),
		failed_at: seconds(at.failed),
		expired_at: seconds(at.expired),
		cancelling_at: seconds(row.cancelledAt),
		cancelled_at: seconds(at.cancelled),
		request_counts: { total: progress.total, completed: shown.completed, failed: shown.failed },
		usage: {
			input_tokens: shown.input,
			input_tokens_details: { cached_tokens: shown.cached },
			output_tokens: shown.output,
			output_tokens_details: { reasoning_tokens: shown.reasoning },
			total_tokens: shown.input + shown.output,
		},
		metadata: progress.metadata,
	};
}
