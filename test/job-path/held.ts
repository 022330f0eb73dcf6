/** Holds what a job causes against its budget, `budget.json`. It may only get smaller. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { folder } from "../support/service.ts";
import { trouble } from "../support/failing-disk.ts";
import { countsOfJob, type Job } from "./counts.ts";

interface Budget {
	/** What may run with every module off: of the kernel only. */
	files: readonly string[];
	/** What may run besides at a start with nothing configured. */
	withModules: readonly string[];
	turns: number;
	commits: number;
	calls: Readonly<Record<string, number>>;
}

const SOURCE = fileURLToPath(new URL("../../src/", import.meta.url));
const BUDGETS = JSON.parse(readFileSync(new URL("budget.json", import.meta.url), "utf8")) as Record<string, Budget>;

/**
 * Most jobs that are counted. With PostgreSQL the turns depend on when its answers arrive. Of 20 jobs the least is 9 to
 * 16 turns, of 400 it is 9 to 12.
 */
const MOST_JOBS = { sqlite: 20, postgres: 400 };

const noStrace = trouble("strace", "-V");
if (noStrace) process.stdout.write(`Skipped: system calls of a job; ${noStrace}\n`);

/** Sentences about what is over the budget. */
export function over(budget: Budget, modules: "none" | "all", job: Job): string[] {
	const files = modules === "none" ? budget.files : [...budget.files, ...budget.withModules];
	return [
		...job.files.filter((path) => !files.includes(path)).map((path) => `runs ${path}`),
		...(["turns", "commits"] as const)
			.filter((name) => job[name] > budget[name])
			.map((name) => `${job[name]} ${name} of at most ${budget[name]}`),
		...Object.entries(job.calls ?? {})
			.filter(([name, count]) => count > (budget.calls[name] ?? 0))
			.map(([name, count]) => `${count} calls of ${name} of at most ${budget.calls[name] ?? 0}`),
	];
}

/** `database` gives each service a database of its own: another's session, still open, would be notified too. */
export async function expectHeld(kind: "sqlite" | "postgres", database?: () => Promise<string>): Promise<void> {
	const budget = BUDGETS[kind]!;
	for (const modules of ["none", "all"] as const) {
		const place = folder();
		onTestFinished(() => place.remove());
		const store = (await database?.()) ?? `sqlite:${place.path}/sluice.db`;
		const q = { modules, store, cwd: place.path, most: MOST_JOBS[kind], turns: budget.turns, strace: !noStrace };
		const job = await countsOfJob(q);
		if (process.env["SLUICE_PRINT_COUNTS"]) process.stdout.write(`${JSON.stringify(job, undefined, "\t")}\n`);
		expect(over(budget, modules, job), `with ${modules} of the modules`).toEqual([]);
	}
	expect(budget.files.filter((path) => !path.startsWith("kernel/"))).toEqual([]);
	// What was moved or removed leaves the budget too.
	expect([...budget.files, ...budget.withModules].filter((path) => !existsSync(SOURCE + path))).toEqual([]);
}
