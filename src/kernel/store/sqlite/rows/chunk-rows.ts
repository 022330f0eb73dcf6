/**
 * Stream chunks. Reservations are only in memory (R8): they must end with the process (D7 Delivery). Descriptions:
 * `operations/unit-of-work.ts`.
 */
import type { RangeQuery, Reservation } from "../../operations/unit-of-work.ts";
import type { ChunkRead } from "../../contract/jobs.ts";
import type { Database, Value } from "../file/database.ts";
import type { Row } from "./row.ts";
import { damagedText, isWhole, sumOf } from "./text-sums.ts";

export type ChunkRows = ReturnType<typeof openChunkRows>;

/** Opens the chunks. `onRollback` receives functions that restore the memory when the transaction fails. */
export function openChunkRows(
	db: Database,
	reservations: Map<number, Reservation>,
	onRollback: (undo: () => void) => void,
) {
	const insert = db.prepare("INSERT INTO chunks (seq, number, body, sum) VALUES (?, ?, ?, ?)");
	const select = db.prepare(
		`SELECT number, body, octet_length(body), sum FROM chunks
			WHERE seq = ? AND number >= ? AND number < ? ORDER BY number`,
	);
	const removeFrom = db.prepare("DELETE FROM chunks WHERE seq = ? AND number >= ?");

	function release(seq: number): void {
		const held = reservations.get(seq);
		if (!held) return;
		reservations.delete(seq);
		onRollback(() => reservations.set(seq, held));
	}

	function undelivered(row: Row): number {
		return Math.max(row.cursor, reservations.get(row.seq)?.end ?? 0);
	}

	function textOf({ seq }: Row, value: Value | undefined, sum: Value | undefined): string {
		if (!isWhole(value, sum)) throw damagedText(db, { seq, column: "chunk" });
		return String(value);
	}

	return {
		insert: ({ seq }: Row, number: number, body: string): void => void insert.run(seq, number, body, sumOf(body)),

		last(row: Row, count: number): string[] | undefined {
			const found = select.all(row.seq, row.nextChunk - count, row.nextChunk);
			return found.length === count ? found.map(([, body, , sum]) => textOf(row, body, sum)) : undefined;
		},

		range(row: Row, q: RangeQuery): Omit<ChunkRead, "state"> {
			const range: Omit<ChunkRead, "state"> = {
				from: q.from,
				next: q.from,
				chunks: [],
				more: false,
			};
			let bytes = 0;
			for (const [at, body, size, sum] of select.iterate(row.seq, q.from, q.end)) {
				const number = Number(at);
				bytes += Number(size);
				const first = range.chunks.length === 0;
				if (first) range.from = number;
				else if (number !== range.next || bytes > q.maxBytes) {
					range.more = true;
					break;
				}
				range.chunks.push(textOf(row, body, sum));
				range.next = number + 1;
			}
			return range;
		},

		undelivered,

		drop(row: Row, which: "undelivered" | "all"): number {
			if (which === "undelivered") {
				const from = undelivered(row);
				if (row.nextChunk > from) removeFrom.run(row.seq, from);
				return from;
			}
			if (row.nextChunk > 0) removeFrom.run(row.seq, 0);
			release(row.seq);
			return row.nextChunk;
		},

		removeAll(seq: number): void {
			removeFrom.run(seq, 0);
			release(seq);
		},

		reservation: ({ seq }: Row): Reservation | undefined => reservations.get(seq),

		isBusy({ seq }: Row, reader: string): boolean {
			const reservation = reservations.get(seq);
			return reservation !== undefined && reservation.reader !== reader;
		},

		reserve({ seq }: Row, reservation: Reservation): void {
			const before = reservations.get(seq);
			reservations.set(seq, reservation);
			onRollback(() => {
				if (before) reservations.set(seq, before);
				else reservations.delete(seq);
			});
		},

		release(row: Row): Row {
			release(row.seq);
			return row;
		},
	};
}
