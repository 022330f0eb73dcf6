/** What clients see of a job, as if its passed deadlines were settled (D15). */
import type { Attempt } from "../core/jobs/job.ts";
import { type JsonText, LARGE_BYTES } from "../lib/json/json-text.ts";
import type { JobResult } from "../core/jobs/job-view.ts";
import type { Transitions, Projection } from "./apply-transition.ts";
import { type JobRow, type Result, WAITING } from "./row.ts";
import type { JobRecord } from "./contract/jobs.ts";

interface ViewParts<Row extends JobRow> {
	attempts: { list(row: Row): Attempt[] };
	payloads: {
		/** `size`: of a large output only its size. */
		result(row: Row, large?: "size"): Result;
		error(row: Row): string | undefined;
		input(row: Row): JsonText | undefined;
	};
	/** First chunk number lost with the running attempt. */
	chunks: { undelivered(row: Row): number };
	transitions: Transitions<Row>;
}

export type Views<Row extends JobRow> = ReturnType<typeof openViews<Row>>;

export function openViews<Row extends JobRow>({ attempts, payloads, chunks, transitions }: ViewParts<Row>) {
	function stored(row: Row, large?: "size"): JobResult {
		return row.job.state === WAITING ? { job: row.job } : { job: row.job, ...payloads.result(row, large) };
	}

	function shown(row: Row, { job, steps, error }: Projection, large?: "size"): JobResult {
		return steps.length > 0 ? { job, error: job.erased ? undefined : error } : stored(row, large);
	}

	return {
		stored,

		/** Undefined if erased or removed. */
		result(row: Row, now: number, large?: "size"): JobResult | undefined {
			const projected = transitions.project(row, now);
			return projected && !projected.job.erased ? shown(row, projected, large) : undefined;
		},

		/** Reads no output. Erased or not; undefined if removed. */
		listed(row: Row, now: number): JobResult | undefined {
			const projected = transitions.project(row, now);
			if (!projected) return undefined;
			const { job, steps } = projected;
			if (steps.length > 0) return shown(row, projected);
			return { job, error: job.endedAt === undefined ? undefined : payloads.error(row) };
		},

		/** Undefined if removed. */
		record(row: Row, now: number, large?: "size"): JobRecord | undefined {
			const projected = transitions.project(row, now);
			if (!projected) return undefined;
			const { steps } = projected;
			const { erased } = projected.job;
			const isSized = large !== undefined && !erased && row.inputBytes >= LARGE_BYTES;
			const dropped = (which: "undelivered" | "all"): boolean => steps.some((step) => step.chunks === which);
			return {
				...shown(row, projected, large),
				input: erased || isSized ? undefined : payloads.input(row),
				...(isSized && { inputBytes: row.inputBytes }),
				attempts: [...attempts.list(row), ...steps.flatMap(({ closed }) => closed ?? [])],
				chunks: {
					written: row.nextChunk,
					delivered: dropped("all") ? row.nextChunk : dropped("undelivered") ? chunks.undelivered(row) : row.cursor,
				},
			};
		},
	};
}
