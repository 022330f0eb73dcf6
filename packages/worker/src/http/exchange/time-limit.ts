import type { Clock } from "../../clock.ts";

export interface TimeLimit {
	/** Aborts when the time is over, and with the signal that was given. */
	signal: AbortSignal;
	readonly isOver: boolean;
	/** The time does not count any more. */
	end(): void;
}

/** A limit of the time that several steps may take together. */
export function timeLimit(
	ms: number,
	{ clock, signal }: { clock: Clock; signal?: AbortSignal | undefined },
): TimeLimit {
	const over = new AbortController();
	const ended = new AbortController();
	void clock.sleep(ms, ended.signal).then(() => void (ended.signal.aborted || over.abort()));
	return {
		signal: signal ? AbortSignal.any([signal, over.signal]) : over.signal,
		get isOver() {
			return over.signal.aborted;
		},
		end: () => ended.abort(),
	};
}
