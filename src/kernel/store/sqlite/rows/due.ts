/** Finds jobs with passed deadlines: counts and claims are right without the sweeper (D15). */
import type { Database, Statement } from "../file/database.ts";
import type { Transitions, Projection } from "../../apply-transition.ts";
import type { Purge } from "../queries/purge.ts";
import type { Records } from "./job-records.ts";
import { isPurged, type Queue, type Row } from "./row.ts";
import { WAITING } from "../../row.ts";

/** Maximum of jobs that one batch settles in passing. */
const PASSING_LIMIT = 1000;

/** Keeps a time before which no live job is due; it may be too early, never too late (R6). */
export function openHorizon() {
	let earliest = Number.NEGATIVE_INFINITY;
	return {
		reached: (now: number): boolean => now >= earliest,
		note(dueAt: number): void {
			if (dueAt < earliest) earliest = dueAt;
		},
		set(dueAt: number): void {
			earliest = dueAt;
		},
	};
}

export function openDue(
	db: Database,
	records: Records,
	transitions: Transitions<Row>,
	purge: Purge,
	horizon: ReturnType<typeof openHorizon>,
) {
	const live = records.prepare(
		"SELECT seq, due_at FROM jobs WHERE ended_at IS NULL AND due_at <= ? ORDER BY due_at, seq LIMIT ?",
	);
	const ended = records.prepare(
		"SELECT seq, due_at FROM jobs WHERE ended_at IS NOT NULL AND due_at <= ? ORDER BY due_at, seq LIMIT ?",
	);
	const nextLive = records.prepare("SELECT min(due_at) FROM jobs WHERE ended_at IS NULL");
	const nextEnded = records.prepare("SELECT min(due_at) FROM jobs WHERE ended_at IS NOT NULL");
	// `+queue` forces the index of due jobs: the queue may have millions of rows.
	const liveOfQueue = records.prepare(
		`SELECT seq FROM jobs WHERE ended_at IS NULL AND due_at <= ? AND +queue = ?
			AND NOT (state = '${WAITING}' AND rank BETWEEN ? AND ?)`,
	);
	let budget = PASSING_LIMIT;

	function soonest(statement: Pick<Statement, "get">): number {
		const dueAt = statement.get()?.[0];
		return typeof dueAt === "number" ? dueAt : Number.POSITIVE_INFINITY;
	}

	/** Settles in due order; removes purged jobs. */
	function settleAll(numbers: readonly number[], now: number): void {
		const rows = numbers.map((seq) => records.at(seq));
		for (const row of rows) if (isPurged(row)) purge.discard(row.seq);
		transitions.settleAll(
			rows.filter((row) => !isPurged(row)),
			now,
		);
	}

	function settleLive(now: number, limit: number): number {
		const numbers = live.all(now, limit).map(([seq]) => Number(seq));
		settleAll(numbers, now);
		horizon.set(soonest(nextLive));
		return numbers.length;
	}

	return {
		begin(): void {
			budget = PASSING_LIMIT;
		},

		/** Settles passed deadlines up to the batch limit. Does nothing outside a transaction. */
		freshen(now: number): void {
			if (db.inTransaction && budget > 0 && horizon.reached(now)) budget -= settleLive(now, budget);
		},

		/** Settles passed deadlines until no live job is due or `enough` returns true. */
		settleUntil(now: number, enough: () => boolean): void {
			while (horizon.reached(now) && !enough() && settleLive(now, PASSING_LIMIT) > 0);
		},

		/** Returns jobs with passed deadlines that are not settled yet, in the state that they would have. */
		unsettled(queue: Queue, now: number): { row: Row; after: Projection | undefined }[] {
			if (!horizon.reached(now)) return [];
			return liveOfQueue.all(now, queue.number, queue.purged.from, queue.purged.to).map(([seq]) => {
				const row = records.at(Number(seq));
				return { row, after: transitions.project(row, now) };
			});
		},

		settle({ now, limit, expiries }: { now: number; limit: number; expiries: number }): {
			settled: number;
			liveDueAt: number;
			expiryDueAt: number;
		} {
			const passed = live.all(now, limit);
			const expired = ended.all(now, Math.min(limit - passed.length, expiries));
			const found = [...passed, ...expired] as [number, number][];
			settleAll(
				found.toSorted((a, b) => a[1] - b[1]).map(([seq]) => seq),
				now,
			);
			const liveDueAt = soonest(nextLive);
			horizon.set(liveDueAt);
			return { settled: found.length, liveDueAt, expiryDueAt: soonest(nextEnded) };
		},
	};
}
