/** Listens on the stop channel: which jobs to abort (protocol B.8, D18). */
import { waitAfter } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import type { HeldJobs } from "../held-jobs.ts";
import type { Log } from "../log.ts";
import type { Poll, PollAnswer } from "./poll.ts";
import { createPollErrorLog, reasonOf } from "./poll-error-log.ts";

/** What {@link stopLoop} needs. */
export interface StopLoopOptions {
	poll: Poll;
	path: string;
	held: HeldJobs;
	clock: Clock;
	random: () => number;
	log: Log;
	/** Ends the loop; the open poll is to be hung up by whoever aborts this. */
	ended: AbortSignal;
}

const TOO_MANY_REQUESTS_MS = 5000;
const FAILED = { firstMs: 1000, longestMs: 5000 };
/**
 * The least time between two polls that brought nothing new: a stop is repeated until the job is
 * gone (D26).
 */
const NOTHING_NEW_MS = 1000;

/** Runs until `ended` aborts. */
export async function stopLoop({
	poll,
	path,
	held,
	clock,
	random,
	log,
	ended,
}: StopLoopOptions): Promise<void> {
	const trouble = createPollErrorLog("job-stop", log);

	/** Aborts the jobs of an answer and returns how long to wait before the next poll, in ms. */
	function accept(answer: PollAnswer, began: number): number {
		if (
			answer.kind === "failed" ||
			(answer.kind === "answer" &&
				answer.status !== 200 &&
				answer.status !== 204 &&
				answer.status !== 429)
		) {
			const first = answer.kind === "failed" && answer.stale && trouble.tries === 0;
			trouble.is(reasonOf(answer));
			return first ? 0 : waitAfter(trouble.tries, FAILED, random);
		}
		trouble.over();
		if (answer.kind === "answer" && answer.status === 429) return TOO_MANY_REQUESTS_MS;
		let stopped = 0;
		for (const id of answer.kind === "answer" && answer.json ? jobsToStop(answer.text) : []) {
			if (!held.stop(id)) continue;
			stopped += 1;
			log("INFO", "Stopping the job: the service asked for it.", id);
		}
		return stopped > 0 ? 0 : NOTHING_NEW_MS - (clock.now() - began);
	}

	while (!ended.aborted) {
		const began = clock.now();
		const answer = await poll.get(path);
		if (ended.aborted) return;
		const wait = accept(answer, began);
		if (wait > 0) await clock.sleep(wait, ended);
	}
}

/** The strings in `jobsToStop` of a stop channel's answer; empty for anything else. */
export function jobsToStop(text: string): string[] {
	try {
		const { jobsToStop: ids } = JSON.parse(text) as { jobsToStop?: unknown };
		return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
	} catch {
		return [];
	}
}
