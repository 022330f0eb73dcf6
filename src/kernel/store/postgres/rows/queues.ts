/**
 * Queues in one transaction. A shared lock per queue excludes a purge, which locks exclusively (D11): what was read of
 * a queue holds until the end. Counts are incremented, never set, in this connection's slot (D13).
 */
import { countsOf, type TransitionStep } from "../../../core/jobs/job-transitions.ts";
import { rowsOf, texts } from "../connection/arrays.ts";
import type { QueueMemories, RankAllocator } from "./queue-memories.ts";
import { newQueue, noChange, type Queue, type Row } from "./row.ts";
import { type Runner, statement } from "../connection/statement.ts";
import { WAITING } from "../../row.ts";

/** First number of the advisory locks; the second is derived from the endpoint. */
export const QUEUE_LOCKS = 0x534c_0001;

const LOCK = statement(
	`SELECT count(pg_advisory_xact_lock_shared(${QUEUE_LOCKS}, hashtext(endpoint)))
		FROM unnest($1::text[]) AS given (endpoint)`,
);

const READ_QUEUES = rowsOf<{ endpoint: string; dueAfter: number; now: number }>({
	endpoint: "text",
	due_after: ["int8", ({ dueAfter }) => dueAfter],
	now: "int8",
});

const COUNTS = {
	in_queue: "inQueue",
	in_queue_low: "lowInQueue",
	in_progress: "inProgress",
	completed: "completed",
	failed: "failed",
	retried: "retried",
	stored_bytes: "storedBytes",
} as const;
const COUNT_COLUMNS = Object.keys(COUNTS);

/** Whether a live job became due since the last check, then the sums of {@link COUNTS}. */
const READ = statement(`
  SELECT given.endpoint, queues.epoch, queues.purged_to,
    EXISTS (SELECT 1 FROM jobs WHERE jobs.endpoint = given.endpoint AND ended_at IS NULL
      AND due_at > given.due_after AND due_at <= given.now
      AND NOT (state = '${WAITING}' AND jobs.epoch < coalesce(queues.epoch, 0))), sums.*
  FROM (${READ_QUEUES.select}) AS given
  LEFT JOIN queues ON queues.endpoint = given.endpoint
  CROSS JOIN LATERAL (
    SELECT ${COUNT_COLUMNS.map((name) => `sum(${name})::int8`).join(", ")}
    FROM queue_counts WHERE queue_counts.endpoint = given.endpoint
  ) AS sums`);

const ADD = statement("INSERT INTO queues (endpoint) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING");

const COUNTED = rowsOf<Queue>(
	{
		endpoint: "text",
		...Object.fromEntries(
			Object.entries(COUNTS).map(([column, name]) => [column, ["int8", ({ change }: Queue) => change[name]] as const]),
		),
	},
	2,
);
const added = (by: string): string =>
	COUNT_COLUMNS.map((name) => `${name} = counts.${name} + ${by}.${name}`).join(", ");
/** Updates what exists, as the statement of a marker does (`connection/commit-markers.ts`). */
const COUNT = statement(`
  WITH changed AS MATERIALIZED (${COUNTED.select}), counted AS (
    UPDATE queue_counts AS counts SET ${added("changed")}
    FROM changed WHERE counts.endpoint = changed.endpoint AND counts.slot = $1 RETURNING counts.endpoint
  )
  INSERT INTO queue_counts AS counts (slot, ${COUNTED.names})
  SELECT $1::int8, changed.* FROM changed WHERE endpoint NOT IN (SELECT endpoint FROM counted)
  ON CONFLICT (endpoint, slot) DO UPDATE SET ${added("excluded")}`);

interface QueuesOptions {
	run: Runner["run"];
	memories: QueueMemories;
	places: RankAllocator;
	slot: number;
}

export class Queues {
	readonly #byEndpoint = new Map<string, Queue>();
	readonly #undo: (() => void)[] = [];
	readonly #q;

	constructor(q: QueuesOptions) {
		this.#q = q;
	}

	of(endpoint: string): Queue {
		const queue = this.#byEndpoint.get(endpoint);
		if (!queue) throw new Error(`The queue of ${endpoint} was not read.`);
		return queue;
	}

	/** `now`: time for deadlines, ms since the epoch. */
	async read(endpoints: Iterable<string>, now: number): Promise<void> {
		const { run, memories } = this.#q;
		const fresh = [...new Set(endpoints)].filter((endpoint) => !this.#byEndpoint.has(endpoint)).toSorted();
		if (fresh.length === 0) return;
		for (const endpoint of fresh) this.#byEndpoint.set(endpoint, newQueue(endpoint));
		const asked = fresh.map((endpoint) => ({ endpoint, now, dueAfter: memories.of(endpoint).dueAfter(now) }));
		const values = READ_QUEUES.values(asked);
		const [, { rows }] = await Promise.all([run(LOCK, [values[0]!]), run(READ, values)]);
		for (const [endpoint, epoch, purgedTo, due, ...sums] of rows) {
			const [inQueue = 0, low = 0, inProgress = 0, completed = 0, failed = 0, retried = 0, bytes = 0] =
				sums.map(Number);
			const queue = this.of(String(endpoint));
			queue.known = epoch !== null;
			queue.epoch = Number(epoch);
			queue.purgedTo = Number(purgedTo);
			queue.lowInQueue = low;
			queue.storedBytes = bytes;
			Object.assign(queue.counts, { inQueue, inProgress, completed, failed, retried });
			queue.due = due === true;
			const memory = memories.of(queue.endpoint);
			Object.assign(memory, { epoch: queue.epoch, purgedTo: queue.purgedTo, waiting: inQueue });
			if (!queue.due) this.#undo.push(memory.settled(now));
		}
	}

	nextBack(queue: Queue, at: number): number {
		return this.#q.places.back(at, queue.purgedTo);
	}

	added(queue: Queue, lowPriority: boolean): void {
		count(queue, { inQueue: 1, lowInQueue: Number(lowPriority) });
	}

	stored(queue: Queue, bytes: number): void {
		if (bytes !== 0) count(queue, { storedBytes: bytes });
	}

	moved({ queue }: Row, { on, from, job }: TransitionStep): void {
		const change = countsOf(on, from, job.state);
		count(queue, job.lowPriority ? { ...change, lowInQueue: change.inQueue } : change);
	}

	/** The rank belongs to the current epoch; it is below 0 at the front. */
	join({ queue, job }: Row, end: "front" | "back"): { rank: number; epoch: number } {
		const { memories, places } = this.#q;
		if (end === "back") return { rank: this.nextBack(queue, job.queuedAt), epoch: queue.epoch };
		memories.of(queue.endpoint).searchAgain();
		return { rank: places.front(job.queuedAt), epoch: queue.epoch };
	}

	flush(): Promise<unknown>[] {
		const { run, memories, slot } = this.#q;
		const changed = [...this.#byEndpoint.values()]
			.filter(({ change }) => Object.values(change).some((by) => by !== 0))
			.toSorted((a, b) => (a.endpoint < b.endpoint ? -1 : 1));
		if (changed.length === 0) return [];
		const fresh = changed.filter(({ known }) => !known).map(({ endpoint }) => endpoint);
		const writes = [
			...(fresh.length > 0 ? [run(ADD, [texts(fresh)])] : []),
			run(COUNT, [slot, ...COUNTED.values(changed)]),
		];
		for (const queue of changed) {
			queue.known = true;
			memories.of(queue.endpoint).waiting = queue.counts.inQueue;
			Object.assign(queue.change, noChange());
		}
		return writes;
	}

	onUndo(restore: () => void): void {
		this.#undo.push(restore);
	}

	/** Call when the transaction fails: discards what was remembered. */
	undo(): void {
		for (const each of this.#undo) each();
	}
}

function count(queue: Queue, change: Partial<Queue["change"]>): void {
	for (const name of Object.keys(change) as (keyof Queue["change"])[]) {
		const by = change[name] ?? 0;
		queue.change[name] += by;
		if (name === "lowInQueue" || name === "storedBytes") queue[name] += by;
		else queue.counts[name] += by;
	}
}
