/**
 * Everything there is to test, also what the gate leaves out: `npm run whole`, hours on 2 cores. Goes on after a step
 * that failed, and prints the minutes of each. If all is well it records the commit in `test/whole.json`, by which the
 * gate knows what has changed since (`test/support/gate.ts`). That file goes into the next commit.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { moduleNames } from "../test/support/without-module.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

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

const commit = git("rev-parse", "HEAD");
const clean = git("status", "--porcelain") === "";
const lines: string[] = [];
let failed = 0;
for (const step of STEPS) {
	process.stdout.write(`== ${step.name}\n`);
	const began = performance.now();
	const ok = await passes(step);
	if (!ok) failed += 1;
	lines.push(
		`${((performance.now() - began) / 60_000).toFixed(1).padStart(6)} min  ${ok ? "passed" : "FAILED"}  ${step.name}`,
	);
}
process.stdout.write(`\n${lines.join("\n")}\n`);
if (failed > 0) process.exitCode = 1;
else if (!clean) process.stdout.write("Not recorded: the working tree is not that of a commit.\n");
else writeFileSync(new URL("../test/whole.json", import.meta.url), `${JSON.stringify({ commit }, undefined, "\t")}\n`);
