/**
 * What is known of each endpoint's queue: its number in the rows, its counts, and the ends of the
 * queue. All in memory, the counts written once in each transaction that changed them (D13), so
 * that they are exact after a crash.
 */
import { RotatingMap } from "../../../core/rotating-map.ts";
import { countsOf } from "../../../core/job-transitions.ts";
import type { TransitionStep } from "../../../core/job-transitions.ts";
import type { Database } from "../database.ts";
import { NO_RANKS } from "./row.ts";
import type { Queue, Ranks, Row } from "./row.ts";
import { RUNNING, WAITING } from "../../states.ts";

export type Queues = ReturnType<typeof openQueues>;

/** Loads the queues and finds the ends of what waits or runs. */
export function openQueues(db: Database) {
	const insert = db.prepare("INSERT INTO queues (number, endpoint) VALUES (?, ?)");
	const update = db.prepare(
		"UPDATE queues SET in_queue = ?, in_queue_low = ?, in_progress = ?, completed = ?, failed = ?, retried = ? WHERE number = ?",
	);
	const select = db.prepare(
		"SELECT number, endpoint, in_queue, in_queue_low, in_progress, completed, failed, retried, purged_from, purged_to FROM queues",
	);
	const mark = db.prepare("UPDATE queues SET purged_from = ?, purged_to = ? WHERE number = ?");
	const ends = db.prepare(
		`SELECT min(rank), max(rank) FROM (SELECT rank FROM jobs WHERE state = '${WAITING}' UNION ALL SELECT rank FROM jobs WHERE state = '${RUNNING}')`,
	);

	const byEndpoint = new Map<string, Queue>();
	const byNumber = new Map<number, Queue>();
	const changed: Queue[] = [];
	const [first, last] = ends.get() ?? [];
	let front = Math.min(0, Number(first));
	let back = Math.max(0, Number(last));
	// R4: a job that joins gets a rank outside of what was purged.
	for (const { purged } of stored()) {
		front = Math.min(front, purged.from);
		back = Math.max(back, purged.to);
	}

	/** The queues as they are in the file. */
	function stored(): Queue[] {
		return select
			.all()
			.map(
				([number, endpoint, inQueue, low, inProgress, completed, failed, retried, from, to]) => ({
					number: Number(number),
					endpoint: String(endpoint),
					lowInQueue: Number(low),
					counts: {
						inQueue: Number(inQueue),
						inProgress: Number(inProgress),
						completed: Number(completed),
						failed: Number(failed),
						retried: Number(retried),
					},
					purged: { from: Number(from), to: Number(to) },
					changed: false,
					fronts: 0,
					unwritten: [new RotatingMap(), new RotatingMap()],
				}),
			);
	}

	function add(queue: Queue): Queue {
		byEndpoint.set(queue.endpoint, queue);
		byNumber.set(queue.number, queue);
		return queue;
	}

	/** Forgets what this transaction did and reads the rows again (R5). */
	function reload(): void {
		byEndpoint.clear();
		byNumber.clear();
		changed.length = 0;
		for (const queue of stored()) add(queue);
	}
	reload();

	function touch(queue: Queue): void {
		if (queue.changed) return;
		queue.changed = true;
		changed.push(queue);
	}

	function setPurged(queue: Queue, purged: Ranks): void {
		queue.purged = purged;
		mark.run(purged.from, purged.to, queue.number);
	}

	return {
		reload,

		/** The queue of an endpoint, if it ever had a job. */
		find: (endpoint: string): Queue | undefined => byEndpoint.get(endpoint),

		/** Of every endpoint that ever had a job. */
		all: (): Iterable<Queue> => byEndpoint.values(),

		/** The queue with a number that stands in a row. */
		numbered(number: number): Queue {
			const queue = byNumber.get(number);
			if (!queue) throw new Error(`The store has a job of queue ${number}, which is not in it.`);
			return queue;
		},

		/** The queue of an endpoint, made when it is new. */
		of(endpoint: string): Queue {
			const known = byEndpoint.get(endpoint);
			if (known) return known;
			const number = byNumber.size + 1;
			insert.run(number, endpoint);
			return add({
				number,
				endpoint,
				counts: { inQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 },
				lowInQueue: 0,
				purged: NO_RANKS,
				changed: false,
				fronts: 0,
				unwritten: [new RotatingMap(), new RotatingMap()],
			});
		},

		/** Whether no waiting job of the queue is in the file yet. */
		allNew: ({ counts, unwritten: [usual, low] }: Queue): boolean =>
			counts.inQueue === usual.size + low.size,

		/** The next rank at the back of any queue (R4). */
		nextBack: (): number => (back += 1),

		/** A rank at an end of the queue (R4); at the front always below 0. */
		join({ queue }: Row, end: "front" | "back"): { rank: number } {
			if (end === "back") return { rank: (back += 1) };
			queue.fronts += 1;
			return { rank: (front -= 1) };
		},

		/** Counts a job that was just added. */
		added(queue: Queue, lowPriority: boolean): void {
			queue.counts.inQueue += 1;
			if (lowPriority) queue.lowInQueue += 1;
			touch(queue);
		},

		/** Counts a move. */
		moved({ queue }: Row, { on, from, job }: TransitionStep): void {
			const change = countsOf(on, from, job.state);
			const { counts } = queue;
			counts.inQueue += change.inQueue;
			counts.inProgress += change.inProgress;
			counts.completed += change.completed;
			counts.failed += change.failed;
			counts.retried += change.retried;
			if (job.lowPriority) queue.lowInQueue += change.inQueue;
			touch(queue);
		},

		/**
		 * Marks every waiting job as purged and returns how many; new rows must be written. All stand
		 * between the two ends, which only move outwards: what joins or returns later is not meant.
		 */
		purge(queue: Queue): number {
			const removed = queue.counts.inQueue;
			if (removed === 0) return 0;
			setPurged(queue, { from: front, to: back });
			queue.counts.inQueue = queue.lowInQueue = 0;
			touch(queue);
			return removed;
		},

		/** Queues that may still have rows of purged jobs. */
		purged: (): Queue[] => [...byNumber.values()].filter(({ purged }) => purged.from <= purged.to),

		/** No row of a purged job is left. */
		cleaned: (queue: Queue): void => setPurged(queue, NO_RANKS),

		/** Sets the totals to nothing. */
		forgetTotals(queue: Queue): void {
			queue.counts.completed = queue.counts.failed = queue.counts.retried = 0;
			touch(queue);
		},

		/** Writes the counts that changed; the last step before a commit (R5). */
		flush(): void {
			for (const queue of changed) {
				const { counts } = queue;
				update.run(
					counts.inQueue,
					queue.lowInQueue,
					counts.inProgress,
					counts.completed,
					counts.failed,
					counts.retried,
					queue.number,
				);
				queue.changed = false;
			}
			changed.length = 0;
		},
	};
}
