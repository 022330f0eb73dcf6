/** What is measured: a queue of jobs that do nothing, each submission awaited, its end seen by who submitted it. */

/** What one run showed: jobs that ended, jobs a second, and how long they took from before the submission to the end, ms. */
export interface Run {
  jobs: number;
  perSecond: number;
  p50: number;
  p99: number;
}

/** A queue that runs, with a worker beside it. */
export interface Contender {
  version: string;
  /** Keeps `inFlight` jobs on the way for some seconds. */
  run(q: { seconds: number; inFlight: number }): Promise<Run>;
  stop(): Promise<void>;
}

/** The payload of every job, about 200 bytes. */
export const INPUT = { prompt: "x".repeat(170) };

/**
 * Repeats `job` in `inFlight` lanes for some seconds. The time counts until `settled` resolves: what a library has
 * still to write when it calls a job done belongs to it.
 */
export async function closedLoop({ seconds, inFlight, job, settled }: { seconds: number; inFlight: number; job: () => Promise<void>; settled?: () => Promise<void> }): Promise<Run> {
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

/** Resolves waits for the end of jobs, by a number that travels in the payload. */
export function ends(): { next(): { n: number; ended: Promise<void> }; end(n: number): void } {
  const waiting = new Map<number, () => void>();
  let made = 0;
  return {
    next() {
      const n = (made += 1);
      return { n, ended: new Promise((resolve) => waiting.set(n, resolve)) };
    },
    end(n) {
      waiting.get(n)?.();
      waiting.delete(n);
    },
  };
}
