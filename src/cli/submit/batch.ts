/**
 * `sluice jobs submit --file` (D36): one job per line, many at once. Idempotency keys prevent
 * duplicates in a repeated run.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { CliError } from "../errors.ts";
import { submissionBody, type SubmissionMembers } from "./body.ts";
import { type JobCalls, RefusedJob } from "./job-calls.ts";
import { linesOf, type Result, type Results } from "./results.ts";

interface Batch {
	calls: JobCalls;
	file: string;
	/** Part of every idempotency key: another name submits the same lines again. */
	batch: string;
	/** Jobs at once. */
	concurrency: number;
	members: SubmissionMembers;
	results: Results;
	/** After each line; `end`: bytes of the file read so far. */
	progress: (state: { counts: ReadonlyMap<string, number>; end: number }) => void;
	warn: (sentence: string) => void;
}

/**
 * Submits all lines and waits for their jobs. Returns line counts by status, earlier runs included.
 * Throws {@link CliError} if the batch cannot continue.
 */
export async function submitBatch(q: Batch): Promise<ReadonlyMap<string, number>> {
	const counts = new Map<string, number>();
	const lines = linesOf(q.file);
	let index = 0;
	let fatal: unknown;

	function count(status: string, end: number): void {
		counts.set(status, (counts.get(status) ?? 0) + 1);
		q.progress({ counts, end });
	}

	async function submitLine(bytes: Buffer, at: number, end: number): Promise<void> {
		const text = bytes.toString("utf8").trim();
		if (text === "") return;
		const read = bytes.equals(Buffer.from(bytes.toString("utf8")))
			? submissionBody(text, q.members)
			: { ok: false as const, fault: "It is not valid UTF-8." };
		const key = keyOf(q, at, read.ok ? read.body : text);
		const before = q.results.known(at, key);
		if (before !== undefined) return count(before, end);
		const result: Result = read.ok
			? await runJob(q.calls, read.body, { index: at, key })
			: refusal({ index: at, key }, read.fault);
		if (result.status === "REFUSED") q.warn(`Line ${at}: ${String(JSON.parse(result.error ?? '""'))}`);
		q.results.write(result);
		count(result.status, end);
	}

	async function submitLines(): Promise<void> {
		while (fatal === undefined) {
			const { value: line, done } = await lines.next();
			if (done) return;
			index += 1;
			await submitLine(line.bytes, index, line.end);
		}
	}

	const loops = Array.from({ length: q.concurrency }, () => submitLines().catch((error: unknown) => (fatal ??= error)));
	await Promise.all(loops);
	if (fatal !== undefined) throw fatal;
	return counts;
}

/** A final rejection is also a result. */
async function runJob(calls: JobCalls, body: string, line: { index: number; key: string }): Promise<Result> {
	let id: string | undefined;
	try {
		id = await calls.submit(body, line.key);
		const { status, output, error } = await calls.ended(id);
		return { ...line, id, status, output, error };
	} catch (error) {
		if (!(error instanceof RefusedJob)) throw error;
		return { ...refusal(line, error.message), id };
	}
}

function refusal(line: { index: number; key: string }, sentence: string): Result {
	return { ...line, status: "REFUSED", error: JSON.stringify(sentence) };
}

function keyOf({ file, batch }: Batch, index: number, body: string): string {
	const parts = JSON.stringify([batch, basename(file), index, sha256(body)]);
	return `batch-${sha256(parts)}`;
}

function sha256(text: string): string {
	return createHash("sha256").update(text).digest("hex");
}

export function concurrencyOf(text: string | undefined): number {
	if (text === undefined) return 20;
	const value = Number(text);
	if (!Number.isInteger(value) || value < 1 || value > 200)
		throw new CliError(`--concurrency must be a whole number from 1 to 200, not '${text}'.`);
	return value;
}
