/**
 * Says what is wrong with a poll once, when it begins, changes or ends, instead of at every try.
 */
import type { Log } from "../log.ts";
import type { PollAnswer } from "./poll.ts";

/** The state of one poll as last logged. */
export interface PollErrorLog {
	/** Another try failed for this reason. */
	is(reason: string): void;
	/** A try went well. */
	over(): void;
	/** Failures in a row. */
	readonly tries: number;
}

/** Nothing wrong so far. `name` is the call in log lines, e.g. `job-take`. */
export function createPollErrorLog(name: string, log: Log): PollErrorLog {
	let last: string | undefined;
	let tries = 0;
	return {
		is(reason) {
			tries += 1;
			if (reason === last) return;
			last = reason;
			log("ERROR", `${name} fails and is repeated: ${reason}`);
		},
		over() {
			if (last !== undefined) log("INFO", `${name} works again.`);
			last = undefined;
			tries = 0;
		},
		get tries() {
			return tries;
		},
	};
}

/** One sentence for a failed or refused poll. */
export function reasonOf(answer: PollAnswer): string {
	if (answer.kind === "cut") return "no answer";
	if (answer.kind === "failed") return answer.reason;
	return `HTTP ${answer.status} ${answer.text.slice(0, 200)}`.trim();
}
