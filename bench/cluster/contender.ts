/**
 * What is measured: a queue of jobs that do nothing, each submission awaited, its end seen by who
 * submitted it.
 */

/**
 * What one run showed: jobs that ended, jobs a second, and how long they took from before the
 * submission to the end, ms.
 */
export interface Run {
	jobs: number;
	perSecond: number;
	p50: number;
	p99: number;
}

/** A queue that runs, with a worker next to it. */
export interface Contender {
	version: string;
	/** Keeps `inFlight` jobs on the way for some seconds. */
	run(q: { seconds: number; inFlight: number }): Promise<Run>;
	stop(): Promise<void>;
}

/** The payload of every job, about 200 bytes. */
export const INPUT = { prompt: "x".repeat(170) };

/**
 * Repeats `job` in `inFlight` lanes for some seconds. The time counts until `settled` resolves:
 * what a library has still to write when it calls a job done belongs to it.
 */
export async function closedLoop({
	seconds,
	inFlight,
	job,
	settled,
}: {
	seconds: number;
	inFlight: number;
	job: () => Promise<void>;
	settled?: () => Promise<void>;
}): Promise<Run> {
	const times: number[] = [];
	const began = performance.now();
	const lane = async (): Promise<void> => {
		for (let start = began; start < began + seconds * 1000; ) {
			await job();
			const end = performance.now();
			times.push(end - start);
			start = end;
		}
	};
	await Promise.all(Array.from({ length: inFlight }, lane));
	await settled?.();
	const perSecond = Math.round((times.length / (performance.now() - began)) * 1000);
	times.sort((a, b) => a - b);
	const at = (part: number): number => Number(times[Math.floor(times.length * part)]?.toFixed(1));
	return { jobs: times.length, perSecond, p50: at(0.5), p99: at(0.99) };
}

/** What a submission carries: the usual payload, and the number by which its end is told. */
export interface Numbered {
	prompt: string;
	n: number;
}

/**
 * Jobs that carry a number: `run` submits them, and each is over when `end` is called with its
 * number.
 */
export function numbered(): {
	end(n: number): void;
	run(q: {
		seconds: number;
		inFlight: number;
		submit: (payload: Numbered) => Promise<unknown>;
		settled?: () => Promise<void>;
	}): Promise<Run>;
} {
	const waiting = new Map<number, () => void>();
	let made = 0;
	return {
		end(n) {
			waiting.get(n)?.();
			waiting.delete(n);
		},
		run: ({ submit, ...q }) =>
			closedLoop({
				...q,
				async job() {
					const n = (made += 1);
					const ended = new Promise<void>((resolve) => waiting.set(n, resolve));
					await submit({ ...INPUT, n });
					await ended;
				},
			}),
	};
}
