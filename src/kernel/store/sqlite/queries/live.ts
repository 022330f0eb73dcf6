import type { Records } from "../rows/job-records.ts";
import { type Queue, unpurged } from "../rows/row.ts";
import { RUNNING, WAITING } from "../../states.ts";

export function openLive(records: Records) {
	const waiting = records.prepare(
		`SELECT seq FROM jobs WHERE queue = ? AND low_priority IN (0, 1) AND state = '${WAITING}'
			AND rank > ? AND rank < ? LIMIT ?`,
	);
	// `+queue` forces the index of running jobs: the queue may have millions of rows.
	const running = records.prepare(`SELECT seq FROM jobs WHERE state = '${RUNNING}' AND +queue = ? LIMIT ?`);

	return {
		/** Returns at most `limit` live jobs, in no order. */
		some(queue: Queue, limit: number): number[] {
			const found: number[] = [];
			if (queue.counts.inProgress > 0) found.push(...running.all(queue.number, limit).map(([seq]) => Number(seq)));
			for (const { after, before } of queue.counts.inQueue > 0 ? unpurged(queue) : []) {
				found.push(...waiting.all(queue.number, after, before, limit - found.length).map(([seq]) => Number(seq)));
			}
			return found;
		},
	};
}
