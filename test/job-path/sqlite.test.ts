/** What one no-op `/runsync` costs on SQLite: files that run, turns of the event loop, commits, system calls. */
import { expect, it } from "vitest";
import { expectHeld, over } from "./held.ts";

it("a job passes only files of its budget, with every module off and at a start with nothing configured", {
	timeout: 180_000,
}, async () => {
	await expectHeld("sqlite");
});

it("finds a file, a turn, a commit and a call more", () => {
	const budget = { files: ["kernel/a.ts"], withModules: ["modules/b.ts"], turns: 5, commits: 2, calls: { fsync: 2 } };
	const job = { files: ["kernel/a.ts"], turns: 5, commits: 2, calls: { fsync: 2 } };
	expect(over(budget, "none", job)).toEqual([]);
	expect(over(budget, "all", { ...job, files: ["kernel/a.ts", "modules/b.ts"] })).toEqual([]);
	const more = { files: ["kernel/a.ts", "modules/b.ts"], turns: 6, commits: 3, calls: { fsync: 2, openat: 0.5 } };
	expect(over(budget, "none", more)).toEqual([
		"runs modules/b.ts",
		"6 turns of at most 5",
		"3 commits of at most 2",
		"0.5 calls of openat of at most 0",
	]);
});
