/**
 * Rows as they are read to be shown, with their texts and attempts: nothing is locked and nothing
 * written.
 */
import type { Attempt } from "../../../core/job.ts";
import type { JsonText } from "../../../core/json/json-text.ts";
import { openTransitions } from "../../apply-transition.ts";
import type { Result } from "../../row.ts";
import type { ReadUnit } from "../../operations/unit-of-work.ts";
import type { ChunkRead } from "../../contract/chunks.ts";
import { openViews } from "../../views.ts";
import { attemptsFrom } from "./attempts.ts";
import { undelivered } from "./chunk-rows.ts";
import { jsonTextOf } from "./buffer-transfer.ts";
import { COLUMNS, rowOf } from "./job-records.ts";
import { isPurged, noCounts } from "./row.ts";
import type { Queue, Row } from "./row.ts";
import type { Value } from "../connection/statement.ts";
import { readResult } from "./payloads.ts";

/** A row with all that is shown of it. */
export interface ReadModelRow extends Row {
	readonly past: readonly Attempt[];
	readonly result: Result;
	readonly input?: JsonText | undefined;
}

/**
 * Columns of a row that is shown: the epoch of its queue, input, output and error as given, and the
 * row itself; of `jobs` and `queues`.
 */
export function readModelColumns({ input, output }: { input: string; output: string }): string {
	return `queues.epoch, ${input}, ${output}, jobs.error, ${COLUMNS}`;
}

/** A row from the values of {@link readModelColumns}; undefined for one of a purged job. */
export function readModelFrom([epoch, input, output, error, ...values]: Value[]):
	| ReadModelRow
	| undefined {
	const queueOf = (endpoint: string): Queue => ({
		endpoint,
		known: true,
		epoch: Number(epoch),
		purgedTo: 0,
		counts: noCounts(),
		lowInQueue: 0,
		change: { ...noCounts(), lowInQueue: 0 },
		due: false,
	});
	const row = rowOf(values, queueOf);
	if (isPurged(row)) return undefined;
	return {
		...row,
		past: attemptsFrom(values[values.length - 1] as string | null),
		result: readResult(output as string | null, error as string | null),
		input: typeof input === "string" ? jsonTextOf(input) : undefined,
	};
}

/** The unit of work of an operation that reads one row; `range`: chunks that were read for it. */
export function readUnit(
	row: ReadModelRow | undefined,
	range?: Omit<ChunkRead, "state">,
): ReadUnit<ReadModelRow> {
	return {
		records: { find: () => row },
		attempts: { list: ({ past }) => [...past] },
		chunks: { range: () => range ?? never(), undelivered },
		transitions: READ_MODEL_TRANSITIONS,
		views: VIEWS,
	};
}

/** What is only read is never written. */
function never(): never {
	throw new Error("An operation that only reads asked for something else.");
}

/** The steps of a row that is only read: what has passed for it is shown, not written. */
export const READ_MODEL_TRANSITIONS = openTransitions<ReadModelRow>({
	queues: { moved: never, join: never },
	records: { update: never, remove: never },
	attempts: { add: never, list: ({ past }) => [...past], remove: never },
	payloads: { setResult: never, erase: never },
	chunks: { drop: never },
	deliveries: { add: never },
	signal: never,
});

/** What is shown of a row, as if all that has passed for it were settled (D15). */
export const VIEWS = openViews<ReadModelRow>({
	attempts: { list: ({ past }) => [...past] },
	payloads: {
		result: ({ result }) => result,
		error: ({ result }) => result.error,
		input: ({ input }) => input,
	},
	chunks: { undelivered },
	transitions: READ_MODEL_TRANSITIONS,
});
