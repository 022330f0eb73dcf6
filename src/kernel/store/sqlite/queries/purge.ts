/** Purging a queue (D11): one mark makes all its waiting jobs missing. Their rows are removed later in steps. */
import type { Attempts } from "../rows/attempts.ts";
import type { ChunkRows } from "../rows/chunk-rows.ts";
import type { Queues } from "../rows/queues.ts";
import type { Records } from "../rows/job-records.ts";
import type { Queue } from "../rows/row.ts";
import { WAITING } from "../../row.ts";
import type { Payloads } from "../rows/payloads.ts";

/** Bytes of inputs removed in one step: each of their pages must be read. */
const MOST_BYTES = 64_000_000;

export type Purge = ReturnType<typeof openPurge>;

export function openPurge(queues: Queues, records: Records, attempts: Attempts, payloads: Payloads, chunks: ChunkRows) {
	const purgedOf = records.prepare(
		`SELECT seq, (SELECT octet_length(input) FROM inputs WHERE inputs.seq = jobs.seq) FROM jobs
			WHERE queue = ? AND low_priority IN (0, 1) AND state = '${WAITING}' AND rank BETWEEN ? AND ?
			LIMIT ?`,
	);

	/** The counts already exclude the job. */
	function discard(seq: number): void {
		chunks.removeAll(seq);
		payloads.erase({ seq });
		attempts.remove({ seq });
		records.remove({ seq });
	}

	return {
		discard,

		mark(queue: Queue): number {
			records.flush();
			return queues.purge(queue);
		},

		/** Removes rows of purged jobs. True if more may be left. */
		remove(limit: number): boolean {
			let left = limit;
			let bytes = 0;
			for (const queue of queues.purged()) {
				const { from, to } = queue.purged;
				for (const [seq, size] of purgedOf.all(queue.number, from, to, left + 1)) {
					if (left === 0 || bytes > MOST_BYTES) return true;
					discard(Number(seq));
					left -= 1;
					bytes += Number(size);
				}
				queues.cleaned(queue);
			}
			return false;
		},
	};
}
