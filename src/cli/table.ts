/** Text output: tables, lists of fields, short times. */
import { printable } from "../core/terminal-text.ts";

/** Aligned columns. Undefined prints as an empty cell. */
export function table(
	headings: readonly string[],
	rows: readonly (readonly (string | number | undefined)[])[],
): string {
	const cells = [headings, ...rows].map((row) => row.map((cell) => printable(String(cell ?? ""))));
	const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
	const line = (row: readonly string[]): string =>
		row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ");
	return cells.map((row) => `${line(row).trimEnd()}\n`).join("");
}

/** One `name  value` pair per line; omits undefined values. */
export function fieldList(
	fields: readonly (readonly [string, string | number | undefined])[],
): string {
	const present = fields.filter(([, value]) => value !== undefined);
	const width = Math.max(...present.map(([name]) => name.length));
	return present
		.map(([name, value]) => `${name.padEnd(width)}  ${printable(String(value))}\n`)
		.join("");
}

/** To the second: `2026-01-31 12:00:00Z`. */
export function shortTime(iso: string | undefined): string | undefined {
	return iso?.replace(/^(\S+)T(\S+?)\.\d+Z$/, "$1 $2Z");
}
