/**
 * Thousands of jobs from a file (D36): as many at once as wished, each submitted once however often
 * the command is run, the results one line each.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { CliError } from "../command.ts";
import { RefusedJob } from "./job-calls.ts";
import type { JobCalls } from "./job-calls.ts";
import { submissionBody } from "./body.ts";
import type { SubmissionSettings } from "./body.ts";
import { linesOf } from "./results.ts";
import type { Result, Results } from "./results.ts";

/** What is to be done. */
export interface Batch {
	calls: JobCalls;
	file: string;
	/** Part of every idempotency key: another name submits the same lines again. */
	batch: string;
	concurrency: number;
	beside: SubmissionSettings;
	results: Results;
	/** A line has its result; `end` is how many bytes of the file are read. */
	progress: (state: { counts: ReadonlyMap<string, number>; end: number }) => void;
	/** A sentence about a line. */
	tell: (sentence: string) => void;
}

/**
 * Runs all lines. Answers how many ended in which state; those of earlier runs are among them.
 * Throws {@link CliError} when nothing can go on.
 */
export async function submitBatch(q: Batch): Promise<ReadonlyMap<string, number>> {
	const counts = new Map<string, number>();
	const lines = linesOf(q.file);
	let number = 0;
	let fatal: unknown;

	function count(status: string, end: number): void {
		counts.set(status, (counts.get(status) ?? 0) + 1);
		q.progress({ counts, end });
	}

	async function one(bytes: Buffer, index: number, end: number): Promise<void> {
		const text = bytes.toString("utf8").trim();
		if (text === "") return;
		const read = bytes.equals(Buffer.from(bytes.toString("utf8")))
			? submissionBody(text, q.beside)
			: { ok: false as const, fault: "It is not valid UTF-8." };
		const key = keyOf(q, index, read.ok ? read.body : text);
		const before = q.results.known(index, key);
		if (before !== undefined) return count(before, end);
		const result: Result = read.ok
			? await outcome(q.calls, read.body, { index, key })
			: refused({ index, key }, read.fault);
		if (result.status === "REFUSED")
			q.tell(`Line ${index}: ${String(JSON.parse(result.error ?? '""'))}`);
		q.results.write(result);
		count(result.status, end);
	}

	async function work(): Promise<void> {
		while (fatal === undefined) {
			const { value: line, done } = await lines.next();
			if (done) return;
			number += 1;
			await one(line.bytes, number, line.end);
		}
	}

	const all = Array.from({ length: q.concurrency }, () =>
		work().catch((error: unknown) => (fatal ??= error)),
	);
	await Promise.all(all);
	if (fatal !== undefined) throw fatal;
	return counts;
}

/** Submits and waits. What the service refuses for good is a result too. */
async function outcome(
	calls: JobCalls,
	body: string,
	at: { index: number; key: string },
): Promise<Result> {
	let id: string | undefined;
	try {
		id = await calls.submit(body, at.key);
		const { status, output, error } = await calls.ended(id);
		return { ...at, id, status, output, error };
	} catch (error) {
		if (!(error instanceof RefusedJob)) throw error;
		return { ...refused(at, error.message), id };
	}
}

function refused(at: { index: number; key: string }, sentence: string): Result {
	return { ...at, status: "REFUSED", error: JSON.stringify(sentence) };
}

function keyOf({ file, batch }: Batch, index: number, body: string): string {
	const content = createHash("sha256").update(body).digest("hex");
	return `batch-${createHash("sha256")
		.update(JSON.stringify([batch, basename(file), index, content]))
		.digest("hex")}`;
}

/** The number of jobs at once from its flag. */
export function concurrencyOf(given: string | undefined): number {
	if (given === undefined) return 20;
	const value = Number(given);
	if (!Number.isInteger(value) || value < 1 || value > 200)
		throw new CliError(`--concurrency must be a whole number from 1 to 200, not '${given}'.`);
	return value;
}
