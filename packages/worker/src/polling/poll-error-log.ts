/** Logs poll failures only when they start, change and end. */
import type { Log } from "../log.ts";
import type { PollAnswer } from "./poll.ts";

export interface PollErrorLog {
	failed(reason: string): void;
	succeeded(): void;
	readonly tries: number;
}

export function createPollErrorLog(name: string, log: Log): PollErrorLog {
	let last: string | undefined;
	let tries = 0;
	return {
		failed(reason) {
			tries += 1;
			if (reason === last) return;
			last = reason;
			log("ERROR", `${name} failed, retrying: ${reason}`);
		},
		succeeded() {
			if (last !== undefined) log("INFO", `${name} works again.`);
			last = undefined;
			tries = 0;
		},
		get tries() {
			return tries;
		},
	};
}

export function reasonOf(answer: PollAnswer): string {
	if (answer.kind === "cut") return "no answer";
	if (answer.kind === "failed") return answer.reason;
	return `HTTP ${answer.status} ${answer.text.slice(0, 200)}`.trim();
}
