/** Polls the stop channel and aborts the named jobs (protocol B.8, D18). */
import { waitAfter } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import type { HeldJobs } from "../held-jobs.ts";
import type { Log } from "../log.ts";
import type { Poll, PollAnswer } from "./poll.ts";
import { createPollErrorLog, reasonOf } from "./poll-error-log.ts";

export interface StopLoopOptions {
	poll: Poll;
	path: string;
	held: HeldJobs;
	clock: Clock;
	random: () => number;
	log: Log;
	/** Ends the loop. The caller also hangs up the poll. */
	ended: AbortSignal;
}

const TOO_MANY_REQUESTS_MS = 5000;
const FAILED = { firstMs: 1000, longestMs: 5000 };
/** Pause after a poll that stops no job, because the service repeats a stop until the job has ended (D26). */
const NO_NEWS_MS = 1000;

export async function stopLoop({ poll, path, held, clock, random, log, ended }: StopLoopOptions): Promise<void> {
	const errors = createPollErrorLog("job-stop", log);

	/** Aborts the jobs of an answer. Returns the wait before the next poll, ms. */
	function accept(answer: PollAnswer, began: number): number {
		if (
			answer.kind === "failed" ||
			(answer.kind === "answer" && answer.status !== 200 && answer.status !== 204 && answer.status !== 429)
		) {
			const first = answer.kind === "failed" && answer.stale && errors.tries === 0;
			errors.failed(reasonOf(answer));
			return first ? 0 : waitAfter(errors.tries, FAILED, random);
		}
		errors.succeeded();
		if (answer.kind === "answer" && answer.status === 429) return TOO_MANY_REQUESTS_MS;
		let stopped = 0;
		for (const id of answer.kind === "answer" && answer.json ? jobsToStop(answer.text) : []) {
			if (!held.stop(id)) continue;
			stopped += 1;
			log("INFO", "Stopping the job at the request of the service.", id);
		}
		return stopped > 0 ? 0 : NO_NEWS_MS - (clock.now() - began);
	}

	while (!ended.aborted) {
		const began = clock.now();
		const answer = await poll.get(path);
		if (ended.aborted) return;
		const wait = accept(answer, began);
		if (wait > 0) await clock.sleep(wait, ended);
	}
}

export function jobsToStop(text: string): string[] {
	try {
		const { jobsToStop: ids } = JSON.parse(text) as { jobsToStop?: unknown };
		return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
	} catch {
		return [];
	}
}
