/** The command that runs a script as a worker on this machine (D36). */
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Entry } from "./entry.ts";

const EXTENSIONS = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"];

const WORKER_ENTRY = fileURLToPath(new URL(`../dev/worker-entry${extname(import.meta.url)}`, import.meta.url));

/** Whether the file is JavaScript or TypeScript. */
export function isScript(file: string): boolean {
	return EXTENSIONS.includes(extname(file));
}

/** JavaScript and TypeScript run with the worker kit, all else with Python. */
export function commandFor({ file, module, args }: Entry, python = "python3"): string[] {
	if (!isScript(file)) return [python, ...(module === undefined ? [file] : ["-m", module]), ...args];
	const quiet = ["ExperimentalWarning", "MODULE_TYPELESS_PACKAGE_JSON"];
	const flags = quiet.map((name) => `--disable-warning=${name}`);
	return [process.execPath, ...flags, WORKER_ENTRY, file, ...args];
}
