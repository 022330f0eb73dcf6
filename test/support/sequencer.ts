/** The order of the test files in a run. */
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import durations from "./durations.json" with { type: "json" };

/** Milliseconds of each file in an earlier run, by project and path. */
const known: Readonly<Record<string, number>> = durations;

/**
 * Starts the longest files first, so that none of them runs alone at the end while the other workers
 * idle. New files come first of all. Files of a project that share their worker's modules (`isolate:
 * false`) follow each other, after the others: a worker goes on only with a file of the same project.
 */
export class LongestFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		const longest = (await super.sort(files)).toSorted((a, b) => durationOf(b) - durationOf(a));
		const together = Map.groupBy(longest, ({ project }) => (project.config.isolate ? undefined : project.name));
		return [...(together.get(undefined) ?? []), ...[...together].flatMap(([name, all]) => (name ? all : []))];
	}
}

function durationOf({ project, moduleId }: TestSpecification): number {
	return known[`${project.name} ${relative(process.cwd(), moduleId)}`] ?? Number.MAX_SAFE_INTEGER;
}
