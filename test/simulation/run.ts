/**
 * `npm run simulate -- [--seed N] [--minutes M] [--schedules N] [--keep FOLDER]`: simulates schedule
 * N and those after it, prints a summary as JSON, and stops at the first that breaks a rule: with
 * its seed, the shrunk schedule, and the file with that one's history. `--seed N --schedules 1`
 * repeats one.
 */
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machine } from "../../bench/machine.ts";
import { search } from "./search.ts";

/** Between two lines of progress, ms. */
const PROGRESS_MS = 10_000;

const { values } = parseArgs({
	options: {
		seed: { type: "string", default: "1" },
		minutes: { type: "string", default: "5" },
		schedules: { type: "string" },
		keep: { type: "string", default: tmpdir() },
	},
});
const [seed, minutes] = [Number(values.seed), Number(values.minutes)];
const schedules = values.schedules === undefined ? undefined : Number(values.schedules);
if (!Number.isSafeInteger(seed) || !(minutes > 0) || (schedules !== undefined && !(schedules > 0)))
	throw new Error("--seed must be a whole number, --minutes and --schedules numbers above 0.");

const began = performance.now();
let shownAt = began;
const { failure, ...counts } = await search({
	seed,
	ms: minutes * 60_000,
	...(schedules === undefined ? {} : { schedules }),
	progress(found) {
		const now = performance.now();
		if (now - shownAt < PROGRESS_MS) return;
		shownAt = now;
		const seconds = Math.round((now - began) / 1000);
		process.stderr.write(`${seconds} s: ${found.schedules} schedules\n`);
	},
});
const seconds = (performance.now() - began) / 1000;
const history = join(values.keep, `sluice-simulation-${failure?.seed}.jsonl`);
if (failure) writeFileSync(history, failure.history.map((op) => `${JSON.stringify(op)}\n`).join(""));
const { simulatedMs, ...shown } = counts;
process.stdout.write(
	`${JSON.stringify(
		{
			...machine(),
			date: new Date().toISOString().slice(0, 10),
			seed,
			seconds: Math.round(seconds),
			...shown,
			simulatedHours: Math.round(simulatedMs / 3_600_000),
			schedulesPerHour: Math.round((counts.schedules / seconds) * 3600),
			violations: failure?.violations.length ?? 0,
			...(failure && {
				failure: {
					seed: failure.seed,
					first: failure.violations.slice(0, 3),
					shrunk: failure.shrunk,
					ofShrunk: failure.shrunkViolations.slice(0, 3),
					history,
				},
			}),
		},
		undefined,
		"\t",
	)}\n`,
);
process.exitCode = failure ? 1 : 0;
