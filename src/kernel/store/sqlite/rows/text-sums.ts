/** SQLite does not notice a changed byte within a value. Texts in payload files have their own sums (decision 0014). */
import { crc32 } from "node:zlib";
import { StoreUnavailable } from "../../contract/store.ts";
import type { Database, Value } from "../file/database.ts";

const COLUMNS = [
	{ table: "inputs", column: "input", sum: "sum" },
	{ table: "results", column: "output", sum: "output_sum" },
	{ table: "results", column: "error", sum: "error_sum" },
	{ table: "chunks", column: "body", sum: "sum" },
];

const NAMED = 3;

/** Null for a value that is no text. */
export function sumOf(value: Value): Value {
	return typeof value === "string" ? crc32(value) : null;
}

/** Always true without a sum. */
export function isWhole(value: Value | undefined, sum: Value | undefined): boolean {
	return typeof sum !== "number" || (typeof value === "string" && crc32(value) === sum);
}

/** `seq`: row number of the job. */
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
