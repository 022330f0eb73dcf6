/**
 * What a start with nothing configured costs: the files of the source and of packages that it loads, in all its
 * threads, the time until it listens, and its memory a second later. Runs the source as it stands, without a build:
 * `node bench/start.ts [starts] [--root FOLDER]`, where another root is another commit of it, with its `node_modules`.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { median } from "./machine.ts";
import { end } from "./processes.ts";

const { values, positionals } = parseArgs({
	options: { root: { type: "string", default: resolve(import.meta.dirname, "..") } },
	allowPositionals: true,
});
const starts = Number(positionals[0] ?? 5);
const root = resolve(values.root);
const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));

/** Each thread appends what it loads. */
const list = join(folder, "loaded");
const hook = join(folder, "hook.mjs");
writeFileSync(
	hook,
	`import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(list)}, url + "\\n"); return next(url, context); } });
`,
);

interface Start {
	/** Until it listens. */
	ms: number;
	rssMb: number;
	loaded: string[];
}

async function start(number: number): Promise<Start> {
	writeFileSync(list, "");
	const store = `sqlite:${join(folder, `${number}.db`)}`;
	const args = ["--import", hook, join(root, "src/main.ts"), "serve", "--port", "0", "--store", store];
	const began = performance.now();
	const child = spawn(process.execPath, args, {
		cwd: folder,
		env: { PATH: process.env["PATH"], SLUICE_API_KEY: "bench-key-0123456789-0123456789" },
		stdio: ["ignore", "pipe", "pipe"],
	});
	const listens = Promise.withResolvers<number>();
	for (const stream of [child.stdout, child.stderr])
		createInterface({ input: stream }).on("line", (line) => {
			if (/http:\/\/127\.0\.0\.1:\d+/.test(line)) listens.resolve(performance.now() - began);
		});
	child.once("exit", (code) => listens.reject(new Error(`the service ended with code ${code}`)));
	const ms = await listens.promise;
	await setTimeout(1000);
	const pages = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1];
	await end(child);
	return { ms, rssMb: Number(pages) / 1000, loaded: readFileSync(list, "utf8").trim().split("\n") };
}

/** Number and KB of the files below a folder of the source, without doubles. */
function loadedIn(all: readonly string[], below: string) {
	const prefix = `file://${join(root, below)}`;
	const paths = [...new Set(all)].filter((url) => url.startsWith(prefix)).map((url) => url.slice("file://".length));
	const bytes = paths.reduce((sum, path) => sum + (existsSync(path) ? statSync(path).size : 0), 0);
	return { files: paths.length, kb: Math.round(bytes / 1000) };
}

const all: Start[] = [];
for (let number = 0; number < starts; number += 1) all.push(await start(number));
rmSync(folder, { recursive: true });
const { loaded } = all.at(-1)!;
console.log(
	JSON.stringify(
		{
			root,
			starts,
			ms: Math.round(median(all.map(({ ms }) => ms))),
			rssMb: Math.round(median(all.map(({ rssMb }) => rssMb))),
			source: loadedIn(loaded, "src/"),
			kernel: loadedIn(loaded, "src/kernel/"),
			modules: loadedIn(loaded, "src/modules/"),
			packages: loadedIn(loaded, "node_modules/"),
		},
		undefined,
		"\t",
	),
);
