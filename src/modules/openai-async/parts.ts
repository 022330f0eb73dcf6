/** Writes results of requests into hidden files, from which the output is made at the end (D57). */
import type { WrittenFile } from "../../kernel/engine/stored-files.ts";
import { type JsonText, release } from "../../kernel/lib/json/json-text.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import type { Batch, RunContext } from "./batch.ts";
import { answerOf } from "./job.ts";
import { answered } from "./outcome.ts";
import { type Counts, type OpenLine, type Progress, sumOf } from "./progress.ts";
import type { JobResult } from "../../kernel/core/jobs/job-view.ts";

/** A request that has ended, whose result is in no part yet. */
export interface EndedLine extends OpenLine {
	isAnswer: boolean;
	/** Its line in a file; undefined for a large result, which is read when it is written. */
	text?: JsonText | undefined;
	/** The job of a large result. */
	found?: JobResult | undefined;
	counts: Counts;
	/** Bytes that are held, or that the store holds. */
	size: number;
}

/**
 * Stores the results with a new version of the batch, which `after` makes of their counts. With `isBounded` returns
 * false, without a change, if the files would pass their bounds.
 */
export async function storeParts(
	d: RunContext,
	batch: Batch,
	{
		lines,
		isBounded,
		after,
	}: { lines: readonly EndedLine[]; isBounded: boolean; after: (collected: Counts) => Partial<Progress> },
): Promise<boolean> {
	const { output, errors, collected } = batch.progress;
	const sums = { counts: collected };
	const written: WrittenFile[] = [];
	let isKept = false;
	try {
		const write = async (isAnswer: boolean): Promise<WrittenFile | undefined> => {
			const some = lines.filter((each) => each.isAnswer === isAnswer);
			if (some.length === 0) return undefined;
			const file = await d.files.write(textsOf(d, batch, { lines: some, sums }));
			written.push(file);
			return file;
		};
		const [answers, others] = [await write(true), await write(false)];
		const partOf = (file: WrittenFile | undefined) => (file ? [{ id: file.id, bytes: file.bytes }] : []);
		isKept = await batch.save(
			{
				...after(sums.counts),
				collected: sums.counts,
				output: [...output, ...partOf(answers)],
				errors: [...errors, ...partOf(others)],
			},
			{ insert: written.map(batch.partRow), isBounded },
		);
		return isKept;
	} catch (error) {
		// The rows may be stored. Otherwise a sweep removes the bytes.
		isKept = error instanceof StoreUnavailable && error.unsure;
		throw error;
	} finally {
		for (const file of written)
			if (isKept) file.done();
			else await file.drop();
	}
}

async function* textsOf(
	{ kernel }: RunContext,
	batch: Batch,
	{ lines, sums }: { lines: readonly EndedLine[]; sums: { counts: Counts } },
): AsyncGenerator<Uint8Array> {
	for (const line of lines) {
		let { text, counts } = line;
		if (text === undefined) {
			const answer = await answerOf(kernel, line.found!);
			const name = { id: batch.requestId(line.line), customId: line.customId };
			({ text, counts } = answered(name, line.job, answer ?? "{}"));
		}
		sums.counts = sumOf(sums.counts, counts);
		if (typeof text === "string") yield Buffer.from(`${text}\n`);
		else {
			yield* text;
			yield Buffer.from("\n");
			release(text);
		}
	}
}
