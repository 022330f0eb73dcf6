/** What the notes of workers say, beside what their platform says. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Platform, Share } from "./platform.ts";

const SAMPLE_MS = 250;

/** A line of the notes; `at` in ms since the epoch. */
export interface Note {
	at: number;
	event: "begin" | "end" | "take" | "done";
	worker: string;
	endpoint: string;
	job?: string;
}

/** The largest sum of what several shares have of one GPU. */
function mostOf(shares: readonly Share[]): number {
	const sums = [...Map.groupBy(shares, ({ gpu }) => gpu).values()].map((all) =>
		all.reduce((sum, { amount }) => sum + amount, 0),
	);
	return Math.round(Math.max(0, ...sums) * 10) / 10;
}

/** Asks the platform all the time until `end`, which answers the most that it ever said to be taken of a GPU. */
export function sampler(platform: Platform) {
	const seen = new Map<string, Share[]>();
	let [most, samples, isOver] = [0, 0, false];
	async function follow(): Promise<void> {
		for (; !isOver; await sleep(SAMPLE_MS)) {
			const shares = await platform.shares();
			samples += 1;
			most = Math.max(most, mostOf(shares));
			for (const [worker, own] of Map.groupBy(shares, (share) => share.worker)) seen.set(worker, own);
		}
	}
	const following = follow().then(
		() => undefined,
		(error: unknown) => ({ error }),
	);
	return {
		async end(): Promise<{ most: number; samples: number; seen: ReadonlyMap<string, Share[]> }> {
			isOver = true;
			const failed = await following;
			if (failed) throw failed.error;
			return { most, samples, seen };
		},
	};
}

/** The most that workers of overlapping lives have of a GPU together, by their own times. */
export function mostByNotes(notes: readonly Note[], seen: ReadonlyMap<string, Share[]>): number {
	const alive = new Map<string, readonly Share[]>();
	let most = 0;
	for (const { event, worker } of notes) {
		if (event === "begin") alive.set(worker, seen.get(worker)!);
		if (event === "end") alive.delete(worker);
		most = Math.max(most, mostOf([...alive.values()].flat()));
	}
	return most;
}

/** The longest time, s, in which jobs of an endpoint waited and it had no worker with a GPU. `submitted`: by job. */
export function longestWithoutGpu(
	notes: readonly Note[],
	submitted: ReadonlyMap<string, { endpoint: string; at: number }>,
): number {
	const submissions = [...submitted].map(([job, { endpoint, at }]) => ({ at, event: "submit", endpoint, job }));
	const moments = [...submissions, ...notes].toSorted((a, b) => a.at - b.at);
	let longest = 0;
	for (const own of Map.groupBy(moments, ({ endpoint }) => endpoint).values()) {
		const waiting = new Set<string>();
		let [workers, since] = [0, Infinity];
		for (const { at, event, job } of own) {
			longest = Math.max(longest, at - since);
			if (event === "submit") waiting.add(job!);
			if (event === "take") waiting.delete(job!);
			if (event === "begin") workers += 1;
			if (event === "end") workers -= 1;
			since = waiting.size === 0 || workers > 0 ? Infinity : Math.min(since, at);
		}
	}
	return Math.round(longest / 1000);
}
