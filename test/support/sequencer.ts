/** The order of the test files in a run. */
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import durations from "./durations.json" with { type: "json" };

/** Milliseconds of each file in an earlier run, by project and path. */
const known: Readonly<Record<string, number>> = durations;

/**
 * Starts the longest files first, so that none of them runs alone at the end while the other workers
 * idle. New files come first of all.
 */
export class LongestFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		return (await super.sort(files)).toSorted((a, b) => durationOf(b) - durationOf(a));
	}
}

function durationOf({ project, moduleId }: TestSpecification): number {
	return known[`${project.name} ${relative(process.cwd(), moduleId)}`] ?? Number.MAX_SAFE_INTEGER;
}
