/**
 * Runs the benchmarks one after another, keeps what they print in `bench/results/<commit>.json`,
 * draws `docs/images/bench-*.svg` and compares with the results of the last commit. `npm run bench
 * [-- --slice] [name ...]`: all take 20 minutes, `--slice` one minute and neither writes nor draws.
 * A benchmark that fails, or whose tools are missing, is named and left out.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bars } from "./bars.ts";
import { machine } from "./machine.ts";
import { previous, type Results, save, table } from "./results.ts";
import { type Benchmark, BENCHMARKS, type Figure } from "./suite.ts";

const TITLES: readonly [unit: Figure["unit"], file: string, title: string][] = [
	["ratio", "ratios", "Rates as ratios to a bare server in the same run (more is better)"],
	["ms", "times", "Times in ms (less is better)"],
	["MB", "memory", "Memory in MB (less is better)"],
];

const { values, positionals } = parseArgs({
	options: { slice: { type: "boolean", default: false } },
	allowPositionals: true,
});
const unknown = positionals.filter((name) => !BENCHMARKS.some((each) => each.name === name));
if (unknown.length > 0) {
	const names = BENCHMARKS.map(({ name }) => name).join(", ");
	process.stderr.write(`No benchmark is named ${unknown.join(", ")}. There are ${names}.\n`);
	process.exit(2);
}

function has(command: string): boolean {
	try {
		execFileSync("which", [command], { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
}

function printedBy({ name }: Benchmark, args: readonly (string | number)[]): unknown {
	const file = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
	const text = execFileSync(process.execPath, [file, ...args.map(String)], {
		encoding: "utf8",
		stdio: ["ignore", "pipe", "ignore"],
		maxBuffer: 2 ** 26,
	});
	return JSON.parse(text.slice(text.indexOf("{")));
}

const began = performance.now();
const results: Results = {
	date: new Date().toISOString(),
	machine: machine(),
	seconds: 0,
	figures: [],
	printed: {},
};
for (const benchmark of BENCHMARKS) {
	const { name, needs } = benchmark;
	const args = values.slice ? benchmark.slice : benchmark.args;
	if (!args || (positionals.length > 0 && !positionals.includes(name))) continue;
	if (needs && !has(needs)) {
		process.stderr.write(`${name}: left out, ${needs} is not installed\n`);
		continue;
	}
	const start = performance.now();
	try {
		const printed = printedBy(benchmark, args);
		results.printed[name] = printed;
		results.figures.push(...benchmark.figures(printed));
		process.stderr.write(`${name}: ${((performance.now() - start) / 1000).toFixed(0)} s\n`);
	} catch (error) {
		process.stderr.write(`${name}: failed, ${(error as Error).message.split("\n")[0]}\n`);
	}
}
results.seconds = Math.round((performance.now() - began) / 1000);

const before = previous(String(results.machine["commit"]));
process.stdout.write(`${JSON.stringify(results.machine)}\n${table(results.figures, before)}\n`);
if (before) process.stdout.write(`was: ${before.machine["commit"]}, ${before.machine["cpu"]}, ${before.date}\n`);
if (!values.slice && positionals.length === 0) {
	process.stdout.write(`${save(results)}\n`);
	const { commit, cpu, cores } = results.machine;
	const caption =
		`${commit}, ${cores} cores of ${cpu}, ${results.date.slice(0, 10)}. ` + "Light line: spread. Orange: target.";
	for (const [unit, file, title] of TITLES) {
		const own = results.figures.filter((figure) => figure.unit === unit);
		const old = before?.figures.filter((figure) => figure.unit === unit) ?? [];
		const image = new URL(`../docs/images/bench-${file}.svg`, import.meta.url);
		if (own.length > 0) writeFileSync(image, bars(title, own, old, caption));
	}
}
