/** The operations on streams (D7). Each runs inside a batch of the database thread. */
import type { ChunkRead } from "../contract/chunks.ts";
import type { UnitOfWork } from "./rows/unit-of-work.ts";
import type { Row } from "./rows/row.ts";
import { RUNNING } from "../states.ts";
import type { GroupHandlers } from "../operations.ts";

export function openChunks({
	records,
	attempts,
	chunks,
	moves,
}: UnitOfWork): GroupHandlers<"chunks"> {
	/**
	 * A row and what a reader may see of it now: the state, and the number below which chunks are
	 * there.
	 */
	function seen(q: {
		endpoint: string;
		id: string;
		now: number;
	}): { row: Row; state: ChunkRead["state"]; end: number } | undefined {
		const row = records.find(q);
		const projected = row && moves.project(row, q.now);
		if (!projected || projected.job.erased) return undefined;
		const dropped = projected.steps.some((step) => step.chunks === "undelivered");
		return {
			row,
			state: projected.job.state,
			end: dropped ? chunks.undelivered(row) : row.nextChunk,
		};
	}

	function isRepeat(row: Row, texts: readonly string[]): boolean {
		const last = chunks.last(row, texts.length);
		return last !== undefined && last.every((text, index) => text === texts[index]);
	}

	return {
		append({ endpoint, id, worker, chunks: texts, unlessLast, now }) {
			const found = records.find({ endpoint, id });
			const row = found && moves.pass(found, now);
			if (!row || row.job.erased) return { ok: false, why: "missing" };
			if (row.job.worker !== worker || row.job.state !== RUNNING) {
				return {
					ok: false,
					why: row.job.worker === worker || attempts.includes(row, worker) ? "stale" : "missing",
				};
			}
			const renewed = moves.renewed(row.job, now);
			const repeat = unlessLast && texts.length > 0 && isRepeat(row, texts);
			if (!repeat)
				texts.forEach((text, index) => chunks.insert(row.seq, row.nextChunk + index, text));
			records.update(row, { job: renewed, nextChunk: row.nextChunk + (repeat ? 0 : texts.length) });
			return { ok: true, repeat };
		},

		read({ endpoint, id, from, maxBytes, now }) {
			const at = seen({ endpoint, id, now });
			return (
				at && { state: at.state, ...chunks.range({ seq: at.row.seq, from, end: at.end, maxBytes }) }
			);
		},

		reserve({ endpoint, id, reader, maxBytes, now }) {
			const at = seen({ endpoint, id, now });
			if (!at) return undefined;
			const { seq, cursor } = at.row;
			const held = chunks.reservation(seq);
			if (held && held.reader !== reader)
				return { state: at.state, from: cursor, next: cursor, chunks: [], more: true, busy: true };
			const range = chunks.range({ seq, from: cursor, end: at.end, maxBytes });
			if (range.chunks.length > 0) chunks.reserve(seq, { reader, end: range.next });
			return { state: at.state, ...range };
		},

		deliver({ endpoint, id, reader, delivered }) {
			const row = records.find({ endpoint, id });
			const held = row && chunks.reservation(row.seq);
			if (!row || held?.reader !== reader) return;
			chunks.release(row.seq);
			if (delivered && held.end > row.cursor) records.update(row, { cursor: held.end });
		},
	};
}
