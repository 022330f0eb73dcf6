/** Runs the requests of a batch and gathers their results, until all have ended or the rest is given up (D57). */
import { LARGE_BYTES, sizeOf } from "../../kernel/lib/json/json-text.ts";
import type { Clock } from "../../kernel/system/clock.ts";
import type { Batch, Control, RunContext } from "./batch.ts";
import { type RequestSource, requestSource } from "./request-source.ts";
import { MISSING_INPUT } from "./input.ts";
import { answerOf } from "./job.ts";
import { type Missing, outcomeOf, withoutAnswer } from "./outcome.ts";
import { type EndedLine, storeParts } from "./parts.ts";
import { type Counts, type Ending, mostOf, NO_COUNTS, openLine, type Place, type Progress, sumOf } from "./progress.ts";
import { type FreshLine, type Submissions, submissions } from "./submissions.ts";

/** A part is written when so many results, or so many bytes of them, are there. */
const PART = { lines: 500, heldBytes: 4 * 2 ** 20, bytes: 16 * 2 ** 20 };

/** Time between versions of the row that only show progress, ms. */
const SHOWN_MS = 2000;

/** Time between checks of what still runs after a cancellation, ms. */
const GIVE_UP_MS = 1000;

/** Pause after a refusal: the queue or the files are full, or a quota is used, ms. */
const REFUSED_MS = 5000;

/** Requests that run may end in this time after a cancellation, ms. */
const CANCEL_MS = 600_000;

export async function work(d: RunContext, batch: Batch, q: Control): Promise<void> {
	const stop = new AbortController();
	const signal = AbortSignal.any([q.signal, stop.signal]);
	const wait = waiter(d.kernel.clock);
	const requests = submissions(d, batch, { signal, wake: wait.wake });
	for (const line of batch.progress.open) requests.resume(line);
	const input = requestSource(d, batch, { requests, beside: q.beside });
	const forgetChanges = q.onCancel(wait.wake);
	try {
		await worked({ d, batch, q, signal, wait, requests, input });
	} finally {
		forgetChanges();
		stop.abort();
		await requests.settled();
		await input.close();
	}
}

interface Work {
	d: RunContext;
	batch: Batch;
	q: Control;
	signal: AbortSignal;
	wait: ReturnType<typeof waiter>;
	requests: Submissions;
	input: RequestSource;
}

async function worked({ d, batch, q, signal, wait, requests, input }: Work): Promise<void> {
	const { now } = d.kernel;
	let ended: EndedLine[] = [];
	/** Taken, and not among `ended` yet. */
	let taken: FreshLine[] = [];
	let ending: Ending | undefined;
	let pause: Pause | undefined;
	let savedAt = now();
	let gaveUpAt = -Infinity;

	/** What the row says when all of `kept` is in no part. */
	function state(kept: readonly EndedLine[], collected: Counts): Partial<Progress> {
		const next = input.first();
		const before = isBefore(next);
		const open = [...requests.open(), ...[...taken, ...kept].map(openLine)];
		const sum = kept.reduce((all, { counts }) => sumOf(all, counts), collected);
		// After a start the results of before may not be there yet.
		const shown = mostOf(batch.progress.shown, sum);
		const refused = input.refused().filter(before);
		return { next, open: open.filter(before), refused, shown, waits: pause?.why };
	}

	/** Only results of requests that the row will not submit again. The bounds of files stop what is to come, no end. */
	async function collect({ isBounded = ending === undefined } = {}): Promise<void> {
		const before = isBefore(input.first());
		const lines = ended.filter(before);
		if (lines.length === 0) return;
		const rest = ended.filter((each) => !before(each));
		const isStored = await storeParts(d, batch, {
			...{ lines, isBounded },
			after: (collected) => state(rest, collected),
		});
		if (!isStored) return pauseFor(FILES_FULL);
		if (pause?.why === FILES_FULL) pause = undefined;
		ended = rest;
		d.collected(batch.row.endpoint, lines.map(({ counts }) => counts).reduce(sumOf, NO_COUNTS));
		for (const { job } of lines) if (job) forget(d, { endpoint: batch.row.endpoint, id: job });
	}

	/** Nothing is submitted for a while, and until results that wait are in a part. */
	function pauseFor(why: string): void {
		pause = { why, until: now() + REFUSED_MS, stored: requests.stored };
	}

	const isDue = (): boolean =>
		ended.length >= PART.lines ||
		ended.reduce((sum, { text, size }) => sum + (text === undefined ? 0 : size), 0) >= PART.heldBytes ||
		ended.reduce((sum, { size }) => sum + size, 0) >= PART.bytes;

	const mayGoOn = (): boolean => pause === undefined || now() >= pause.until;

	async function giveUp(): Promise<void> {
		if (now() - gaveUpAt < GIVE_UP_MS) return;
		gaveUpAt = now();
		const code = missingOf(ending);
		for (const line of await input.givenUp()) ended.push(endedWithout(batch, { ...line, job: "" }, code));
		const cancelledAt = q.cancelledAt();
		const isExpired = now() >= batch.progress.expiresAt;
		if (isExpired || (cancelledAt !== undefined && now() >= cancelledAt + CANCEL_MS)) await requests.cancelAll();
		else if (cancelledAt !== undefined) await requests.cancelWaiting();
	}

	async function submitMore(): Promise<void> {
		// A refusal has ended when a job was stored since.
		if (pause && pause.why !== FILES_FULL && requests.stored > pause.stored) pause = undefined;
		if (pause?.why === FILES_FULL || !mayGoOn()) return;
		if (!(await input.fill())) ending = "failed";
	}

	async function saveProgress(): Promise<void> {
		savedAt = now();
		const next = state(ended, batch.progress.collected);
		const before = Object.fromEntries(Object.keys(next).map((name) => [name, batch.progress[name as keyof Progress]]));
		if (JSON.stringify(next) !== JSON.stringify(before)) await batch.save(next);
	}

	for (;;) {
		if (signal.aborted) {
			// The next run then knows what has begun. If this is refused, it submits the same again.
			await saveProgress().catch(() => {});
			signal.throwIfAborted();
		}
		taken = requests.ended();
		while (taken.length > 0) {
			ended.push(await endedLine(d, batch, { line: taken[0]!, ending }));
			taken.shift();
			if (isDue() && mayGoOn()) await collect();
		}
		const { places, refusal } = requests.refused();
		input.repeat(places);
		if (places.length > 0 && refusal && !ending) {
			pauseFor(refusal.message);
			if (OF_STORED_BYTES.has(refusal.code)) await collect();
		} else if (pause?.why === FILES_FULL && mayGoOn()) await collect();
		ending = endingOf(ending, { cancelled: q.cancelledAt() !== undefined, expired: now() >= batch.progress.expiresAt });
		if (ending) {
			if (input.mayHaveJobs) await input.findJobs();
			await giveUp();
		} else await submitMore();
		if (signal.aborted) continue;
		const isGivenUp = ending !== undefined && !input.repeats && !input.mayHaveJobs;
		const isOver = requests.count === 0 && !requests.hasEnded && (input.isDone || isGivenUp);
		if (isOver) await collect({ isBounded: false });
		if (isOver && ended.length === 0) {
			const how = ending ?? "completed";
			const at = { ...batch.progress.at, finalizing: now() };
			const faults = how === "failed" ? [MISSING_INPUT] : batch.progress.faults;
			const last = { ...state([], batch.progress.collected), shown: batch.progress.collected };
			await batch.save({ ...last, state: "finalizing", ending: how, at, faults });
			return;
		}
		if (now() - savedAt >= SHOWN_MS) await saveProgress();
		await wait.upTo(SHOWN_MS, signal);
	}
}

/** Refusals by bounds for which results count until they are in a file. */
const OF_STORED_BYTES: ReadonlySet<string> = new Set(["quota_full", "store_full"]);

/** Why and until when nothing is submitted; `stored`: jobs that were stored before. */
interface Pause {
	why: string;
	until: number;
	stored: number;
}

const FILES_FULL = "The files of the endpoint, or of all, have reached their bound. Delete some, or raise it.";

/** Whether a line is before a place, which is after the last one if it is undefined. */
const isBefore =
	(next: Place | undefined) =>
	({ line }: { line: number }): boolean =>
		next === undefined || line < next.line;

/** The first reason stays. */
function endingOf(
	before: Ending | undefined,
	{ cancelled, expired }: { cancelled: boolean; expired: boolean },
): Ending | undefined {
	return before ?? (cancelled ? "cancelled" : expired ? "expired" : undefined);
}

const missingOf = (ending: Ending | undefined): Missing => (ending === "expired" ? "batch_expired" : "batch_cancelled");

async function endedLine(
	{ kernel }: RunContext,
	batch: Batch,
	{ line: { found, ...line }, ending }: { line: FreshLine; ending: Ending | undefined },
): Promise<EndedLine> {
	if (!found || found.job.state === "CANCELLED") return endedWithout(batch, line, missingOf(ending));
	if (found.outputBytes !== undefined && found.outputBytes >= LARGE_BYTES && found.job.state === "COMPLETED")
		return { ...line, isAnswer: true, found, counts: { ...NO_COUNTS, completed: 1 }, size: found.outputBytes };
	const name = { id: batch.requestId(line.line), customId: line.customId };
	const answer = found.job.state === "COMPLETED" ? await answerOf(kernel, found) : undefined;
	const { isAnswer, text, counts } = outcomeOf(name, found, answer);
	return { ...line, isAnswer, text, counts, size: sizeOf(text) };
}

function endedWithout(batch: Batch, line: Omit<FreshLine, "found">, code: Missing): EndedLine {
	const { text, counts } = withoutAnswer({ id: batch.requestId(line.line), customId: line.customId }, code);
	return { ...line, isAnswer: false, text, counts, size: sizeOf(text) };
}

/** The store removes the result now, in the background; else it is kept for its time. */
function forget({ kernel }: RunContext, job: { endpoint: string; id: string }): void {
	const removed = kernel.jobs.retain({ ...job, retainMs: 0 }).catch(() => {});
	kernel.background.run(`removing the result of job ${job.id}`, removed);
}

/** A wait that ends early, or does not begin, after a call of `wake`. */
function waiter(clock: Clock) {
	let isWoken = false;
	let cut: AbortController | undefined;
	return {
		wake(): void {
			isWoken = true;
			cut?.abort();
		},
		async upTo(ms: number, signal: AbortSignal): Promise<void> {
			if (!isWoken) {
				cut = new AbortController();
				await clock.sleep(ms, AbortSignal.any([signal, cut.signal]));
			}
			isWoken = false;
		},
	};
}
