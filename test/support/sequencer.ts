/** The order of the test files in a run. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Take longest of those that are not tests of the whole system. */
const LONG = ["test/store/postgres.test.ts", "test/store/sqlite.test.ts"];

/**
 * Starts the tests of the whole system and other long files first: none of them runs alone at the
 * end while the other workers idle. Vitest orders by project and size, which says nothing of the
 * duration.
 */
export class LongestFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
	}
}

function place({ project, moduleId }: TestSpecification): number {
	if (["system", "firefox"].includes(project.name)) return 0;
	return LONG.some((path) => moduleId.endsWith(path)) ? 1 : 2;
}
