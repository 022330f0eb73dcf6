/** Rows read for display, with payloads and attempts; nothing is locked or written. */
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
import { isPurged, noChange, noCounts, type Queue, type Row } from "./row.ts";
import type { Value } from "../connection/statement.ts";
import { readResult } from "./payloads.ts";

export interface ReadModelRow extends Row {
	readonly past: readonly Attempt[];
	readonly result: Result;
	readonly input?: JsonText | undefined;
}

/**
 * Columns for {@link readModelFrom}, of `jobs` and `queues`; `input` and `output` are SQL
 * expressions.
 */
export function readModelColumns({ input, output }: { input: string; output: string }): string {
	return `queues.epoch, ${input}, ${output}, jobs.error, ${COLUMNS}`;
}

/** A row from the values of {@link readModelColumns}; undefined if purged. */
export function readModelFrom([epoch, input, output, error, ...values]: Value[]): ReadModelRow | undefined {
	const queueOf = (endpoint: string): Queue => ({
		endpoint,
		known: true,
		epoch: Number(epoch),
		purgedTo: 0,
		counts: noCounts(),
		lowInQueue: 0,
		storedBytes: 0,
		change: noChange(),
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

/** The unit of work of an operation that reads one row; `range`: chunks read for it. */
export function readUnit(row: ReadModelRow | undefined, range?: Omit<ChunkRead, "state">): ReadUnit<ReadModelRow> {
	return {
		records: { find: () => row },
		attempts: { list: ({ past }) => [...past] },
		chunks: { range: () => range ?? never(), undelivered },
		transitions: READ_MODEL_TRANSITIONS,
		views: VIEWS,
	};
}

/** Writes are not possible here. */
function never(): never {
	throw new Error("An operation that only reads asked for something else.");
}

/** Transitions of a read-only row: projected, never written. */
const READ_MODEL_TRANSITIONS = openTransitions<ReadModelRow>({
	queues: { moved: never, join: never },
	records: { update: never, remove: never },
	attempts: { add: never, list: ({ past }) => [...past], remove: never },
	payloads: { setResult: never, erase: never },
	chunks: { drop: never },
	deliveries: { add: never, erase: never },
	signal: never,
});

/** Views of a row as if its passed deadlines were settled (D15). */
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
