/** Prints one last plain line with the totals of the run: `N passed, N failed[, N skipped]`. */
import type { Reporter, TestModule } from "vitest/node";

/**
 * A vitest reporter; it counts test cases from what really ran. Modules that failed to load count
 * as failures.
 */
export default class ClosingLine implements Reporter {
	onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
		const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
		for (const module of modules) {
			if (module.errors().length > 0) count.failed += 1;
			for (const test of module.children.allTests()) count[test.result().state] += 1;
		}
		const skipped = count.skipped + count.pending;
		process.stdout.write(
			`\n${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`,
		);
	}
}
