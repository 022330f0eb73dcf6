/** Stored cases: `corpus/<target>.jsonl`, replayed by the tests and changed by the fuzzer. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Case } from "./target.ts";

/** What a case once found, or undefined for one that only reaches much. */
export interface Stored {
	found?: string;
	value: Case;
}

const pathOf = (target: string): string => fileURLToPath(new URL(`corpus/${target}.jsonl`, import.meta.url));

export function readCorpus(target: string): Stored[] {
	const path = pathOf(target);
	if (!existsSync(path)) return [];
	const lines = readFileSync(path, "utf8").split("\n");
	return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Stored);
}

export function addToCorpus(target: string, cases: readonly Stored[]): void {
	const lines = [...readCorpus(target), ...cases].map((each) => `${JSON.stringify(each)}\n`);
	writeFileSync(pathOf(target), lines.join(""));
}
