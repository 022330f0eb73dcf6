/**
 * Everything there is to test, also what the gate leaves out: `npm run whole`, hours on 2 cores, or the steps that are
 * named, after a build: `npm run whole -- system "without alerts"`. Goes on after a step that failed, and prints the
 * minutes of each.
 * `test/whole.json` gets the commit at which each step last passed, by which the gate knows what has changed since
 * (`test/support/gate.ts`). That file goes into the next commit.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { moduleNames } from "../test/support/without-module.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const RECORD = "test/whole.json";

interface Step {
	name: string;
	command: readonly [string, ...string[]];
	env?: Record<string, string>;
}

const script = (name: string): Step => ({ name, command: ["npm", "run", "--silent", name] });
const tests = (name: string, projects: readonly string[], env: Record<string, string> = {}): Step => ({
	name,
	command: ["npx", "vitest", "run", ...projects.flatMap((project) => ["--project", project])],
	env,
});

const STEPS: readonly Step[] = [
	...["types", "lint", "site", "build"].map(script),
	tests("units and specification", ["sluice"]),
	tests("system", ["system", "postgres", "tls", "firefox", "hosts"]),
	...moduleNames().map((name) => tests(`without ${name}`, ["without"], { SLUICE_TEST_WITHOUT: name })),
	script("verify"),
];

const git = (...args: string[]): string => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();

/** Whether it succeeds. */
async function passes({ command: [file, ...args], env }: Step): Promise<boolean> {
	const child = spawn(file, args, { cwd: ROOT, env: { ...process.env, ...env }, stdio: "inherit" });
	return (await once(child, "exit"))[0] === 0;
}

/** Writes it into the record, whose members are in the order of the steps. Names of former steps are dropped. */
function record(name: string, commit: string): void {
	const file = new URL(`../${RECORD}`, import.meta.url);
	const before = JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
	const after = { ...before, [name]: commit };
	const kept = STEPS.flatMap((step) => (after[step.name] === undefined ? [] : [[step.name, after[step.name]]]));
	writeFileSync(file, `${JSON.stringify(Object.fromEntries(kept), undefined, "\t")}\n`);
}

const named = process.argv.slice(2);
const unknown = named.filter((name) => !STEPS.some((step) => step.name === name));
if (unknown.length > 0) {
	process.stderr.write(`No step: ${unknown.join(", ")}. There are: ${STEPS.map(({ name }) => name).join(", ")}.\n`);
	process.exit(2);
}
const commit = git("rev-parse", "HEAD");
const clean = git("status", "--porcelain", "--", ".", `:!${RECORD}`) === "";
const lines: string[] = [];
// Most steps read what the build makes.
const isChosen = ({ name }: Step): boolean => named.length === 0 || name === "build" || named.includes(name);
for (const step of STEPS.filter(isChosen)) {
	process.stdout.write(`== ${step.name}\n`);
	const began = performance.now();
	const ok = await passes(step);
	if (!ok) process.exitCode = 1;
	else if (clean) record(step.name, commit);
	lines.push(
		`${((performance.now() - began) / 60_000).toFixed(1).padStart(6)} min  ${ok ? "passed" : "FAILED"}  ${step.name}`,
	);
}
process.stdout.write(`\n${lines.join("\n")}\n`);
if (!clean) process.stdout.write("Nothing is recorded: the working tree is not that of a commit.\n");
