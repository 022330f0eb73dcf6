/** Takes jobs while `concurrency` allows, one request at a time (protocol B.2 to B.4). */
import { waitAfter } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import type { HeldJob, HeldJobs } from "../held-jobs.ts";
import { readJobs } from "./job-text.ts";
import type { Log } from "../log.ts";
import type { Poll, PollAnswer } from "./poll.ts";
import { createPollErrorLog, reasonOf } from "./poll-error-log.ts";
import type { Job, StartOptions } from "../types.ts";

export interface TakeLoopOptions {
	poll: Poll;
	path: (batch: number, busy: boolean) => string;
	held: HeldJobs;
	concurrency: NonNullable<StartOptions["concurrency"]>;
	/** Must not throw. */
	run: (job: Job, held: HeldJob) => void;
	onBatchSize: (most: number) => void;
	onChunkBatch: (most: number) => void;
	onReturns: (taken: boolean) => void;
	clock: Clock;
	random: () => number;
	log: Log;
	/** Ends the loop. The caller also hangs up the poll. */
	stopping: AbortSignal;
}

const TOO_MANY_REQUESTS_MS = 5000;
const FAILED = { firstMs: 1000, longestMs: 1000 };
/** Minimum interval of empty answers, for services that do not hold polls. */
const EMPTY_MS = 100;
/** Interval of calls to a concurrency function while no slot is free. */
const RECHECK_MS = 1000;
/** After a handler blocked longer, the loop pauses to let results out. */
const BLOCKED_MS = 5;
const NO_LIMIT_MS = 2 ** 31 - 1;
/** Abort reason, because the default one creates an exception object each time. */
const ROOM = "room";

/** Runs until `stopping` aborts. Jobs in a later answer still run. */
export async function takeLoop({
	poll,
	path,
	held,
	concurrency,
	run,
	onBatchSize,
	onChunkBatch,
	onReturns,
	clock,
	random,
	log,
	stopping,
}: TakeLoopOptions): Promise<void> {
	const errors = createPollErrorLog("job-take", log);
	let limit = typeof concurrency === "number" ? concurrency : 1;

	async function freeSlots(): Promise<number> {
		if (typeof concurrency === "function") {
			try {
				const asked: number = await concurrency(limit);
				if (!Number.isFinite(asked)) throw new RangeError(`it returned ${asked}, which is not a finite number`);
				limit = Math.max(0, Math.floor(asked));
			} catch (error) {
				log("ERROR", `The concurrency function failed; using ${limit}: ${String(error)}`);
			}
		}
		// A slot is free once its handler returned. Pending reports delay takes only from half the limit on.
		return Math.min(limit - held.running, limit + Math.floor(limit / 2) - held.size);
	}

	async function waitForSlot(): Promise<void> {
		const made = new AbortController();
		const wake = () => made.abort(ROOM);
		held.onRoom = wake;
		stopping.addEventListener("abort", wake);
		if (stopping.aborted) wake();
		await clock.sleep(typeof concurrency === "function" ? RECHECK_MS : NO_LIMIT_MS, made.signal);
		stopping.removeEventListener("abort", wake);
		held.onRoom = () => {};
	}

	/** Starts the jobs of an answer. Returns the wait before the next take, ms. */
	async function accept(answer: PollAnswer, began: number): Promise<number> {
		if (answer.kind === "failed" || (answer.kind === "answer" && isFailure(answer.status))) {
			const first = answer.kind === "failed" && answer.stale && errors.tries === 0;
			if (!stopping.aborted) errors.failed(reasonOf(answer));
			return first ? 0 : waitAfter(1, FAILED, random);
		}
		errors.succeeded();
		if (answer.kind === "answer" && answer.status === 429) return TOO_MANY_REQUESTS_MS;
		const started = answer.kind === "answer" && answer.status === 200 ? await start(answer) : 0;
		return started > 0 ? 0 : EMPTY_MS - (clock.now() - began);
	}

	async function start(answer: {
		json: boolean;
		text: string;
		resultBatch: number;
		chunkBatch: number;
		takesReturns: boolean;
	}): Promise<number> {
		if (!answer.json || answer.text === "") return 0;
		// Missing in answers to a take of one job.
		if (answer.resultBatch > 0) onBatchSize(answer.resultBatch);
		onChunkBatch(answer.chunkBatch);
		onReturns(answer.takesReturns);
		const { jobs, problems } = readJobs(answer.text);
		for (const problem of problems) log("ERROR", problem);
		// The ping table must contain all jobs before the first handler may block.
		const entries = jobs.map((job) => held.add(job.id, attemptOf(job)));
		for (const [index, job] of jobs.entries()) {
			const entry = entries[index];
			const began = clock.now();
			if (entry) run(job, entry);
			else log("WARN", "The job was received again while this worker still holds it; ignoring the copy.", job.id);
			if (clock.now() - began > BLOCKED_MS) await clock.sleep(BLOCKED_MS);
		}
		return jobs.length;
	}

	while (!stopping.aborted) {
		const free = await freeSlots();
		if (free <= 0) {
			await waitForSlot();
			// Acknowledgements arrive in bursts, so one take covers all freed slots.
			await pendingInput();
			continue;
		}
		const began = clock.now();
		const wait = await accept(await poll.get(path(free, held.size > 0)), began);
		if (wait > 0) await clock.sleep(wait, stopping);
		else await pendingInput();
	}
}

function attemptOf({ attempt }: Job): number | undefined {
	return typeof attempt === "number" ? attempt : undefined;
}

function isFailure(status: number): boolean {
	return status !== 429 && status !== 400 && (status < 200 || status > 299);
}

function pendingInput(): Promise<void> {
	return new Promise((resolve) => setImmediate(resolve));
}
