/** Rows read for display; nothing is locked or written. */
import type { Attempt } from "../../../core/jobs/job.ts";
import type { JsonText } from "../../../lib/json/json-text.ts";
import { Transitions } from "../../apply-transition.ts";
import type { Result } from "../../row.ts";
import type { ReadUnit } from "../../operations/unit-of-work.ts";
import type { ChunkRead } from "../../contract/jobs.ts";
import { openViews } from "../../views.ts";
import { ATTEMPTS_OF_JOB, attemptsFrom } from "./attempts.ts";
import { undelivered } from "./chunk-rows.ts";
import { jsonTextOf } from "./buffer-transfer.ts";
import { COLUMNS, rowOf } from "./job-records.ts";
import { isPurged, newQueue, type Row } from "./row.ts";
import type { Value } from "../connection/statement.ts";
import { readResult } from "./payloads.ts";

export interface ReadModelRow extends Row {
	readonly past: readonly Attempt[];
	readonly result: Result;
	readonly input?: JsonText | undefined;
}

export function readModelColumns({ input, output }: { input: string; output: string }): string {
	return `queues.epoch, ${input}, ${output}, jobs.error, ${COLUMNS},
		CASE WHEN jobs.past THEN ${ATTEMPTS_OF_JOB} END`;
}

export function readModelFrom([epoch, input, output, error, ...values]: Value[]): ReadModelRow | undefined {
	const row = rowOf(values, (endpoint) => ({ ...newQueue(endpoint), known: true, epoch: Number(epoch) }));
	if (isPurged(row)) return undefined;
	return {
		...row,
		past: attemptsFrom(values[values.length - 1] as string | null),
		result: readResult(output as string | null, error as string | null),
		input: typeof input === "string" ? jsonTextOf(input) : undefined,
	};
}

export function readUnit(row: ReadModelRow | undefined, range?: Omit<ChunkRead, "state">): ReadUnit<ReadModelRow> {
	return {
		records: { find: () => row },
		attempts: { list: ({ past }) => [...past] },
		chunks: { range: () => range ?? never(), undelivered },
		transitions: READ_MODEL_TRANSITIONS,
		views: VIEWS,
	};
}

function never(): never {
	throw new Error("An operation that only reads asked for something else.");
}

const READ_MODEL_TRANSITIONS = new Transitions<ReadModelRow>({
	queues: { moved: never, join: never },
	records: { update: never, remove: never },
	attempts: { add: never, list: ({ past }) => [...past], remove: never },
	payloads: { setResult: never, erase: never },
	chunks: { drop: never },
	deliveries: { add: never, erase: never },
	signal: never,
});

/** Passed deadlines count as settled (D15). */
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
