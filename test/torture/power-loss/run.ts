/**
 * `npm run power-loss -- [--states N] [--seed N] [--sessions N] [--keep FOLDER]`: opens so many
 * states that a loss of power may leave of a SQLite store, and prints a summary as JSON. Needs
 * Debian's package `strace`. The trace of a run with a violation is kept.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machine } from "../../../bench/machine.ts";
import { random } from "../plan.ts";
import { losePower, traced } from "./losses.ts";

/** Of each session of the workload. */
const ROUNDS = 12;

const { values } = parseArgs({
	options: {
		states: { type: "string", default: "10000" },
		seed: { type: "string", default: "1" },
		sessions: { type: "string", default: "4" },
		keep: { type: "string", default: tmpdir() },
	},
});
const [most, seed, sessions] = [values.states, values.seed, values.sessions].map(Number) as [number, number, number];
if (!(most > 0) || !Number.isSafeInteger(seed) || !(sessions > 0))
	throw new Error("--states, --seed and --sessions must be whole numbers.");

const began = performance.now();
const place = mkdtempSync(join(values.keep, "sluice-power-loss-"));
const { violations, ...counts } = await losePower(place, {
	...traced(place, { sessions, rounds: ROUNDS }),
	most,
	random: random(seed),
});
const failed = violations.length > 0;
process.stdout.write(
	`${JSON.stringify(
		{
			...machine(),
			date: new Date().toISOString().slice(0, 10),
			seed,
			...counts,
			seconds: Math.round((performance.now() - began) / 1000),
			violations: violations.length,
			...(failed ? { trace: join(place, "trace"), first: violations.slice(0, 10) } : {}),
		},
		undefined,
		"\t",
	)}\n`,
);
if (!failed) rmSync(place, { recursive: true });
process.exitCode = failed ? 1 : 0;
