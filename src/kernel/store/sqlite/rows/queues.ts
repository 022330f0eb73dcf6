/**
 * Each endpoint's queue: its number in rows, its counts and its ends, in memory. Changed counts are written once per
 * transaction (D13): they are exact after a crash.
 */
import { RotatingMap } from "../../../lib/rotating-map.ts";
import { countsOf, type TransitionStep } from "../../../core/jobs/job-transitions.ts";
import type { Database, Value } from "../file/database.ts";
import { NO_COUNTS, NO_RANKS, type Queue, type Ranks, type Row } from "./row.ts";
import { RUNNING, WAITING } from "../../row.ts";

const ENDS = `SELECT min(rank), max(rank) FROM (SELECT rank FROM jobs WHERE state = '${WAITING}'
	UNION ALL SELECT rank FROM jobs WHERE state = '${RUNNING}')`;

function statementsOf(db: Database) {
	return {
		insert: db.prepare("INSERT INTO queues (number, endpoint) VALUES (?, ?)"),
		update: db.prepare(
			`UPDATE queues SET in_queue = ?, in_queue_low = ?, in_progress = ?, completed = ?, failed = ?,
				retried = ?, stored_bytes = ? WHERE number = ?`,
		),
		select: db.prepare(
			`SELECT number, endpoint, in_queue, in_queue_low, in_progress, completed, failed, retried,
				purged_from, purged_to, stored_bytes FROM queues`,
		),
		mark: db.prepare("UPDATE queues SET purged_from = ?, purged_to = ? WHERE number = ?"),
	};
}

function newQueue(number: number, endpoint: string): Queue {
	return {
		number,
		endpoint,
		counts: { ...NO_COUNTS },
		lowInQueue: 0,
		storedBytes: 0,
		purged: NO_RANKS,
		changed: false,
		fronts: 0,
		unwritten: [new RotatingMap(), new RotatingMap()],
	};
}

function queueFrom([number, endpoint, inQueue, low, inProgress, completed, failed, retried, from, to, bytes]: Value[]) {
	return {
		...newQueue(Number(number), String(endpoint)),
		counts: {
			inQueue: Number(inQueue),
			inProgress: Number(inProgress),
			completed: Number(completed),
			failed: Number(failed),
			retried: Number(retried),
		},
		lowInQueue: Number(low),
		storedBytes: Number(bytes),
		purged: { from: Number(from), to: Number(to) },
	};
}

export class Queues {
	readonly #sql;
	readonly #byEndpoint = new Map<string, Queue>();
	readonly #byNumber = new Map<number, Queue>();
	readonly #changed: Queue[] = [];
	#backlog = false;
	#front: number;
	#back: number;

	constructor(db: Database) {
		this.#sql = statementsOf(db);
		const [first, last] = db.prepare(ENDS).get() ?? [];
		this.#front = Math.min(0, Number(first));
		this.#back = Math.max(0, Number(last));
		this.reload();
		// R4: new ranks lie outside purged intervals.
		for (const { purged } of this.all()) {
			this.#front = Math.min(this.#front, purged.from);
			this.#back = Math.max(this.#back, purged.to);
		}
	}

	/** Reads the queues again, which discards the changes of this transaction (R5). */
	reload(): void {
		this.#byEndpoint.clear();
		this.#byNumber.clear();
		this.#changed.length = 0;
		this.#backlog = false;
		for (const values of this.#sql.select.all()) this.#add(queueFrom(values));
	}

	find(endpoint: string): Queue | undefined {
		return this.#byEndpoint.get(endpoint);
	}

	all(): Iterable<Queue> {
		return this.#byEndpoint.values();
	}

	numbered(number: number): Queue {
		const queue = this.#byNumber.get(number);
		if (!queue) throw new Error(`The store has a job of queue ${number}, which is not in it.`);
		return queue;
	}

	of(endpoint: string): Queue {
		const known = this.#byEndpoint.get(endpoint);
		if (known) return known;
		const number = this.#byNumber.size + 1;
		this.#sql.insert.run(number, endpoint);
		return this.#add(newQueue(number, endpoint));
	}

	allNew({ counts, unwritten: [usual, low] }: Queue): boolean {
		return counts.inQueue === usual.size + low.size;
	}

	/** Whether any queue had waiting jobs when this transaction first changed it. */
	hasBacklog(): boolean {
		return this.#backlog;
	}

	/** Returns the next rank at the back of any queue (R4). */
	nextBack(): number {
		return (this.#back += 1);
	}

	/** Adds a job to a queue and returns its rank (R4), which is always below 0 at the front. */
	join({ queue }: Row, end: "front" | "back"): { rank: number } {
		if (end === "back") return { rank: this.nextBack() };
		queue.fronts += 1;
		return { rank: (this.#front -= 1) };
	}

	added(queue: Queue, lowPriority: boolean): void {
		this.#touch(queue);
		queue.counts.inQueue += 1;
		if (lowPriority) queue.lowInQueue += 1;
	}

	stored(queue: Queue, bytes: number): void {
		if (bytes === 0) return;
		this.#touch(queue);
		queue.storedBytes += bytes;
	}

	moved({ queue }: Row, { on, from, job }: TransitionStep): void {
		this.#touch(queue);
		const change = countsOf(on, from, job.state);
		const { counts } = queue;
		counts.inQueue += change.inQueue;
		counts.inProgress += change.inProgress;
		counts.completed += change.completed;
		counts.failed += change.failed;
		counts.retried += change.retried;
		if (job.lowPriority) queue.lowInQueue += change.inQueue;
	}

	/**
	 * Returns the number of marked jobs; new rows must be written first. The ends only move outwards: jobs that join or
	 * return later are not purged.
	 */
	purge(queue: Queue): number {
		const removed = queue.counts.inQueue;
		if (removed === 0) return 0;
		this.#touch(queue);
		this.#setPurged(queue, { from: this.#front, to: this.#back });
		queue.counts.inQueue = queue.lowInQueue = 0;
		return removed;
	}

	/** Returns the queues that may still have rows of purged jobs. */
	purged(): Queue[] {
		return [...this.#byNumber.values()].filter(({ purged }) => purged.from <= purged.to);
	}

	/** Records that no row of a purged job is left. */
	cleaned(queue: Queue): void {
		this.#setPurged(queue, NO_RANKS);
	}

	forgetTotals(queue: Queue): void {
		this.#touch(queue);
		queue.counts.completed = queue.counts.failed = queue.counts.retried = 0;
	}

	/** Writes changed counts; the last step before a commit (R5). */
	flush(): void {
		for (const queue of this.#changed) {
			const { counts } = queue;
			this.#sql.update.run(
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
		this.#changed.length = 0;
		this.#backlog = false;
	}

	#add(queue: Queue): Queue {
		this.#byEndpoint.set(queue.endpoint, queue);
		this.#byNumber.set(queue.number, queue);
		return queue;
	}

	/** Call before each change. */
	#touch(queue: Queue): void {
		if (queue.changed) return;
		queue.changed = true;
		this.#changed.push(queue);
		this.#backlog ||= queue.counts.inQueue > 0;
	}

	#setPurged(queue: Queue, purged: Ranks): void {
		queue.purged = purged;
		this.#sql.mark.run(purged.from, purged.to, queue.number);
	}
}
