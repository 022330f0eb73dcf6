/**
 * Names the flaky tests of a run, then prints its totals on the last line: `N passed, N failed[, N
 * skipped]`.
 */
import { relative } from "node:path";
import type { Reporter, TestCase, TestModule } from "vitest/node";

/** A run with more tests than this that passed only on a retry fails. */
export const MAX_FLAKY = 3;

/** What the reporter reads of a test case; a `TestCase` of Vitest. */
export interface ReportedTest {
	fullName: string;
	module: { moduleId: string };
	result(): Pick<ReturnType<TestCase["result"]>, "state">;
	diagnostic(): { flaky: boolean } | undefined;
}

/** What the reporter reads of a test file; a `TestModule` of Vitest. */
export interface ReportedModule {
	errors(): readonly unknown[];
	children: { allTests(): Iterable<ReportedTest> };
}

/** The lines to print, and whether the run fails because too many tests are flaky. */
export function closingLines(
	modules: readonly ReportedModule[],
	unhandledErrors: number,
): { lines: string[]; tooFlaky: boolean } {
	const count = { passed: 0, failed: unhandledErrors, skipped: 0, pending: 0 };
	const flaky: string[] = [];
	for (const module of modules) {
		// A file that cannot be loaded has no tests.
		if (module.errors().length > 0) count.failed += 1;
		for (const test of module.children.allTests()) {
			count[test.result().state] += 1;
			if (test.diagnostic()?.flaky) flaky.push(`${relative(process.cwd(), test.module.moduleId)} > ${test.fullName}`);
		}
	}
	const tooFlaky = flaky.length > MAX_FLAKY;
	// The closing line must not read like a success when the run fails.
	if (tooFlaky) count.failed += 1;
	const skipped = count.skipped + count.pending;
	return {
		lines: [
			`${flaky.length} flaky (passed on a retry)${tooFlaky ? `: more than ${MAX_FLAKY} fail the run` : ""}`,
			...flaky.map((name) => `  ${name}`),
			`${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
		],
		tooFlaky,
	};
}

/** The Vitest reporter. */
export default class ClosingLine implements Reporter {
	onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
		const { lines, tooFlaky } = closingLines(modules, unhandledErrors.length);
		if (tooFlaky) process.exitCode = 1;
		process.stdout.write(`\n${lines.join("\n")}\n`);
	}
}
