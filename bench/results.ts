/** Results of `npm run bench` on disk, and what changed between two of them. */
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Figure } from "./suite.ts";

export interface Results {
	/** ISO 8601. */
	date: string;
	machine: Readonly<Record<string, string | number>>;
	/** Time of the whole suite, s. */
	seconds: number;
	figures: Figure[];
	/** What each benchmark printed, by name. */
	printed: Record<string, unknown>;
}

const FOLDER = fileURLToPath(new URL("results/", import.meta.url));

/** Writes `results/<commit>.json` and returns its path. */
export function save(results: Results): string {
	mkdirSync(FOLDER, { recursive: true });
	const commit = String(results.machine["commit"]).replaceAll(/[^0-9a-z]+/gi, "-");
	const path = `${FOLDER}${commit}.json`;
	writeFileSync(path, `${JSON.stringify(results, undefined, "\t")}\n`);
	return path;
}

/** The newest results of another commit, if there are any. */
export function previous(commit: string): Results | undefined {
	if (!existsSync(FOLDER)) return undefined;
	return readdirSync(FOLDER)
		.filter((name) => /^[0-9a-f]{7,}.*\.json$/.test(name))
		.map((name) => JSON.parse(readFileSync(FOLDER + name, "utf8")) as Results)
		.filter(({ machine }) => machine["commit"] !== commit)
		.toSorted((a, b) => b.date.localeCompare(a.date))[0];
}

/** How a figure changed; undefined where the two ranges meet. */
export function change(now: Figure, before: Figure | undefined): "better" | "worse" | undefined {
	if (!before) return undefined;
	if (now.low <= before.high && now.high >= before.low) return undefined;
	return now.median > before.median === (now.better === "more") ? "better" : "worse";
}

export const digits = (value: number): string =>
	value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));

export const withRange = ({ median, low, high }: Figure): string =>
	low === high ? digits(median) : `${digits(median)} (${digits(low)} to ${digits(high)})`;

/** One line for each figure, next to those of `before`. */
export function table(figures: readonly Figure[], before: Results | undefined): string {
	const rows = figures.map((figure) => {
		const old = before?.figures.find(({ name, unit }) => name === figure.name && unit === figure.unit);
		return [
			figure.name,
			`${withRange(figure)} ${figure.unit}`,
			figure.target === undefined ? "" : `target ${figure.target}`,
			old ? `was ${withRange(old)}` : "",
			change(figure, old) ?? "",
		];
	});
	const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
	return rows
		.map((row) =>
			row
				.map((cell, column) => cell.padEnd(widths![column]!))
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
}
