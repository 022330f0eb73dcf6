/**
 * The job object (D6), built as text to keep `output` byte for byte (D5). Schema: `JOB` in `api/jobs.ts`, whose members
 * but `output` are in `LISTED_JOB`.
 */
import type { Job } from "./job.ts";
import { type JsonPieces, type JsonText, piecesOf, sizeOf } from "../../lib/json/json-text.ts";
import type { JobState } from "./job-states.ts";

export interface JobResult {
	job: Job;
	/** The result, or a running job's latest progress value. */
	output?: JsonText | undefined;
	/** Size of a large output that was not read. */
	outputBytes?: number;
	/** A sentence, or what the worker sent. */
	error?: string | undefined;
}

/** Admits an output into memory (D41). The promise, if it has to wait or to be read, may reject. */
export type AdmitOutput = (found: JobResult) => Promise<void> | undefined;

export function outputSize({ output, outputBytes }: JobResult): number {
	return outputBytes ?? (output === undefined ? 0 : sizeOf(output));
}

/** Ms of the last queue wait; grows while the job waits (D6). */
export function delayTime(job: Job, now: number): number {
	return Math.max(0, Math.round((job.startedAt ?? job.endedAt ?? now) - job.queuedAt));
}

/** Ms of the last attempt; grows while it runs, 0 before (D6). */
export function executionTime(job: Job, now: number): number {
	return job.startedAt === undefined ? 0 : Math.max(0, Math.round((job.endedAt ?? now) - job.startedAt));
}

/** JSON text on one line; in pieces if the output is large. */
export function jobView(result: JobResult & { output?: string | undefined }, now: number): string;
export function jobView(result: JobResult, now: number): JsonPieces;
export function jobView({ job, output, error }: JobResult, now: number): JsonPieces {
	const shown =
		output !== undefined && (job.state === "COMPLETED" || job.state === "IN_PROGRESS" || job.state === "FAILED");
	let text =
		`{"id":"${job.id}","status":"${job.state}","delayTime":${delayTime(job, now)}` +
		`,"executionTime":${executionTime(job, now)}`;
	const head = shown && typeof output !== "string" ? [`${text},"output":`, output] : undefined;
	if (head) text = "";
	else if (shown) text += `,"output":${output as string}`;
	if (error !== undefined && job.state !== "IN_QUEUE" && job.state !== "IN_PROGRESS")
		text += `,"error":${JSON.stringify(error)}`;
	if (job.worker !== undefined) text += `,"workerId":${JSON.stringify(job.worker)}`;
	if (job.returns > 0) text += `,"retries":${job.returns}`;
	text += "}";
	return head ? piecesOf(...head, text) : text;
}

/** Answers of `/run`, `/cancel` and `/retry` (spec 2.8, 4). */
export function statusView(id: string, state: JobState): string {
	return `{"id":"${id}","status":"${state}"}`;
}
