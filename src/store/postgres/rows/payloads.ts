/**
 * Inputs, results and progress values in one transaction. They are columns of `jobs`; PostgreSQL
 * stores large ones out of line.
 */
import { type JsonText, LARGE_BYTES } from "../../../core/json/json-text.ts";
import type { Result } from "../../row.ts";
import { flags, texts as textArray } from "../connection/arrays.ts";
import { jsonTextOf } from "./buffer-transfer.ts";
import { keyOf, type Row } from "./row.ts";
import { type Runner, statement } from "../connection/statement.ts";

const INPUTS = statement(`
  SELECT jobs.endpoint, jobs.id, input FROM unnest($1::text[], $2::text[]) AS given (endpoint, id)
  JOIN jobs ON jobs.endpoint = given.endpoint AND jobs.id = given.id`);
const RESULT = statement("SELECT output, error FROM jobs WHERE endpoint = $1 AND id = $2");

interface Change {
	input?: JsonText;
	result?: Result;
	erase?: boolean;
}

/** Encodes an error as JSON: it may contain characters that `text` cannot hold. */
function packError(error: string | undefined): string | undefined {
	return error === undefined ? undefined : JSON.stringify(error);
}

export function readError(packed: string | null): string | undefined {
	return packed === null ? undefined : (JSON.parse(packed) as string);
}

/** SQL for an output, or of a large one its size after a mark that begins no JSON. */
export const SMALL_OUTPUT = `CASE WHEN octet_length(jobs.output) < ${LARGE_BYTES} THEN jobs.output
  ELSE '#' || octet_length(jobs.output) END`;

export function readResult(output: string | null, error: string | null): Result {
	if (output?.startsWith("#")) return { outputBytes: Number(output.slice(1)), error: readError(error) };
	return { output: output === null ? undefined : jsonTextOf(output), error: readError(error) };
}

export type Payloads = ReturnType<typeof openPayloads>;

/** Payloads of the rows of one transaction. */
export function openPayloads({ run }: { run: Runner["run"] }) {
	const changes = new Map<string, Change>();
	const inputs = new Map<string, JsonText>();
	const results = new Map<string, Result>();

	function change({ key }: Row): Change {
		let found = changes.get(key);
		if (!found) changes.set(key, (found = {}));
		return found;
	}

	return {
		setInput(row: Row, input: JsonText): void {
			change(row).input = input;
		},

		/** Adds an input that was read with its row. */
		known: ({ key }: Row, input: JsonText): void => void inputs.set(key, input),

		/** The input, if it was submitted in this transaction or read with its row. */
		inputAtHand: ({ key }: Row): JsonText | undefined => changes.get(key)?.input ?? inputs.get(key),

		/** Inputs of rows stored before this transaction, by {@link keyOf}. */
		async inputs(rows: readonly Row[]): Promise<Map<string, JsonText>> {
			if (rows.length === 0) return new Map();
			const found = await run(INPUTS, [
				textArray(rows.map(({ job }) => job.endpoint)),
				textArray(rows.map(({ job }) => job.id)),
			]);
			return new Map(
				found.rows.map(([endpoint, id, input]) => [
					keyOf({ endpoint: String(endpoint), id: String(id) }),
					jsonTextOf(String(input)),
				]),
			);
		},

		/** Replaces the result; absent members are cleared. */
		setResult(row: Row, result: Result): void {
			change(row).result = result;
		},

		/** Reads a result, for {@link Payloads.result}. */
		async loadResult({ job, key }: Row): Promise<void> {
			const [output = null, error = null] = (await run(RESULT, [job.endpoint, job.id])).rows[0] ?? [];
			results.set(key, readResult(output as string | null, error as string | null));
		},

		result({ key }: Row): Result {
			const changed = changes.get(key);
			if (changed?.erase) return {};
			const result = changed?.result ?? results.get(key);
			if (!result) throw new Error(`The result of job ${key} was not read.`);
			return result;
		},

		/** Removes input and result. */
		erase({ key }: Row): void {
			changes.set(key, { erase: true });
		},

		/** Call after the write: later calls read the payloads from the database. */
		written(): void {
			changes.clear();
			results.clear();
		},

		/** Columns `input`, `output` and `error` of new rows. */
		ofNew(rows: readonly Row[]): Buffer[] {
			const of = rows.map(({ key }) => changes.get(key));
			return [
				textArray(of.map((each) => each?.input)),
				textArray(of.map((each) => each?.result?.output)),
				textArray(of.map((each) => packError(each?.result?.error))),
			];
		},

		/**
		 * Update columns of changed rows: whether the result is new, whether all is erased, `output`,
		 * `error`.
		 */
		ofChanged(rows: readonly Row[]): Buffer[] {
			const of = rows.map(({ key }) => changes.get(key));
			return [
				flags(of.map((each) => each?.result !== undefined)),
				flags(of.map((each) => each?.erase === true)),
				textArray(of.map((each) => each?.result?.output)),
				textArray(of.map((each) => packError(each?.result?.error))),
			];
		},
	};
}
