/** `sluice jobs submit --file` (D36). Idempotency keys prevent duplicates in a repeated run. */
import { hash } from "node:crypto";
import { basename } from "node:path";
import { linesOf } from "../framework/lines.ts";
import { submissionBody, type SubmissionMembers } from "./body.ts";
import { type JobCalls, RefusedJob } from "./job-calls.ts";
import type { Result, Results } from "./results.ts";

interface Batch {
	calls: JobCalls;
	file: string;
	/** Part of every idempotency key. Another name submits the same lines again. */
	batch: string;
	concurrency: number;
	members: SubmissionMembers;
	results: Results;
	progress: (counts: ReadonlyMap<string, number>, end: number) => void;
	warn: (sentence: string) => void;
}

/** Returns line counts by status, with earlier runs. Throws {@link CliError} if the batch cannot continue. */
export async function submitBatch(q: Batch): Promise<ReadonlyMap<string, number>> {
	const counts = new Map<string, number>();
	const lines = linesOf(q.file);
	let read = 0;
	let fatal: unknown;

	async function submitLine(bytes: Buffer, index: number): Promise<string | undefined> {
		const whole = bytes.toString("utf8");
		const text = whole.trim();
		if (text === "") return undefined;
		const submission = bytes.equals(Buffer.from(whole))
			? submissionBody(text, q.members)
			: ({ ok: false, fault: "It is not valid UTF-8." } as const);
		const body = submission.ok ? submission.body : text;
		const parts = JSON.stringify([q.batch, basename(q.file), index, hash("sha256", body)]);
		const key = `batch-${hash("sha256", parts)}`;
		const before = q.results.known(index, key);
		if (before !== undefined) return before;
		const result: Result = {
			index,
			key,
			...(submission.ok ? await runJob(q.calls, body, key) : refusal(submission.fault)),
		};
		if (result.status === "REFUSED") q.warn(`Line ${index}: ${String(JSON.parse(result.error ?? '""'))}`);
		q.results.write(result);
		return result.status;
	}

	async function submitLines(): Promise<void> {
		while (fatal === undefined) {
			const { value: line, done } = await lines.next();
			if (done) return;
			read += 1;
			const status = await submitLine(line.bytes, read);
			if (status === undefined) continue;
			counts.set(status, (counts.get(status) ?? 0) + 1);
			q.progress(counts, line.end);
		}
	}

	const loops = Array.from({ length: q.concurrency }, () => submitLines().catch((error: unknown) => (fatal ??= error)));
	await Promise.all(loops);
	if (fatal !== undefined) throw fatal;
	return counts;
}

async function runJob(calls: JobCalls, body: string, key: string): Promise<Omit<Result, "index" | "key">> {
	let id: string | undefined;
	try {
		id = await calls.submit(body, key);
		const { status, output, error } = await calls.ended(id);
		return { id, status, output, error };
	} catch (error) {
		if (!(error instanceof RefusedJob)) throw error;
		return { ...refusal(error.message), id };
	}
}

function refusal(sentence: string): { status: string; error: string } {
	return { status: "REFUSED", error: JSON.stringify(sentence) };
}
