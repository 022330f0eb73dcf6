/** All rows of a kind of credential by hash, for checks that must not read the store each (D41). */
import type { EpochMs } from "../../core/time.ts";

/** Age from which the rows are read again, ms. */
const FRESH_MS = 1000;

export interface RowsByHash<Row> {
	find(hash: string): Promise<Row | undefined>;
	/** Reads the rows again at the next call. */
	forget(): void;
}

export function rowsByHash<Row>(d: {
	list: () => Promise<readonly Row[]>;
	hashesOf: (row: Row) => readonly string[];
	now: () => EpochMs;
}): RowsByHash<Row> {
	let read: { at: EpochMs; rows: Promise<ReadonlyMap<string, Row>> } | undefined;

	async function rows(): Promise<ReadonlyMap<string, Row>> {
		const all = await d.list();
		return new Map(all.flatMap((row) => d.hashesOf(row).map((hash) => [hash, row] as const)));
	}

	return {
		async find(hash) {
			const now = d.now();
			if (!read || Math.abs(now - read.at) >= FRESH_MS) {
				const next = { at: now, rows: rows() };
				read = next;
				next.rows.catch(() => {
					if (read === next) read = undefined;
				});
			}
			return (await read.rows).get(hash);
		},
		forget() {
			read = undefined;
		},
	};
}
