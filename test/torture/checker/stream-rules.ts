/**
 * Rules of a job's chunks (D7): in order, none lost, none twice. A chunk's text names its run, so
 * that those of a lost run are not taken for those of the run that ended the job.
 */
import type { Chunks, EventsOp, StreamOp } from "../history.ts";
import { type Attempt, type JobHistory, mayRepeat, over } from "./job-history.ts";
import { found, type Found, type JobRule } from "./job-rules.ts";

/** Reads that have an answer, all in the last epoch, by the time of their requests. */
function answered<O extends EventsOp | StreamOp>(job: JobHistory, ops: readonly O[]): O[] {
	const epoch = job.restarts().length;
	return ops.filter((op) => op.chunks && job.epochAt(op) === epoch).toSorted((a, b) => a.from - b.from);
}

/** The chunks of a read at the cursor with their numbers. */
function numbered({ next = 0, chunks = [] }: StreamOp): Chunks {
	return chunks.map((text, index) => [next - chunks.length + index, text]);
}

/** The same number is the same chunk for all readers, and numbers grow. */
const numbers: JobRule = (job) => {
	const known = new Map<number, { text: string; op: EventsOp | StreamOp }>();
	const reads: { op: EventsOp | StreamOp; chunks: Chunks }[] = [
		...answered(job, job.events).map((op) => ({ op, chunks: op.chunks })),
		...answered(job, job.streams).map((op) => ({ op, chunks: numbered(op) })),
	];
	for (const { op, chunks } of reads) {
		let last = -1;
		for (const [number, text] of chunks) {
			if (number <= last) return [found("chunks", `chunk ${number} after ${last}`, op)];
			last = number;
			const before = known.get(number);
			if (before && before.text !== text) return [found("chunks", `two chunks have number ${number}`, before.op, op)];
			known.set(number, { text, op });
		}
	}
	return [];
};

/** Reads of all chunks after the end. */
function complete(job: JobHistory): EventsOp[] {
	return answered(job, job.events).filter(({ start, seen, from }) => {
		const end = job.observations().find(({ seen: { state } }) => state === "COMPLETED");
		return start === 0 && seen?.state === "COMPLETED" && end !== undefined && end.to <= from;
	});
}

/** Of the run that ended the job: each acknowledged chunk is there, in order, once. */
const whole: JobRule = (job) => {
	for (const read of complete(job)) {
		const texts = read.chunks.map(([, text]) => text);
		const twice = texts.find((text, at) => texts.indexOf(text) < at && !mayRepeat(job, text));
		if (twice) return [found("chunks", `chunk ${twice} is there twice`, read)];
		const posted = new Set(job.chunks.map(({ text }) => text));
		const foreign = texts.find((text) => !posted.has(text));
		if (foreign) return [found("chunks", `no worker posted ${foreign}`, read)];
		for (const attempt of job.attempts()) {
			const wrong = inOrder(attempt, texts, read);
			if (wrong) return [wrong];
		}
		const last = winner(job, read);
		const lost = last?.chunks.find(({ result, text }) => result === "ok" && !texts.includes(text));
		if (lost) return [found("chunks", "an acknowledged chunk is missing", lost, read)];
	}
	return [];
};

/** The run whose report is the result, where only one can be. */
function winner(job: JobHistory, read: EventsOp): Attempt | undefined {
	const winners = job.attempts().filter(({ reports }) => reports.some(({ text }) => text === read.seen?.output));
	return winners.length === 1 ? winners[0] : undefined;
}

function inOrder({ chunks }: Attempt, texts: readonly string[], read: EventsOp): Found | undefined {
	// A repeat of a post has its text again.
	const order = [...new Set(chunks.map(({ text }) => text))].filter((text) => texts.includes(text));
	const there = [...new Set(texts)].filter((text) => order.includes(text));
	return order.join() === there.join()
		? undefined
		: found("chunks", "the chunks of a run are in another order", ...chunks, read);
}

/** A reader of events that reached the end saw every chunk. */
const followed: JobRule = (job) => {
	const [read] = complete(job);
	if (!read) return [];
	const byReader = Map.groupBy(answered(job, job.events), ({ by }) => by);
	for (const [, ops] of byReader) {
		if (ops[0]!.start > 0 || !ops.at(-1)!.seen) continue;
		const seen = new Set(ops.flatMap(({ chunks }) => chunks.map(([number]) => number)));
		const missed = read.chunks.find(([number]) => !seen.has(number));
		if (missed) return [found("chunks", `a reader missed chunk ${missed[0]}`, ...ops, read)];
	}
	return [];
};

/** Reads at the cursor deliver each chunk, and once unless something broke (D7 Delivery). */
const delivered: JobRule = (job) => {
	const reads = answered(job, job.streams);
	const [all] = complete(job);
	const unsure = job.streams.filter(({ result }) => result === "unknown");
	const broken = (from: number, to: number): boolean =>
		unsure.some((each) => each.from < to && over(each) > from) || job.faultsIn({ from, to }).length > 0;
	for (const [index, read] of reads.entries()) {
		const before = reads[index - 1];
		const start = (read.next ?? 0) - (read.chunks?.length ?? 0);
		if (before && read.from < before.to) return [];
		const known = before?.next ?? 0;
		if (read.chunks!.length > 0 && start < known && !broken(before!.from, read.to))
			return [found("chunks", "a chunk was delivered twice", before, read)];
		const skipped = all?.chunks.find(([number]) => number >= known && number < start);
		if (skipped && !broken(before?.from ?? job.createdFrom(), read.to))
			return [found("chunks", `chunk ${skipped[0]} was skipped`, before, read, all)];
	}
	const last = reads.at(-1);
	const left = all?.chunks.find(([number]) => number >= (last?.next ?? 0));
	// A server that is cut off keeps what it reserved until its session ends: reads are empty, and not the last.
	const isAtEnd = last?.chunks?.length === 0 && all && last.from > all.from && !broken(last.from, last.to);
	return left && isAtEnd ? [found("chunks", "the last chunks were not delivered", last, all)] : [];
};

export const STREAM_RULES: readonly JobRule[] = [numbers, whole, followed, delivered];
