/**
 * Each endpoint's queue: its number in rows, its counts and its ends, in memory. Changed counts are
 * written once per transaction (D13), so that they are exact after a crash.
 */
import { RotatingMap } from "../../../core/rotating-map.ts";
import { countsOf, type TransitionStep } from "../../../core/job-transitions.ts";
import type { Database } from "../database.ts";
import { NO_RANKS, type Queue, type Ranks, type Row } from "./row.ts";
import { RUNNING, WAITING } from "../../states.ts";

export type Queues = ReturnType<typeof openQueues>;

/** Loads the queues and finds the ends of live ranks. */
export function openQueues(db: Database) {
	const insert = db.prepare("INSERT INTO queues (number, endpoint) VALUES (?, ?)");
	const update = db.prepare(
		`UPDATE queues SET in_queue = ?, in_queue_low = ?, in_progress = ?, completed = ?, failed = ?,
			retried = ?, stored_bytes = ? WHERE number = ?`,
	);
	const select = db.prepare(
		`SELECT number, endpoint, in_queue, in_queue_low, in_progress, completed, failed, retried,
			purged_from, purged_to, stored_bytes FROM queues`,
	);
	const mark = db.prepare("UPDATE queues SET purged_from = ?, purged_to = ? WHERE number = ?");
	const ends = db.prepare(
		`SELECT min(rank), max(rank) FROM (SELECT rank FROM jobs WHERE state = '${WAITING}'
			UNION ALL SELECT rank FROM jobs WHERE state = '${RUNNING}')`,
	);

	const byEndpoint = new Map<string, Queue>();
	const byNumber = new Map<number, Queue>();
	const changed: Queue[] = [];
	let backlog = false;
	const [first, last] = ends.get() ?? [];
	let front = Math.min(0, Number(first));
	let back = Math.max(0, Number(last));
	// R4: new ranks lie outside purged intervals.
	for (const { purged } of stored()) {
		front = Math.min(front, purged.from);
		back = Math.max(back, purged.to);
	}

	/** The queues as stored. */
	function stored(): Queue[] {
		return select
			.all()
			.map(([number, endpoint, inQueue, low, inProgress, completed, failed, retried, from, to, bytes]) => ({
				number: Number(number),
				endpoint: String(endpoint),
				lowInQueue: Number(low),
				storedBytes: Number(bytes),
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
			}));
	}

	function add(queue: Queue): Queue {
		byEndpoint.set(queue.endpoint, queue);
		byNumber.set(queue.number, queue);
		return queue;
	}

	/** Discards the changes of this transaction and reads the rows again (R5). */
	function reload(): void {
		byEndpoint.clear();
		byNumber.clear();
		changed.length = 0;
		backlog = false;
		for (const queue of stored()) add(queue);
	}
	reload();

	/** Call before each change. */
	function touch(queue: Queue): void {
		if (queue.changed) return;
		queue.changed = true;
		changed.push(queue);
		backlog ||= queue.counts.inQueue > 0;
	}

	/** Whether none of the queue's waiting jobs is written yet. */
	function allNew({ counts, unwritten: [usual, low] }: Queue): boolean {
		return counts.inQueue === usual.size + low.size;
	}

	function setPurged(queue: Queue, purged: Ranks): void {
		queue.purged = purged;
		mark.run(purged.from, purged.to, queue.number);
	}

	return {
		reload,

		/** The queue of an endpoint, if it ever had a job. */
		find: (endpoint: string): Queue | undefined => byEndpoint.get(endpoint),

		/** Queues of every endpoint that ever had a job. */
		all: (): Iterable<Queue> => byEndpoint.values(),

		/** The queue with a number from a row. */
		numbered(number: number): Queue {
			const queue = byNumber.get(number);
			if (!queue) throw new Error(`The store has a job of queue ${number}, which is not in it.`);
			return queue;
		},

		/** The queue of an endpoint, created if new. */
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
				storedBytes: 0,
				purged: NO_RANKS,
				changed: false,
				fronts: 0,
				unwritten: [new RotatingMap(), new RotatingMap()],
			});
		},

		allNew,

		/** Whether a job waited in a queue when this transaction changed it first. */
		hasBacklog: (): boolean => backlog,

		/** The next rank at the back of any queue (R4). */
		nextBack: (): number => (back += 1),

		/** A rank at an end of the queue (R4); at the front always below 0. */
		join({ queue }: Row, end: "front" | "back"): { rank: number } {
			if (end === "back") return { rank: (back += 1) };
			queue.fronts += 1;
			return { rank: (front -= 1) };
		},

		/** Counts a new job. */
		added(queue: Queue, lowPriority: boolean): void {
			touch(queue);
			queue.counts.inQueue += 1;
			if (lowPriority) queue.lowInQueue += 1;
		},

		/** Counts bytes that a job stores more, or less. */
		stored(queue: Queue, bytes: number): void {
			if (bytes === 0) return;
			touch(queue);
			queue.storedBytes += bytes;
		},

		/** Counts a transition. */
		moved({ queue }: Row, { on, from, job }: TransitionStep): void {
			touch(queue);
			const change = countsOf(on, from, job.state);
			const { counts } = queue;
			counts.inQueue += change.inQueue;
			counts.inProgress += change.inProgress;
			counts.completed += change.completed;
			counts.failed += change.failed;
			counts.retried += change.retried;
			if (job.lowPriority) queue.lowInQueue += change.inQueue;
		},

		/**
		 * Marks every waiting job as purged and returns their number; new rows must be written first.
		 * The ends only move outwards, so jobs that join or return later are not purged.
		 */
		purge(queue: Queue): number {
			const removed = queue.counts.inQueue;
			if (removed === 0) return 0;
			touch(queue);
			setPurged(queue, { from: front, to: back });
			queue.counts.inQueue = queue.lowInQueue = 0;
			return removed;
		},

		/** Queues that may still have rows of purged jobs. */
		purged: (): Queue[] => [...byNumber.values()].filter(({ purged }) => purged.from <= purged.to),

		/** Call when no row of a purged job is left. */
		cleaned: (queue: Queue): void => setPurged(queue, NO_RANKS),

		/** Resets the totals. */
		forgetTotals(queue: Queue): void {
			touch(queue);
			queue.counts.completed = queue.counts.failed = queue.counts.retried = 0;
		},

		/** Writes the changed counts; the last step before a commit (R5). */
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
					queue.storedBytes,
					queue.number,
				);
				queue.changed = false;
			}
			changed.length = 0;
			backlog = false;
		},
	};
}
