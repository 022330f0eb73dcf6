/** Text output: tables, lists of fields, short times. */
import { printable } from "../core/terminal-text.ts";
import { heading, stateStyled } from "./style.ts";

/** Aligned columns. Undefined prints as an empty cell. */
export function table(
	headings: readonly string[],
	rows: readonly (readonly (string | number | undefined)[])[],
): string {
	const cells = [headings, ...rows].map((row) => row.map((cell) => printable(String(cell ?? ""))));
	const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
	const [first = [], ...others] = cells.map((row) => padded(row, widths));
	const lines = [first.map(heading), ...others.map((row) => row.map((cell) => stateStyled(cell)))];
	return lines.map((row) => `${row.join("  ")}\n`).join("");
}

/** A line of a table whose other rows are not known yet. */
export function tableRow(cells: readonly (string | number | undefined)[], widths: readonly number[]): string {
	const row = padded(
		cells.map((cell) => printable(String(cell ?? ""))),
		widths,
	);
	return `${row.map((cell) => stateStyled(cell)).join("  ")}\n`;
}

/** Returns the row without spaces at the end of the line. */
function padded(row: readonly string[], widths: readonly number[]): string[] {
	const last = row.findLastIndex((cell) => cell !== "");
	return row.slice(0, last + 1).map((cell, column) => (column === last ? cell : cell.padEnd(widths[column] ?? 0)));
}

/** One `name  value` pair per line; omits undefined values. */
export function fieldList(fields: readonly (readonly [string, string | number | undefined])[]): string {
	const present = fields.filter(([, value]) => value !== undefined);
	const width = Math.max(...present.map(([name]) => name.length));
	return present.map(([name, value]) => `${name.padEnd(width)}  ${printable(String(value))}\n`).join("");
}

/** To the second: `2026-01-31 12:00:00Z`. */
export function shortTime(iso: string | undefined): string | undefined {
	return iso?.replace(/^([^\sT]+)T([^\s.]+)\.\d+Z$/, "$1 $2Z");
}
