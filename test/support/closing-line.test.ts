import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { closingLines, MAX_FLAKY, mergedDurations, type ReportedModule } from "./closing-line.ts";

type State = "passed" | "failed" | "skipped" | "pending";

const test = (fullName: string, state: State = "passed", flaky = false) => ({
	fullName,
	module: { moduleId: join(process.cwd(), "test/a.test.ts") },
	result: () => ({ state, errors: flaky ? [{ message: "1 is not 2\nand more" }] : undefined }),
	diagnostic: () => ({ flaky }),
});

const module = (tests: ReturnType<typeof test>[], errors: unknown[] = []): ReportedModule => ({
	errors: () => errors,
	children: { allTests: () => tests },
});

const flakyTests = (count: number) => Array.from({ length: count }, (_, n) => test(`flaky ${n}`, "passed", true));

describe("the closing line", () => {
	it("counts tests of all files by their result", () => {
		const { lines } = closingLines([module([test("a"), test("b", "failed")]), module([test("c")])], 0);
		expect(lines).toEqual(["0 flaky (passed on a retry)", "2 passed, 1 failed"]);
	});

	it("counts skipped and pending tests together, and only names them when there are any", () => {
		const tests = [test("a"), test("b", "skipped"), test("c", "pending")];
		expect(closingLines([module(tests)], 0).lines.at(-1)).toBe("1 passed, 0 failed, 2 skipped");
	});

	it("counts a file that failed to load and an unhandled error as failures", () => {
		const broken = module([], [new Error("no such import")]);
		expect(closingLines([broken, module([test("a")])], 1).lines.at(-1)).toBe("1 passed, 2 failed");
	});

	it("names the flaky tests with what failed before, and passes with as many as are allowed", () => {
		const { lines, tooFlaky } = closingLines([module(flakyTests(MAX_FLAKY))], 0);
		expect(tooFlaky).toBe(false);
		expect(lines).toEqual([
			"3 flaky (passed on a retry)",
			"  test/a.test.ts > flaky 0",
			"    1 is not 2",
			"  test/a.test.ts > flaky 1",
			"    1 is not 2",
			"  test/a.test.ts > flaky 2",
			"    1 is not 2",
			"3 passed, 0 failed",
		]);
	});

	it("fails the run with one flaky test more", () => {
		const { lines, tooFlaky } = closingLines([module(flakyTests(MAX_FLAKY + 1))], 0);
		expect(tooFlaky).toBe(true);
		expect(lines[0]).toBe("4 flaky (passed on a retry): more than 3 fail the run");
		expect(lines.at(-1)).toBe("4 passed, 1 failed");
	});
});

it("a run of some files keeps the durations of the others", () => {
	const before = { "system test/a.test.ts": 1, "system test/b.test.ts": 2, "system test/removed.test.ts": 3 };
	const durations = new Map([
		["system test/b.test.ts", 20],
		["sluice test/a.test.ts", 5],
		[" ../elsewhere.test.ts", 9],
	]);
	expect(mergedDurations(before, durations, (path) => !path.includes("removed"))).toEqual({
		"sluice test/a.test.ts": 5,
		"system test/a.test.ts": 1,
		"system test/b.test.ts": 20,
	});
});

describe("a run of Vitest with it", () => {
	const root = fileURLToPath(new URL("../..", import.meta.url));
	const folder = mkdtempSync(join(tmpdir(), "sluice-flaky-"));
	symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
	afterAll(() => rmSync(folder, { recursive: true }));

	/** Runs `count` tests of which each fails once and then passes; returns exit code and lines. */
	function runFlaky(count: number): { status: number | null; lines: string[] } {
		writeFileSync(
			join(folder, "flaky.test.ts"),
			`import { expect, it } from "vitest";
for (let n = 0; n < ${count}; n += 1) {
	let runs = 0;
	it("t" + n, { retry: 1 }, () => expect((runs += 1)).toBe(2));
}
`,
		);
		const { status, stdout } = spawnSync(
			process.execPath,
			[
				join(root, "node_modules/vitest/vitest.mjs"),
				"run",
				`--root=${folder}`,
				`--reporter=${join(root, "test/support/closing-line.ts")}`,
			],
			{ encoding: "utf8", env: { ...process.env, VITEST: undefined } },
		);
		return { status, lines: stdout.trimEnd().split("\n") };
	}

	it("exits with 0 while few tests are flaky", () => {
		const { status, lines } = runFlaky(MAX_FLAKY);
		expect(lines.at(-1)).toBe("3 passed, 0 failed");
		expect(lines).toContain("3 flaky (passed on a retry)");
		expect(lines).toContain("    expected 1 to be 2 // Object.is equality");
		expect(status).toBe(0);
	});

	it("exits with 1 when too many are, though each passed in the end", () => {
		const { status, lines } = runFlaky(MAX_FLAKY + 1);
		expect(lines.at(-1)).toBe("4 passed, 1 failed");
		expect(status).toBe(1);
	});
});
