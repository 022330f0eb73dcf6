/**
 * Queues in one transaction: epochs and counts. A shared lock per queue excludes a purge, which
 * locks exclusively (D11); so what was read of a queue holds until the end. Counts are incremented,
 * never set, in this connection's slot (D13).
 */
import { countsOf, type TransitionStep } from "../../../core/job-transitions.ts";
import { numbers, texts } from "../connection/arrays.ts";
import type { QueueMemories } from "./queue-memories.ts";
import type { RankAllocator } from "./rank-allocator.ts";
import { noChange, noCounts, type Queue, type Row } from "./row.ts";
import { type Runner, statement } from "../connection/statement.ts";
import { WAITING } from "../../states.ts";

/** First number of the advisory locks on queues; the second is derived from the endpoint. */
export const QUEUE_LOCKS = 0x534c_0001;

const LOCK = statement(
	`SELECT count(pg_advisory_xact_lock_shared(${QUEUE_LOCKS}, hashtext(endpoint)))
		FROM unnest($1::text[]) AS given (endpoint)`,
);

/** `due`: whether a live job became due since the last check. */
const READ = statement(`
  SELECT given.endpoint, queues.epoch, queues.purged_to, sums.*,
    EXISTS (SELECT 1 FROM jobs WHERE jobs.endpoint = given.endpoint AND ended_at IS NULL
      AND due_at > given.due_after AND due_at <= given.now
      AND NOT (state = '${WAITING}' AND jobs.epoch < coalesce(queues.epoch, 0)))
  FROM unnest($1::text[], $2::int8[], $3::int8[]) AS given (endpoint, due_after, now)
  LEFT JOIN queues ON queues.endpoint = given.endpoint
  CROSS JOIN LATERAL (
    SELECT sum(in_queue)::int8, sum(in_queue_low)::int8, sum(in_progress)::int8, sum(completed)::int8,
      sum(failed)::int8, sum(retried)::int8, sum(stored_bytes)::int8
    FROM queue_counts WHERE queue_counts.endpoint = given.endpoint
  ) AS sums`);

const ADD = statement("INSERT INTO queues (endpoint) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING");

const COUNT = statement(`
  INSERT INTO queue_counts AS counted (endpoint, slot, in_queue, in_queue_low, in_progress, completed,
    failed, retried, stored_bytes)
  SELECT endpoint, $2::int8, in_queue, in_queue_low, in_progress, completed, failed, retried, stored_bytes
  FROM unnest($1::text[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int8[])
    AS changed (endpoint, in_queue, in_queue_low, in_progress, completed, failed, retried, stored_bytes)
  ON CONFLICT (endpoint, slot) DO UPDATE SET
    in_queue = counted.in_queue + excluded.in_queue,
      in_queue_low = counted.in_queue_low + excluded.in_queue_low,
      in_progress = counted.in_progress + excluded.in_progress,
    completed = counted.completed + excluded.completed, failed = counted.failed + excluded.failed,
      retried = counted.retried + excluded.retried,
    stored_bytes = counted.stored_bytes + excluded.stored_bytes`);

export type Queues = ReturnType<typeof openQueues>;

/** `slot`: of the connection that runs the transaction. */
interface QueuesOptions {
	run: Runner["run"];
	memories: QueueMemories;
	places: RankAllocator;
	slot: number;
}

/** The queues of one transaction. */
export function openQueues({ run, memories, places, slot }: QueuesOptions) {
	const byEndpoint = new Map<string, Queue>();
	const undo: (() => void)[] = [];

	function added(endpoint: string): Queue {
		const queue: Queue = {
			endpoint,
			known: false,
			epoch: 0,
			purgedTo: 0,
			counts: noCounts(),
			lowInQueue: 0,
			storedBytes: 0,
			change: noChange(),
			due: false,
		};
		byEndpoint.set(endpoint, queue);
		return queue;
	}

	function of(endpoint: string): Queue {
		const queue = byEndpoint.get(endpoint);
		if (!queue) throw new Error(`The queue of ${endpoint} was not read.`);
		return queue;
	}

	function count(queue: Queue, change: Partial<Queue["change"]>): void {
		for (const name of Object.keys(change) as (keyof Queue["change"])[]) {
			const by = change[name] ?? 0;
			queue.change[name] += by;
			if (name === "lowInQueue" || name === "storedBytes") queue[name] += by;
			else queue.counts[name] += by;
		}
	}

	return {
		of,

		/**
		 * Locks and reads the queues of some endpoints. `now`: time for deadlines, ms since the epoch.
		 */
		async read(endpoints: Iterable<string>, now: number): Promise<void> {
			const fresh = [...new Set(endpoints)].filter((endpoint) => !byEndpoint.has(endpoint)).toSorted();
			if (fresh.length === 0) return;
			for (const endpoint of fresh) added(endpoint);
			const names = texts(fresh);
			const dueAfter = fresh.map((endpoint) => memories.of(endpoint).dueAfter(now));
			const [, { rows }] = await Promise.all([
				run(LOCK, [names]),
				run(READ, [names, numbers(dueAfter), numbers(fresh.map(() => now))]),
			]);
			for (const [
				endpoint,
				epoch,
				purgedTo,
				inQueue,
				low,
				inProgress,
				completed,
				failed,
				retried,
				bytes,
				due,
			] of rows) {
				const queue = of(String(endpoint));
				queue.known = epoch !== null;
				queue.epoch = Number(epoch);
				queue.purgedTo = Number(purgedTo);
				queue.lowInQueue = Number(low);
				queue.storedBytes = Number(bytes);
				Object.assign(queue.counts, {
					inQueue: Number(inQueue),
					inProgress: Number(inProgress),
					completed: Number(completed),
					failed: Number(failed),
					retried: Number(retried),
				});
				queue.due = due === true;
				const memory = memories.of(queue.endpoint);
				Object.assign(memory, {
					epoch: queue.epoch,
					purgedTo: queue.purgedTo,
					waiting: queue.counts.inQueue,
				});
				if (queue.due) continue;
				undo.push(memory.settled(now));
			}
		},

		/** A rank at the back of a queue for a job that starts to wait at `at`. */
		nextBack: (queue: Queue, at: number): number => places.back(at, queue.purgedTo),

		added(queue: Queue, lowPriority: boolean): void {
			count(queue, { inQueue: 1, lowInQueue: Number(lowPriority) });
		},

		/** Counts bytes that a job stores more, or less. */
		stored(queue: Queue, bytes: number): void {
			if (bytes !== 0) count(queue, { storedBytes: bytes });
		},

		moved({ queue }: Row, { on, from, job }: TransitionStep): void {
			const change = countsOf(on, from, job.state);
			count(queue, job.lowPriority ? { ...change, lowInQueue: change.inQueue } : change);
		},

		/** A rank at an end of the queue, in its current epoch; below 0 at the front. */
		join({ queue, job }: Row, end: "front" | "back"): { rank: number; epoch: number } {
			if (end === "back") return { rank: places.back(job.queuedAt, queue.purgedTo), epoch: queue.epoch };
			memories.of(queue.endpoint).searchAgain();
			return { rank: places.front(job.queuedAt), epoch: queue.epoch };
		},

		/** Writes the changes. */
		flush(): Promise<unknown>[] {
			const all = [...byEndpoint.values()];
			const changed = all
				.filter(({ change }) => Object.values(change).some((by) => by !== 0))
				.toSorted((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
			if (changed.length === 0) return [];
			const column = (name: keyof Queue["change"]): Buffer => numbers(changed.map(({ change }) => change[name]));
			const fresh = changed.filter(({ known }) => !known);
			const writes: Promise<unknown>[] = [];
			if (fresh.length > 0) writes.push(run(ADD, [texts(fresh.map(({ endpoint }) => endpoint))]));
			for (const queue of fresh) queue.known = true;
			writes.push(
				run(COUNT, [
					texts(changed.map(({ endpoint }) => endpoint)),
					slot,
					column("inQueue"),
					column("lowInQueue"),
					column("inProgress"),
					column("completed"),
					column("failed"),
					column("retried"),
					column("storedBytes"),
				]),
			);
			for (const { endpoint, counts } of changed) memories.of(endpoint).waiting = counts.inQueue;
			for (const { change } of changed) Object.assign(change, noChange());
			return writes;
		},

		/** Adds a callback for when the transaction fails. */
		onUndo: (restore: () => void): void => void undo.push(restore),

		/** Call when the transaction fails: discards what was remembered. */
		undo(): void {
			for (const each of undo) each();
		},
	};
}
