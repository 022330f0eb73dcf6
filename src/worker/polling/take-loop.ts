/**
 * Asks for jobs while there are free slots; one take is open at a time (protocol B.2 to B.4).
 */
import { waitAfter } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import type { HeldJob, HeldJobs } from "../held-jobs.ts";
import { readJobs } from "./job-text.ts";
import type { Log } from "../log.ts";
import type { Poll, PollAnswer } from "./poll.ts";
import { createPollErrorLog, reasonOf } from "./poll-error-log.ts";
import type { Job, StartOptions } from "../types.ts";

/** What {@link takeLoop} needs. */
export interface TakeLoopOptions {
	poll: Poll;
	/** Path of a take for so many jobs. */
	path: (batch: number, busy: boolean) => string;
	held: HeldJobs;
	concurrency: NonNullable<StartOptions["concurrency"]>;
	/** Starts a job; must not throw. */
	run: (job: Job, held: HeldJob) => void;
	/** Called when an answer tells how many results the service takes in one post. */
	together: (most: number) => void;
	clock: Clock;
	random: () => number;
	log: Log;
	/** Ends the loop; the open poll is to be hung up by whoever aborts this. */
	stopping: AbortSignal;
}

const TOO_MANY_REQUESTS_MS = 5000;
const FAILED = { firstMs: 1000, longestMs: 1000 };
/**
 * Empty answers that come at once are asked for again no faster than this, so that a service which
 * does not hold polls costs little.
 */
const EMPTY_MS = 100;
/** With a concurrency function: how often to ask it while nothing is free. */
const LOOK_AGAIN_MS = 1000;
/**
 * After a handler that blocked for longer, the loop pauses as long before the next one, so that
 * results get out between them.
 */
const BLOCKED_MS = 5;
const NO_LIMIT_MS = 2 ** 31 - 1;

/**
 * Runs until `stopping` aborts. Jobs of an answer that comes after that are still run: the service
 * counts on it.
 */
export async function takeLoop({
	poll,
	path,
	held,
	concurrency,
	run,
	together,
	clock,
	random,
	log,
	stopping,
}: TakeLoopOptions): Promise<void> {
	const trouble = createPollErrorLog("job-take", log);
	let limit = typeof concurrency === "number" ? concurrency : 1;

	async function freeSlots(): Promise<number> {
		if (typeof concurrency === "function") {
			try {
				limit = Math.floor(await concurrency(limit));
			} catch (error) {
				log("ERROR", `The concurrency function failed; ${limit} stays in force: ${String(error)}`);
			}
		}
		// A slot is free when its handler has ended; reports under way may fill half as many again
		// before takes wait for them.
		return Math.min(limit - held.running, limit + Math.floor(limit / 2) - held.size);
	}

	async function room(): Promise<void> {
		const made = new AbortController();
		const wake = () => made.abort();
		held.onRoom = wake;
		stopping.addEventListener("abort", wake);
		if (stopping.aborted) wake();
		await clock.sleep(typeof concurrency === "function" ? LOOK_AGAIN_MS : NO_LIMIT_MS, made.signal);
		stopping.removeEventListener("abort", wake);
		held.onRoom = () => {};
	}

	/** Starts the jobs of an answer and returns how long to wait before the next take, in ms. */
	async function accept(answer: PollAnswer, began: number): Promise<number> {
		if (answer.kind === "failed" || (answer.kind === "answer" && isFailure(answer.status))) {
			const first = answer.kind === "failed" && answer.stale && trouble.tries === 0;
			if (!stopping.aborted) trouble.is(reasonOf(answer));
			return first ? 0 : waitAfter(1, FAILED, random);
		}
		trouble.over();
		if (answer.kind === "answer" && answer.status === 429) return TOO_MANY_REQUESTS_MS;
		const started = answer.kind === "answer" && answer.status === 200 ? await start(answer) : 0;
		return started > 0 ? 0 : EMPTY_MS - (clock.now() - began);
	}

	async function start(answer: { json: boolean; text: string; together: number }): Promise<number> {
		if (!answer.json || answer.text === "") return 0;
		// A take of one job says nothing of it.
		if (answer.together > 0) together(answer.together);
		const { jobs, problems } = readJobs(answer.text);
		for (const problem of problems) log("ERROR", problem);
		// All are listed for the pings before the first handler may block.
		const entries = jobs.map((job) => held.add(job.id));
		for (const [index, job] of jobs.entries()) {
			const entry = entries[index];
			const began = clock.now();
			if (entry) run(job, entry);
			else
				log(
					"WARN",
					"The job was handed out again while this worker still holds it; the copy is dropped.",
					job.id,
				);
			if (clock.now() - began > BLOCKED_MS) await clock.sleep(BLOCKED_MS);
		}
		return jobs.length;
	}

	while (!stopping.aborted) {
		const free = await freeSlots();
		if (free <= 0) {
			await room();
			// Acknowledgements come in bursts: let the whole burst free its slots, then ask for all of
			// them.
			await turn();
			continue;
		}
		const began = clock.now();
		const wait = await accept(await poll.get(path(free, held.size > 0)), began);
		if (wait > 0) await clock.sleep(wait, stopping);
		else await turn();
	}
}

function isFailure(status: number): boolean {
	return status !== 429 && status !== 400 && (status < 200 || status > 299);
}

/** Resolves after the input that is ready now has been handled. */
function turn(): Promise<void> {
	return new Promise((resolve) => setImmediate(resolve));
}
