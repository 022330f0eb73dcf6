/**
 * A cache of rows in two halves: one is filled, the other only read, and dropped as a whole when the next begins.
 * Removing single entries from a `Map` is expensive (`lib/rotating-map.ts`).
 */
import type { Row } from "./row.ts";

interface Half {
	byId: Map<string, Row>;
	bySeq: Map<number, Row>;
}

const empty = (): Half => ({ byId: new Map(), bySeq: new Map() });

/** Opens a cache of about `most` rows. Calls `beforeLeaving` before it drops any (R2). */
export function rowCache(most: number, beforeLeaving: () => void) {
	let filled = empty();
	let before = empty();

	return {
		byId: (id: string): Row | undefined => filled.byId.get(id) ?? before.byId.get(id),

		bySeq: (seq: number): Row | undefined => filled.bySeq.get(seq) ?? before.bySeq.get(seq),

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
