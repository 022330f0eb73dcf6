import { type JsonText, sizeOf } from "../../../lib/json/json-text.ts";
import type { Result } from "../../row.ts";
import type { Database, Value } from "../file/database.ts";
import type { FileTexts } from "./file-texts.ts";
import type { Numbered } from "./row.ts";
import { damagedText, isWhole, sumOf } from "./text-sums.ts";

const textOf = (value: Value | undefined): string | undefined => (value as string | null | undefined) ?? undefined;

export type Payloads = ReturnType<typeof openPayloads>;

export function openPayloads(db: Database, texts: FileTexts) {
	const insertInput = db.prepare("INSERT INTO inputs (seq, input, sum) VALUES (?, ?, ?)");
	const selectInput = db.prepare("SELECT input, sum FROM inputs WHERE seq = ?");
	const selectHead = db.prepare(
		"SELECT CASE typeof(input) WHEN 'text' THEN substr(input, 1, ?) ELSE input END FROM inputs WHERE seq = ?",
	);
	const deleteInput = db.prepare("DELETE FROM inputs WHERE seq = ?");
	const replaceResult = db.prepare(
		"INSERT OR REPLACE INTO results (seq, output, error, output_sum, error_sum) VALUES (?, ?, ?, ?, ?)",
	);
	const selectResult = db.prepare("SELECT output, error, output_sum, error_sum FROM results WHERE seq = ?");
	// The sum follows the output in the row: reading it means reading the pages of the output.
	const selectError = db.prepare(
		"SELECT error, CASE WHEN error IS NOT NULL THEN error_sum END FROM results WHERE seq = ?",
	);
	const deleteResult = db.prepare("DELETE FROM results WHERE seq = ?");
	const largeInput = db.prepare("SELECT input FROM inputs WHERE seq = ? AND typeof(input) <> 'text'");
	const largeOutput = db.prepare("SELECT output FROM results WHERE seq = ? AND typeof(output) <> 'text'");
	/** Inputs of this batch, which its claims need not read (R8). */
	const fresh = new Map<number, JsonText>();

	function dropOutput(seq: number): void {
		if (texts.any) texts.drop(largeOutput.get(seq)?.[0]);
	}

	return {
		setInput({ seq }: Numbered, input: JsonText): void {
			fresh.set(seq, input);
			const value = texts.write(input);
			insertInput.run(seq, value, sumOf(value));
		},

		/** Returns an input; undefined if it has more than `most` characters or bytes. */
		input({ seq }: Numbered, most = Infinity): JsonText | undefined {
			const here = fresh.get(seq);
			if (here !== undefined) {
				return sizeOf(here) > most ? undefined : here;
			}
			const [value, sum] = (selectInput.get(seq) ?? []) as [Value, Value?];
			if (!isWhole(value, sum)) throw damagedText(db, { seq, column: "input" });
			return most < Infinity && texts.size(value) > most ? undefined : texts.read(value);
		},

		/** Returns the number of the payload file that has the input, if it is in one. */
		inputFile({ seq }: Numbered): number | undefined {
			const value = largeInput.get(seq)?.[0];
			return typeof value === "number" ? texts.file(value) : undefined;
		},

		/** Returns the beginning of an input, or the location of one that is in a payload file. */
		inputHead({ seq }: Numbered, characters: number): JsonText | undefined {
			const value = selectHead.get(characters, seq)?.[0] as Value | undefined;
			return value === undefined ? undefined : texts.read(value);
		},

		setResult({ seq }: Numbered, { output, error }: Result): void {
			dropOutput(seq);
			if (output === undefined && error === undefined) return void deleteResult.run(seq);
			const value = output === undefined ? null : texts.write(output);
			replaceResult.run(seq, value, error ?? null, sumOf(value), sumOf(error ?? null));
		},

		/** Returns the result. `size`: only the size of an output that is in a payload file. */
		result({ seq }: Numbered, large?: "size"): Result {
			const [output = null, error, outputSum, errorSum] = selectResult.get(seq) ?? [];
			if (!isWhole(output, outputSum)) throw damagedText(db, { seq, column: "output" });
			if (!isWhole(error, errorSum)) throw damagedText(db, { seq, column: "error" });
			if (large !== undefined && typeof output === "number")
				return { outputBytes: texts.size(output), error: textOf(error) };
			return {
				output: output === null ? undefined : texts.read(output),
				error: textOf(error),
			};
		},

		error({ seq }: Numbered): string | undefined {
			const [value, sum] = selectError.get(seq) ?? [];
			if (!isWhole(value, sum)) throw damagedText(db, { seq, column: "error" });
			return textOf(value);
		},

		erase({ seq }: Numbered): void {
			dropOutput(seq);
			if (texts.any) texts.drop(largeInput.get(seq)?.[0]);
			deleteInput.run(seq);
			deleteResult.run(seq);
		},

		/** Forgets the inputs after the reply; from now on they are read from the database (R8). */
		forgetFresh(): void {
			if (fresh.size > 0) fresh.clear();
		},
	};
}
