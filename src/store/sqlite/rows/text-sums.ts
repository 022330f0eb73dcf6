/**
 * Checksums of texts in rows: SQLite does not notice a changed byte within a value. Texts in payload
 * files have their own (decision 0014).
 */
import { crc32 } from "node:zlib";
import { StoreUnavailable } from "../../contract/store.ts";
import type { Database, Value } from "../database.ts";

/** A text of a job, and the column of its sum. */
interface TextColumn {
	table: "inputs" | "results" | "chunks";
	column: "input" | "output" | "error" | "body";
	sum: "sum" | "output_sum" | "error_sum";
}

const COLUMNS: readonly TextColumn[] = [
	{ table: "inputs", column: "input", sum: "sum" },
	{ table: "results", column: "output", sum: "output_sum" },
	{ table: "results", column: "error", sum: "error_sum" },
	{ table: "chunks", column: "body", sum: "sum" },
];

/** Jobs that a sentence names. */
const NAMED = 3;

/** What is stored beside a value; null for one that is no text. */
export function sumOf(value: Value): Value {
	return typeof value === "string" ? crc32(value) : null;
}

/** Whether a value is as it was written; always true without a sum. */
export function isWhole(value: Value | undefined, sum: Value | undefined): boolean {
	return typeof sum !== "number" || (typeof value === "string" && crc32(value) === sum);
}

/** The error for a text that is not. `seq`: row number of its job. */
export function damagedText(
	db: Pick<Database, "path" | "prepare">,
	{ seq, column }: { seq: number; column: "input" | "output" | "error" | "chunk" },
): StoreUnavailable {
	const [id] = db.prepare("SELECT id FROM jobs WHERE seq = ?").get(seq) ?? [];
	return new StoreUnavailable(
		"damaged",
		`${db.path} is damaged: the ${column} of job ${String(id)} is not as it was written. Restore a ` +
			`backup (sluice restore FILE --store sqlite:${db.path}); sluice verify lists all such texts`,
	);
}

/** A sentence for each column with texts that are not as they were written. */
export function damagedTexts(db: Database): string[] {
	return COLUMNS.flatMap(({ table, column, sum }) => {
		const ids = new Set<string>();
		const stored = db.prepare(
			`SELECT id, ${column}, ${table}.${sum} FROM ${table} JOIN jobs USING (seq)
				WHERE ${table}.${sum} IS NOT NULL`,
		);
		for (const [id, value, sumOfValue] of stored.iterate()) if (!isWhole(value, sumOfValue)) ids.add(String(id));
		if (ids.size === 0) return [];
		const names = [...ids].slice(0, NAMED).join(", ");
		return [
			`${ids.size} jobs have ${table} that are not as they were written (${column}): ${names}` +
				`${ids.size > NAMED ? ", ..." : ""}.`,
		];
	});
}
