/**
 * `node test/soak/report.ts FOLDER [sqlite|postgres]`: draws and judges the samples of a soak, which
 * may still run.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chart } from "./chart.ts";
import { judge, type Sample, verdictTable } from "./series.ts";

const TITLES: Record<string, string> = {
	sqlite: "Soak, SQLite, one server",
	postgres: "Soak, PostgreSQL, two servers",
};

/** Writes `chart.svg` and `verdict.json`, prints the verdicts; false when a series grows. */
export function report(folder: string, store: string): boolean {
	const samples = readFileSync(join(folder, "samples.jsonl"), "utf8")
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line) as Sample);
	const judged = judge(samples);
	writeFileSync(join(folder, "chart.svg"), chart(TITLES[store] ?? store, samples));
	writeFileSync(join(folder, "verdict.json"), `${JSON.stringify(judged, undefined, "\t")}\n`);
	process.stdout.write(`${verdictTable(judged)}\n`);
	return judged.every(({ verdict }) => verdict !== "grows");
}

if (import.meta.main) {
	const [folder, store = "sqlite"] = process.argv.slice(2);
	if (folder === undefined) throw new Error("Expected the folder of a soak.");
	process.exitCode = report(folder, store) ? 0 : 1;
}
