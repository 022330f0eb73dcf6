/**
 * Claims waiting jobs: decides which job runs next. All claims of a transaction on one endpoint are
 * answered together.
 */
import { type JsonText, sizeOf } from "../../core/json/json-text.ts";
import { type ClaimParts, offer, pendingClaim, type PendingClaim } from "../operations/claim.ts";
import type { Query } from "../operations/operation.ts";
import { RUNNING, WAITING } from "../states.ts";
import type { Claim } from "../contract/jobs.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import { earlier } from "./rows/rank-allocator.ts";
import { COLUMNS } from "./rows/job-records.ts";
import { isPurged, type Queue, type Row } from "./rows/row.ts";
import { type Answer, statement } from "./connection/statement.ts";
import type { QueueMemory } from "./rows/queues.ts";

export type ClaimQuery = Query<"jobs.claim">;

/** Inputs up to this size are read with their rows, bytes: they are stored inline. */
const SHORT = 1500;

/**
 * The next waiting jobs of one priority between two ranks. SKIP LOCKED: claims do not wait for each
 * other. The start rank skips index entries of claimed jobs that vacuum has not removed yet.
 */
export const NEXT_WAITING = statement(`
  SELECT octet_length(jobs.input), CASE WHEN octet_length(jobs.input) <= ${SHORT} THEN jobs.input END, ${COLUMNS} FROM (
    SELECT * FROM jobs WHERE endpoint = $1 AND low_priority = $2 AND state = '${WAITING}' AND rank > $3
      AND rank < $4 AND epoch = $5 AND due_at > $6
    ORDER BY rank LIMIT $7 FOR UPDATE SKIP LOCKED
  ) AS jobs`);

const FIRST = Number.MIN_SAFE_INTEGER;
const LAST = Number.MAX_SAFE_INTEGER;

/** Interval of searches beyond the remembered rank while jobs wait, and regardless of counts, ms. */
const SEARCH_MS = 1000;
const SEARCH_ANYWAY_MS = 10_000;

/**
 * Such a search starts this long before the last claimed rank, since other claims may have held
 * locks on jobs; and how often the whole queue is searched, ms.
 */
const SEARCH_BACK_MS = 30_000;
const SEARCH_ALL_MS = 60_000;

/** A claim with input sizes; inputs not read with their rows are read last. */
type Open = PendingClaim<Row, number>;

/** A rank range of a queue. */
interface Stretch {
	low: boolean;
	after: number;
	before: number;
}

/** A page requested from remembered state before the queue was read. */
interface Ahead {
	after: number;
	epoch: number;
	now: number;
	limit: number;
	answer: Promise<Answer>;
}

export function openClaims({ run, queues, records, attempts, payloads, transitions, due, server }: UnitOfWork) {
	const sizes = new Map<string, number>();
	const ahead = new Map<string, Ahead>();

	function ask(
		endpoint: string,
		{ low, after, before }: Stretch,
		q: { epoch: number; now: number; limit: number },
	): Promise<Answer> {
		return run(NEXT_WAITING, [endpoint, low, after, before, q.epoch, q.now, q.limit]);
	}

	/** Returns the page requested ahead if it matches; it is used once. */
	async function early(
		queue: Queue,
		{ low, after, before }: Stretch,
		q: { now: number; limit: number },
	): Promise<Answer | undefined> {
		const page = ahead.get(queue.endpoint);
		ahead.delete(queue.endpoint);
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

	async function page(queue: Queue, stretch: Stretch, q: { now: number; limit: number }): Promise<Row[]> {
		const { rows } =
			(await early(queue, stretch, q)) ?? (await ask(queue.endpoint, stretch, { ...q, epoch: queue.epoch }));
		return rows.map(([size, input, ...values]) => {
			const row = records.take(values);
			sizes.set(row.key, Number(size));
			if (input !== null) payloads.known(row, String(input));
			return row;
		});
	}

	const parts: ClaimParts<Row, number> = {
		transitions,
		isFenced: attempts.isOpen,
		inputs: {
			take(row, most) {
				const input = payloads.inputAtHand(row);
				const size = input === undefined ? (sizes.get(row.key) ?? 0) : sizeOf(input);
				return size > most ? undefined : size;
			},
			size: (size) => size,
		},
	};

	/** Gives a job to the first claim that accepts it. */
	function give(row: Row, claims: readonly Open[]): boolean {
		for (const claim of claims) {
			const outcome = claim.full ? "full" : offer(parts, claim, row);
			if (outcome === "taken" || outcome === "refused") return outcome === "taken";
		}
		return false;
	}

	const opened = (asked: readonly ClaimQuery[]): Open[] => asked.map((q) => pendingClaim<Row, number>(q));
	const latest = (asked: readonly ClaimQuery[]): number => Math.max(...asked.map(({ now }) => now));
	const wanted = (claims: readonly Open[]): number =>
		claims.reduce((sum, { q, jobs, full }) => sum + (full ? 0 : q.limit - jobs.length), 0);

	/**
	 * Fills claims from a stretch, including jobs of this transaction. Returns the rank up to which
	 * all jobs were claimed, and whether none is left.
	 */
	async function fill(
		queue: Queue,
		stretch: Stretch,
		claims: readonly Open[],
		q: { now: number; stored: boolean },
	): Promise<{ handedTo: number; empty: boolean }> {
		let { after } = stretch;
		let handedTo = stretch.after;
		let allHanded = true;
		let own = records
			.waiting(queue)
			.filter(({ job, rank }) => job.lowPriority === stretch.low && rank > stretch.after && rank < stretch.before);
		while (wanted(claims) > 0) {
			const limit = wanted(claims);
			const stored = q.stored ? await page(queue, { ...stretch, after }, { now: q.now, limit }) : [];
			after = stored.at(-1)?.rank ?? after;
			const found = new Map([...stored, ...own].map((row) => [row.key, row]));
			own = [];
			for (const row of [...found.values()].toSorted((a, b) => a.rank - b.rank)) {
				if (wanted(claims) === 0) return { handedTo, empty: false };
				if (row.job.state !== WAITING || isPurged(row) || row.job.dueAt <= q.now) continue;
				allHanded = give(row, claims) && allHanded;
				if (allHanded) handedTo = row.rank;
			}
			if (stored.length < limit) return { handedTo, empty: allHanded };
		}
		return { handedTo, empty: false };
	}

	/** Searches a queue as far as the claims need. */
	async function search(queue: Queue, memory: QueueMemory, claims: readonly Open[], now: number): Promise<void> {
		const stored = (): number => queue.counts.inQueue - records.waiting(queue).length;
		const since = now < memory.searchedAt ? Infinity : now - memory.searchedAt;
		const back: Stretch = { low: false, after: queue.purgedTo, before: LAST };
		const anyway = since >= SEARCH_ANYWAY_MS;
		if (stored() > 0 && since < SEARCH_MS) {
			const { handedTo } = await fill(queue, { ...back, after: Math.max(memory.claimedTo, back.after) }, claims, {
				now,
				stored: true,
			});
			memory.claimedTo = Math.max(memory.claimedTo, handedTo);
			if (wanted(claims) === 0) return;
		}
		if (stored() <= 0 && !anyway) {
			for (const low of [false, true])
				await fill(queue, { low, after: FIRST, before: LAST }, claims, { now, stored: false });
			return;
		}
		const front = await fill(queue, { low: false, after: FIRST, before: 0 }, claims, {
			now,
			stored: true,
		});
		const all = now < memory.searchedAllAt || now - memory.searchedAllAt >= SEARCH_ALL_MS;
		const after = all ? back.after : Math.max(back.after, earlier(memory.claimedTo, SEARCH_BACK_MS));
		const { handedTo } = await fill(queue, { ...back, after }, claims, { now, stored: true });
		// After an empty search the remembered rank stays.
		memory.claimedTo = handedTo > after ? handedTo : Math.max(after, memory.claimedTo);
		if (all) memory.searchedAllAt = now;
		// While jobs wait at the front, each claim starts there.
		memory.searchedAt = front.empty ? now : -Infinity;
		for (const stretch of [
			{ low: true, after: FIRST, before: 0 },
			{ ...back, low: true },
		])
			await fill(queue, stretch, claims, { now, stored: true });
	}

	return {
		/** Requests the likely jobs before the queue is read: saves a round trip. */
		async ahead(endpoint: string, asked: readonly ClaimQuery[]): Promise<void> {
			const { waiting, epoch, purgedTo, claimedTo, searchedAt } = server.queueMemories.of(endpoint);
			const now = latest(asked);
			const limit = wanted(opened(asked));
			if (waiting <= 0 || limit === 0 || now < searchedAt || now - searchedAt >= SEARCH_MS) return;
			const after = Math.max(claimedTo, purgedTo);
			const answer = ask(endpoint, { low: false, after, before: LAST }, { epoch, now, limit });
			ahead.set(endpoint, { after, epoch, now, limit, answer });
			await answer;
		},

		/**
		 * Answers the claims on one endpoint in order, after all other operations of the transaction.
		 */
		async answer(endpoint: string, asked: readonly ClaimQuery[]): Promise<Claim[]> {
			const queue = queues.of(endpoint);
			const now = latest(asked);
			await due.freshen(queue, now);
			const claims = opened(asked);
			const memory = server.queueMemories.of(endpoint);
			queues.onUndo(() => server.queueMemories.forgetOne(endpoint));
			await search(queue, memory, claims, now);
			const rows = claims.flatMap(({ jobs }) => jobs.map(({ row }) => row));
			const inputs = await payloads.inputs(rows.filter((row) => payloads.inputAtHand(row) === undefined));
			const inputOf = (row: Row): JsonText => payloads.inputAtHand(row) ?? inputs.get(row.key) ?? "null";
			return claims.map(({ jobs, fenced }) => ({
				jobs: jobs
					.filter(({ row }) => row.job.state === RUNNING)
					.map(({ row }) => ({ job: row.job, input: inputOf(row) })),
				fenced,
			}));
		},
	};
}
