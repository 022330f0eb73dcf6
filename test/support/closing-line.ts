/**
 * Prints the slowest files of a run and its flaky tests with what failed their first tries, then its totals on the last
 * line: `N passed, N failed[, N skipped]`. With SLUICE_KEEP_DURATIONS it writes the durations from which the order of
 * the next runs is made.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestCase, TestModule } from "vitest/node";

/** A run with more tests than this that passed only on a retry fails. */
export const MAX_FLAKY = 3;

/** Of what failed a first try, the part that is printed, characters. */
const MESSAGE_LENGTH = 300;

/** Number of slow files that are printed. */
const SLOWEST = 20;

const DURATIONS = new URL("durations.json", import.meta.url);

/** What the reporter reads of a test case; a `TestCase` of Vitest. */
export interface ReportedTest {
	fullName: string;
	module: { moduleId: string };
	/** Errors of a test that passed are those of the tries before. */
	result(): { state: ReturnType<TestCase["result"]>["state"]; errors?: readonly { message: string }[] | undefined };
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
	let flakyTests = 0;
	for (const module of modules) {
		// A file that cannot be loaded has no tests.
		if (module.errors().length > 0) count.failed += 1;
		for (const test of module.children.allTests()) {
			const { state, errors = [] } = test.result();
			count[state] += 1;
			if (!test.diagnostic()?.flaky) continue;
			flakyTests += 1;
			flaky.push(`${relative(process.cwd(), test.module.moduleId)} > ${test.fullName}`);
			for (const { message } of errors) flaky.push(`  ${message.split("\n")[0]!.slice(0, MESSAGE_LENGTH)}`);
		}
	}
	const tooFlaky = flakyTests > MAX_FLAKY;
	// The closing line must not read like a success when the run fails.
	if (tooFlaky) count.failed += 1;
	const skipped = count.skipped + count.pending;
	return {
		lines: [
			`${flakyTests} flaky (passed on a retry)${tooFlaky ? `: more than ${MAX_FLAKY} fail the run` : ""}`,
			...flaky.map((name) => `  ${name}`),
			`${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`,
		],
		tooFlaky,
	};
}

/** The Vitest reporter. */
export default class ClosingLine implements Reporter {
	onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
		const durations = durationsOf(modules);
		process.stdout.write(`\nSlowest files:\n${slowest(durations).join("\n")}\n`);
		if (process.env["SLUICE_KEEP_DURATIONS"]) keep(durations);
		const { lines, tooFlaky } = closingLines(modules, unhandledErrors.length);
		if (tooFlaky) process.exitCode = 1;
		process.stdout.write(`\n${lines.join("\n")}\n`);
	}
}

/** Milliseconds of each file, by project and path. */
function durationsOf(modules: readonly TestModule[]): Map<string, number> {
	return new Map(
		modules.map((module) => {
			const { duration, collectDuration, setupDuration } = module.diagnostic();
			const name = `${module.project.name} ${relative(process.cwd(), module.moduleId)}`;
			return [name, Math.round(duration + collectDuration + setupDuration)];
		}),
	);
}

function slowest(durations: ReadonlyMap<string, number>): string[] {
	return [...durations]
		.toSorted(([, one], [, other]) => other - one)
		.slice(0, SLOWEST)
		.map(([name, ms]) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${name}`);
}

/** Replaces the durations of the files that have run, and drops those of files that no longer exist. */
function keep(durations: ReadonlyMap<string, number>): void {
	const before = JSON.parse(readFileSync(DURATIONS, "utf8")) as Record<string, number>;
	writeFileSync(DURATIONS, `${JSON.stringify(mergedDurations(before, durations, existsSync), undefined, "\t")}\n`);
}

/** By project and path, sorted. `exists` is asked for the path of a file from the root of the repository. */
export function mergedDurations(
	before: Readonly<Record<string, number>>,
	durations: ReadonlyMap<string, number>,
	exists: (path: string) => boolean,
): Record<string, number> {
	const all = Object.entries({ ...before, ...Object.fromEntries(durations) });
	const pathOf = (name: string): string => name.slice(name.indexOf(" ") + 1);
	const present = all.filter(([name]) => !pathOf(name).startsWith("..") && exists(pathOf(name)));
	return Object.fromEntries(present.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
