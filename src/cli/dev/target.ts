/**
 * What `sluice dev` is to run: a handler's file, the folder of a repository, or a command (D36).
 */
import { existsSync, statSync } from "node:fs";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { hasModule, importsRunpod } from "../../launchers/process/python.ts";
import { CliError } from "../command.ts";
import { findHandler, hasTests, hubNotes, readHub } from "./hub-repository.ts";

/** A worker to be. */
export interface DevTarget {
	/** For people. */
	what: string;
	command: readonly string[];
	/** It runs there, what changes there restarts it, and `.sluice/` is there. */
	folder: string;
	/** Endpoint id. */
	endpoint: string;
	/** Name for people, where the repository has one. */
	name?: string;
	env: Readonly<Record<string, string>>;
	/** Whether it is the kit's own entry, which ends with the pipe to this process. */
	kit: boolean;
	/** `test_input.json`, if it is there. */
	testInput: string | undefined;
	notes: readonly string[];
}

const PYTHON = [".py"];
const SCRIPT = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"];

/** Names that say nothing about what a worker does: the folder's name is told instead. */
const COMMON = ["handler", "rp_handler", "worker", "main", "index", "app", "src"];

const WORKER_ENTRY = fileURLToPath(
	new URL(`./worker-entry${extname(import.meta.filename)}`, import.meta.url),
);

/** Without the warnings that a first TypeScript file would begin with. */
const NODE = [
	process.execPath,
	"--disable-warning=ExperimentalWarning",
	"--disable-warning=MODULE_TYPELESS_PACKAGE_JSON",
];

/**
 * Reads the arguments; throws {@link CliError} with the way out when they name nothing that can
 * run.
 */
export function devTarget(q: {
	path: string | undefined;
	command: readonly string[];
	endpoint: string | undefined;
	cwd: string;
	env: Readonly<Record<string, string | undefined>>;
}): DevTarget {
	const { path, command, cwd } = q;
	if (command.length > 0) {
		const shown = command.join(" ");
		return {
			what: shown,
			command,
			folder: cwd,
			endpoint: q.endpoint ?? idOf(basename(cwd)),
			env: {},
			kit: false,
			testInput: inputIn([cwd]),
			notes: [],
		};
	}
	if (path === undefined)
		throw new CliError(
			"dev takes a handler, a folder or a command: sluice dev handler.py, sluice dev handler.ts, sluice dev ., sluice dev -- python3 worker.py",
		);
	const given = resolve(cwd, path);
	const found = statSync(given, { throwIfNoEntry: false });
	if (!found)
		throw new CliError(
			`There is nothing at ${given}. Name a handler's file: sluice dev handler.py`,
		);
	const folder = found.isDirectory() ? given : dirname(given);
	const handler = found.isDirectory() ? findHandler(given) : given;
	const hub = readHub(folder);
	const name = basename(handler, extname(handler));
	return {
		what: relative(cwd, handler) || handler,
		...commandOf(handler, q.env, folder),
		folder,
		endpoint: q.endpoint ?? idOf(COMMON.includes(name) ? basename(folder) : name),
		...(hub?.name === undefined ? {} : { name: hub.name }),
		env: hub?.env ?? {},
		testInput: inputIn([dirname(handler), folder]),
		notes: [
			...(hub ? hubNotes(hub) : []),
			...(hasTests(folder) ? [`Its tests: sluice dev ${path} --test`] : []),
		],
	};
}

function commandOf(
	handler: string,
	env: Readonly<Record<string, string | undefined>>,
	folder: string,
): Pick<DevTarget, "command" | "kit"> {
	const ending = extname(handler);
	if (SCRIPT.includes(ending)) return { command: [...NODE, WORKER_ENTRY, handler], kit: true };
	if (PYTHON.includes(ending))
		return { command: [pythonFor(handler, env, folder), handler], kit: false };
	throw new CliError(
		`How to run ${basename(handler)} is not known. Say the whole command: sluice dev -- PROGRAM ${handler}`,
	);
}

/**
 * The interpreter of a virtual environment beside the handler, else `python3`; checked for the SDK
 * if the handler imports it.
 */
function pythonFor(
	handler: string,
	env: Readonly<Record<string, string | undefined>>,
	folder: string,
): string {
	const own =
		env["VIRTUAL_ENV"] === undefined
			? [".venv", "venv"]
					.map((name) => join(folder, name, "bin", "python"))
					.find((path) => existsSync(path))
			: undefined;
	const python = own ?? "python3";
	const has = hasModule(python, "runpod", folder);
	if (has === undefined)
		throw new CliError(
			`${python} cannot be run. Install Python 3.10 or newer, or say the whole command: sluice dev -- PROGRAM ${handler}`,
			1,
		);
	if (!has && importsRunpod(handler)) {
		const needs = existsSync(join(folder, "requirements.txt"))
			? `-r ${join(folder, "requirements.txt")}`
			: "runpod";
		throw new CliError(
			`${basename(handler)} imports runpod, and ${python} does not have it. Install it beside the handler, where it is found by itself:\n  python3 -m venv ${join(folder, ".venv")} && ${join(folder, ".venv", "bin", "pip")} install ${needs}`,
			1,
		);
	}
	return python;
}

/** A name as an endpoint id (D35). */
function idOf(name: string): string {
	const id = name
		.toLowerCase()
		.replaceAll(/[^a-z0-9_-]+/g, "-")
		.replaceAll(/^-+|-+$/g, "")
		.slice(0, 64);
	return id === "" ? "dev" : id;
}

function inputIn(folders: readonly string[]): string | undefined {
	return folders.map((folder) => join(folder, "test_input.json")).find((path) => existsSync(path));
}
