import { printable } from "../../kernel/lib/terminal-text.ts";
import { heading, stateStyled } from "./style.ts";

export type Cell = string | number | undefined;

/** Characters of the terminal's line; elsewhere nothing is cut. */
export function lineWidth(): number {
	return process.stdout.isTTY ? process.stdout.columns || 80 : Infinity;
}

/** Cuts the widest cells, but none of the first column, until a line fits. */
export function table(
	headings: readonly string[],
	rows: readonly (readonly Cell[])[],
	{ width = lineWidth() }: { width?: number } = {},
): string {
	const cells = [headings, ...rows].map(texts);
	const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
	const total = (): number => widths.reduce((sum, each) => sum + each + GAP, -GAP);
	for (let widest = MIN_WIDTH + 1; total() > width && widest > MIN_WIDTH; ) {
		widest = Math.max(...widths.slice(1));
		if (widest > MIN_WIDTH) widths[widths.indexOf(widest, 1)] = widest - 1;
	}
	const shown = cells.map((row) => row.map((cell, column) => cutCell(cell, widths[column]!)));
	return shown.map((row, index) => line(row, widths, index === 0 ? heading : stateStyled)).join("");
}

const GAP = 2;
const MIN_WIDTH = 8;

function cutCell(cell: string, width: number): string {
	return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`;
}

function texts(cells: readonly Cell[]): string[] {
	return cells.map((cell) => printable(String(cell ?? "")));
}

function line(cells: readonly string[], widths: readonly number[], style: (cell: string) => string): string {
	const last = cells.findLastIndex((cell) => cell !== "");
	const padded = cells
		.slice(0, last + 1)
		.map((cell, column) => style(column === last ? cell : cell.padEnd(widths[column] ?? 0)));
	return `${padded.join("  ")}\n`;
}

export function fieldList(fields: readonly (readonly [string, Cell])[]): string {
	const present = fields.filter(([, value]) => value !== undefined);
	const width = Math.max(...present.map(([name]) => name.length));
	return present.map(([name, value]) => `${name.padEnd(width)}  ${printable(String(value))}\n`).join("");
}

/** Such as `2026-01-31 12:00:00Z`. */
export function shortTime(iso: string | undefined): string | undefined {
	return iso?.replace(/^([^\sT]+)T([^\s.]+)\.\d+Z$/, "$1 $2Z");
}

/** The same of seconds since 1970, as OpenAI's API has times. */
export function shortUnixTime(seconds: number | null | undefined): string | undefined {
	return typeof seconds === "number" ? shortTime(new Date(seconds * 1000).toISOString()) : undefined;
}

/** Such as `40ms`, `1.2s`, `45s`, `3m`, `2h`, `5d`. */
export function spanText(ms: number): string {
	if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
	if (ms < 9950) return `${(ms / 1000).toFixed(1)}s`;
	const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
	const [unit, size] = Object.entries(units).findLast(([, each]) => ms >= each * (each === 86_400_000 ? 2 : 1))!;
	return `${Math.floor(ms / size)}${unit}`;
}

export function counted(count: number, noun: string): string {
	return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
