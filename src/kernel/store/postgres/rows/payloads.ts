import { type JsonText, LARGE_BYTES } from "../../../lib/json/json-text.ts";
import type { Result } from "../../row.ts";
import { jsonTextOf } from "./buffer-transfer.ts";
import { keyOf, KEYS, type Row } from "./row.ts";
import { type Runner, statement } from "../connection/statement.ts";

const INPUTS = statement(`
  SELECT jobs.endpoint, jobs.id, input FROM (${KEYS.select}) AS given
  JOIN jobs ON jobs.endpoint = given.endpoint AND jobs.id = given.id`);
const RESULT = statement("SELECT output, error FROM jobs WHERE endpoint = $1 AND id = $2");

export interface PayloadColumns {
	input: JsonText | undefined;
	result: boolean;
	erase: boolean;
	output: JsonText | undefined;
	error: string | undefined;
}

interface Change {
	input?: JsonText;
	result?: Result;
	erase?: boolean;
}

/** An error may contain characters that `text` cannot hold. */
function packError(error: string | undefined): string | undefined {
	return error === undefined ? undefined : JSON.stringify(error);
}

export function readError(packed: string | null): string | undefined {
	return packed === null ? undefined : (JSON.parse(packed) as string);
}

/** Reads an input unless it is large. */
export const SMALL_INPUT = `CASE WHEN jobs.input_bytes < ${LARGE_BYTES} THEN jobs.input END`;

/** Reads an output, or for a large one a mark that begins no JSON and its size. */
export const SMALL_OUTPUT = `CASE WHEN octet_length(jobs.output) < ${LARGE_BYTES} THEN jobs.output
  ELSE '#' || octet_length(jobs.output) END`;

export function readResult(output: string | null, error: string | null): Result {
	if (output?.startsWith("#")) return { outputBytes: Number(output.slice(1)), error: readError(error) };
	return { output: output === null ? undefined : jsonTextOf(output), error: readError(error) };
}

export type Payloads = ReturnType<typeof openPayloads>;

export function openPayloads(run: Runner["run"]) {
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

		known: ({ key }: Row, input: JsonText): void => void inputs.set(key, input),

		inputAtHand: ({ key }: Row): JsonText | undefined => changes.get(key)?.input ?? inputs.get(key),

		async inputs(rows: readonly Row[]): Promise<Map<string, JsonText>> {
			if (rows.length === 0) return new Map();
			const found = await run(INPUTS, KEYS.values(rows.map(({ job }) => job)));
			return new Map(
				found.rows.map(([endpoint, id, input]) => [
					keyOf({ endpoint: String(endpoint), id: String(id) }),
					jsonTextOf(String(input)),
				]),
			);
		},

		/** Sets the result of a job; absent members are removed. */
		setResult(row: Row, result: Result): void {
			change(row).result = result;
		},

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

		erase({ key }: Row): void {
			changes.set(key, { erase: true });
		},

		/** After the write: later calls read the payloads from the database. */
		written(): void {
			changes.clear();
			results.clear();
		},

		columnsOf({ key }: Row): PayloadColumns {
			const { input, result, erase = false } = changes.get(key) ?? {};
			return { input, result: result !== undefined, erase, output: result?.output, error: packError(result?.error) };
		},
	};
}
