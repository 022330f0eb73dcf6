/**
 * Rows of jobs in memory, at most so many. They leave in two halves: while one is filled, the other
 * is only read, and is dropped as a whole when the next begins. So nothing is removed one by one,
 * which `Map` makes dear (see `core/churning.ts`).
 */
import type { Row } from "./row.ts";

/** One half. */
interface Half {
	byId: Map<string, Row>;
	bySeq: Map<number, Row>;
}

const empty = (): Half => ({ byId: new Map(), bySeq: new Map() });

/** A cache of about `most` rows. `beforeLeaving` is called before any are dropped (R2). */
export function rowCache({ most, beforeLeaving }: { most: number; beforeLeaving: () => void }) {
	let filled = empty();
	let before = empty();

	return {
		byId: (id: string): Row | undefined => filled.byId.get(id) ?? before.byId.get(id),

		bySeq: (seq: number): Row | undefined => filled.bySeq.get(seq) ?? before.bySeq.get(seq),

		/** Keeps a row, in place of an earlier state of it. */
		keep(row: Row): Row {
			if (filled.bySeq.size >= most / 2) {
				beforeLeaving();
				before = filled;
				filled = empty();
			}
			filled.byId.set(row.job.id, row);
			filled.bySeq.set(row.seq, row);
			return row;
		},

		remove({ seq, job }: Row): void {
			for (const { byId, bySeq } of [filled, before]) {
				byId.delete(job.id);
				bySeq.delete(seq);
			}
		},

		clear(): void {
			filled = empty();
			before = empty();
		},
	};
}
