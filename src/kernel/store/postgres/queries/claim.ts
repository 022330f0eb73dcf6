/**
 * Decides which waiting job runs next. All claims of a transaction on one endpoint are answered together, after all
 * other operations: a job inserted or returned by the same transaction is in memory only, and is merged by rank with
 * the rows that are read.
 *
 * Pages begin after the rank up to which this server has claimed everything. Only when they do not fill the claims, or
 * a search is due, are the front, the ranks before, and the jobs of low priority read (`rows/queue-memories.ts`). The
 * first page is requested from what is remembered of the queue, which saves a round trip; it is used only if the queue
 * is as remembered.
 *
 * Locked rows are skipped: another server changes them. A job that a worker may still run an old attempt of goes to the
 * next claim (D16 Fence), and the remembered rank stays before it.
 */
import { type JsonText, sizeOf } from "../../../lib/json/json-text.ts";
import { type ClaimParts, offer, pendingClaim, type PendingClaim } from "../../operations/claim.ts";
import type { Query } from "../../operations/operation.ts";
import { RUNNING, WAITING } from "../../row.ts";
import type { Claim } from "../../contract/jobs.ts";
import type { UnitOfWork } from "../rows/unit-of-work.ts";
import { COLUMNS } from "../rows/job-records.ts";
import { isPurged, type Queue, type Row } from "../rows/row.ts";
import { type Answer, statement } from "../connection/statement.ts";
import type { QueueMemory } from "../rows/queue-memories.ts";

export type ClaimQuery = Query<"jobs.claim">;

/** Inputs up to this size, bytes, are stored inline, and read with their rows. */
const SHORT = 1500;

/**
 * SKIP LOCKED: claims do not wait for each other. The start rank skips index entries of claimed jobs that vacuum has
 * not removed yet.
 */
export const NEXT_WAITING = statement(`
  SELECT octet_length(jobs.input), CASE WHEN octet_length(jobs.input) <= ${SHORT} THEN jobs.input END, ${COLUMNS} FROM (
    SELECT * FROM jobs WHERE endpoint = $1 AND low_priority = $2 AND state = '${WAITING}' AND rank > $3
      AND rank < $4 AND epoch = $5 AND due_at > $6
    ORDER BY rank LIMIT $7 FOR UPDATE SKIP LOCKED
  ) AS jobs`);

const FIRST = Number.MIN_SAFE_INTEGER;
const LAST = Number.MAX_SAFE_INTEGER;

type Open = PendingClaim<Row, number>;

interface Stretch {
	low: boolean;
	after: number;
	before: number;
}

interface Ahead {
	after: number;
	epoch: number;
	now: number;
	limit: number;
	answer: Promise<Answer>;
}

export class Claims {
	readonly #unit;
	readonly #sizes = new Map<string, number>();
	readonly #ahead = new Map<string, Ahead>();
	readonly #parts: ClaimParts<Row, number>;

	constructor(unit: UnitOfWork) {
		this.#unit = unit;
		const { transitions, attempts, payloads } = unit;
		this.#parts = {
			transitions,
			isFenced: attempts.isOpen,
			inputs: {
				take: (row, most) => {
					const input = payloads.inputAtHand(row);
					const size = input === undefined ? (this.#sizes.get(row.key) ?? 0) : sizeOf(input);
					return size > most ? undefined : size;
				},
				size: (size) => size,
			},
		};
	}

	/** Requests the jobs that the claims will probably get before the queue is read. */
	async ahead(endpoint: string, asked: readonly ClaimQuery[]): Promise<void> {
		const memory = this.#unit.server.queueMemories.of(endpoint);
		const now = latest(asked);
		const limit = wanted(opened(asked));
		if (memory.waiting <= 0 || limit === 0 || !memory.isSearched(now)) return;
		const { epoch } = memory;
		const after = memory.start();
		const answer = this.#ask(endpoint, { low: false, after, before: LAST }, { epoch, now, limit });
		this.#ahead.set(endpoint, { after, epoch, now, limit, answer });
		await answer;
	}

	/** Answers the claims. Call after all other operations of the transaction. */
	async answer(endpoint: string, asked: readonly ClaimQuery[]): Promise<Claim[]> {
		const { queues, due, server, payloads } = this.#unit;
		const queue = queues.of(endpoint);
		const now = latest(asked);
		await due.freshen(queue, now);
		const claims = opened(asked);
		const memory = server.queueMemories.of(endpoint);
		queues.onUndo(() => server.queueMemories.forget(endpoint));
		await this.#search(queue, memory, claims, now);
		const rows = claims.flatMap(({ jobs }) => jobs.map(({ row }) => row));
		const inputs = await payloads.inputs(rows.filter((row) => payloads.inputAtHand(row) === undefined));
		const inputOf = (row: Row): JsonText => payloads.inputAtHand(row) ?? inputs.get(row.key) ?? "null";
		return claims.map(({ jobs, fenced }) => ({
			jobs: jobs
				.filter(({ row }) => row.job.state === RUNNING)
				.map(({ row }) => ({ job: row.job, input: inputOf(row) })),
			fenced,
		}));
	}

	async #search(queue: Queue, memory: QueueMemory, claims: readonly Open[], now: number): Promise<void> {
		const stored = (): number => queue.counts.inQueue - this.#unit.records.waiting(queue).length;
		const back: Stretch = { low: false, after: queue.purgedTo, before: LAST };
		if (stored() > 0 && memory.isSearched(now)) {
			const next = { ...back, after: memory.start(queue.purgedTo) };
			memory.claimed((await this.#fill(queue, next, claims, { now, stored: true })).handedTo);
			if (wanted(claims) === 0) return;
		}
		if (stored() <= 0 && memory.trustsCounts(now)) {
			for (const low of [false, true])
				await this.#fill(queue, { low, after: FIRST, before: LAST }, claims, { now, stored: false });
			return;
		}
		const front = await this.#fill(queue, { low: false, after: FIRST, before: 0 }, claims, { now, stored: true });
		const after = memory.searchStart(now, back.after);
		const { handedTo } = await this.#fill(queue, { ...back, after }, claims, { now, stored: true });
		memory.searched({ from: after, to: handedTo, now }, front.empty);
		for (const stretch of [
			{ low: true, after: FIRST, before: 0 },
			{ ...back, low: true },
		])
			await this.#fill(queue, stretch, claims, { now, stored: true });
	}

	/**
	 * Fills claims from a stretch, including jobs of this transaction. Returns the rank up to which all jobs were
	 * claimed, and whether none is left.
	 */
	async #fill(
		queue: Queue,
		stretch: Stretch,
		claims: readonly Open[],
		q: { now: number; stored: boolean },
	): Promise<{ handedTo: number; empty: boolean }> {
		let { after } = stretch;
		let handedTo = stretch.after;
		let allHanded = true;
		let own = this.#unit.records
			.waiting(queue)
			.filter(({ job, rank }) => job.lowPriority === stretch.low && rank > stretch.after && rank < stretch.before);
		while (wanted(claims) > 0) {
			const limit = wanted(claims);
			const stored = q.stored ? await this.#page(queue, { ...stretch, after }, { now: q.now, limit }) : [];
			after = stored.at(-1)?.rank ?? after;
			const found = new Map([...stored, ...own].map((row) => [row.key, row]));
			own = [];
			for (const row of [...found.values()].toSorted((a, b) => a.rank - b.rank)) {
				if (wanted(claims) === 0) return { handedTo, empty: false };
				if (row.job.state !== WAITING || isPurged(row) || row.job.dueAt <= q.now) continue;
				allHanded = this.#give(row, claims) && allHanded;
				if (allHanded) handedTo = row.rank;
			}
			if (stored.length < limit) return { handedTo, empty: allHanded };
		}
		return { handedTo, empty: false };
	}

	#give(row: Row, claims: readonly Open[]): boolean {
		for (const claim of claims) {
			const outcome = claim.full ? "full" : offer(this.#parts, claim, row);
			if (outcome === "taken" || outcome === "refused") return outcome === "taken";
		}
		return false;
	}

	async #page(queue: Queue, stretch: Stretch, q: { now: number; limit: number }): Promise<Row[]> {
		const { rows } =
			(await this.#early(queue, stretch, q)) ??
			(await this.#ask(queue.endpoint, stretch, { ...q, epoch: queue.epoch }));
		const jobs = await this.#unit.records.take(rows.map(([, , ...values]) => values));
		for (const [index, row] of jobs.entries()) {
			const [size, input] = rows[index] ?? [];
			this.#sizes.set(row.key, Number(size));
			if (input !== null) this.#unit.payloads.known(row, String(input));
		}
		return jobs;
	}

	async #early(
		queue: Queue,
		{ low, after, before }: Stretch,
		q: { now: number; limit: number },
	): Promise<Answer | undefined> {
		const page = this.#ahead.get(queue.endpoint);
		this.#ahead.delete(queue.endpoint);
		const same =
			page &&
			!low &&
			before === LAST &&
			page.after === after &&
			page.epoch === queue.epoch &&
			page.now === q.now &&
			page.limit === q.limit;
		return same ? await page.answer : undefined;
	}

	#ask(
		endpoint: string,
		{ low, after, before }: Stretch,
		q: { epoch: number; now: number; limit: number },
	): Promise<Answer> {
		return this.#unit.run(NEXT_WAITING, [endpoint, low, after, before, q.epoch, q.now, q.limit]);
	}
}

function opened(asked: readonly ClaimQuery[]): Open[] {
	return asked.map((q) => pendingClaim<Row, number>(q));
}

function latest(asked: readonly ClaimQuery[]): number {
	return Math.max(...asked.map(({ now }) => now));
}

function wanted(claims: readonly Open[]): number {
	return claims.reduce((sum, { q, jobs, full }) => sum + (full ? 0 : q.limit - jobs.length), 0);
}
