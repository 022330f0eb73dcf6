/** What `sluice dev` runs (D36). */
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { withoutSecrets } from "../../kernel/config/options.ts";
import { hasModule, importsRunpod } from "./python.ts";
import { CliError } from "../client/errors.ts";
import { httpSetting, resolved } from "../commands/jobs/http-setting.ts";
import { type Entry, findEntry } from "../repository/entry.ts";
import { hasTests, hubNotes, readHub } from "../repository/hub.ts";
import { commandFor, isScript } from "../repository/script-command.ts";
import { withoutMark } from "../../kernel/lib/byte-order-mark.ts";
import type { Env } from "../../kernel/lib/env.ts";

export interface DevTarget {
	what: string;
	command: readonly string[];
	/** Working directory, watched for changes; contains `.sluice/`. */
	folder: string;
	/** Where the worker runs; default: `folder`. */
	cwd?: string | undefined;
	endpoint: string;
	name?: string | undefined;
	env: Readonly<Record<string, string>>;
	/** Runs `worker-entry.ts` or `server-entry.ts`, which exits when its pipe to this process closes. */
	kit: boolean;
	/** Port of the HTTP server that the command starts, as the child of an adapter. 0: the adapter chooses one. */
	serverPort?: number | undefined;
	testInput: string | undefined;
	/** The file of a handler in Python. */
	handler?: string | undefined;
	notes: readonly string[];
}

/** These handlers take the name of their folder. */
const GENERIC_NAMES = ["handler", "rp_handler", "worker", "main", "index", "app", "src"];

/** Throws {@link CliError} if the arguments name nothing that can run. */
export function devTarget(q: {
	path: string | undefined;
	command: readonly string[];
	endpoint: string | undefined;
	preset: string | undefined;
	/** Port of the server that the command starts. */
	http: string | undefined;
	cwd: string;
	env: Env;
}): DevTarget {
	const { path, command, cwd, http } = q;
	if (http !== undefined && command.length === 0)
		throw new CliError("--http takes the command of the server: sluice dev --http 8000 -- python3 server.py");
	if (command.length > 0) {
		const server = http === undefined ? undefined : serverTarget(command, http, q.preset);
		return {
			what: command.join(" "),
			command,
			folder: cwd,
			endpoint: q.endpoint ?? endpointId(basename(cwd)),
			env: {},
			kit: false,
			testInput: findTestInput([cwd]),
			notes: [],
			...server,
		};
	}
	if (path === undefined)
		throw new CliError(
			"Pass a handler, a folder or a command: sluice dev handler.py, sluice dev handler.ts, " +
				"sluice dev ., sluice dev -- python3 worker.py",
		);
	const given = resolve(cwd, path);
	const found = statSync(given, { throwIfNoEntry: false });
	if (!found) throw new CliError(`${given} does not exist. Pass the file of a handler: sluice dev handler.py`);
	const folder = found.isDirectory() ? given : dirname(given);
	const hub = readHub(folder, q.preset);
	const entry: Entry = found.isDirectory() ? findEntry(given) : { file: given, args: [] };
	const handler = entry.file;
	const name = basename(handler, extname(handler));
	return {
		what: relative(cwd, handler) || handler,
		...commandOf(entry, q.env, folder),
		folder,
		cwd: entry.cwd,
		endpoint: q.endpoint ?? endpointId(GENERIC_NAMES.includes(name) ? basename(folder) : name),
		name: hub?.name,
		env: hub?.env ?? {},
		testInput: findTestInput([dirname(handler), folder]),
		handler: extname(handler) === ".py" ? handler : undefined,
		notes: [
			...(hub ? hubNotes(hub) : []),
			...requiredNote(hub?.required.map(({ key }) => key) ?? [], { ...envFileOf(folder, q.env), ...q.env }),
			...(hasTests(folder) ? [`Run its tests: sluice dev ${path} --test`] : []),
		],
	};
}

/** Pause between two checks of a server that starts, so that a restart is as short as its start, ms. */
const READY_MS = 100;

const SERVER_ENTRY = fileURLToPath(new URL(`./server-entry${extname(import.meta.url)}`, import.meta.url));

/** An HTTP server as the child of the adapter, which sends it each job as a request. */
function serverTarget(
	command: readonly string[],
	http: string,
	preset = "raw",
): Pick<DevTarget, "what" | "command" | "kit" | "env" | "serverPort"> {
	const serverPort = Number(http);
	if (!/^\d+$/.test(http) || serverPort > 65_535)
		throw new CliError(`--http must be a port from 0 to 65535 (0: a free one, in PORT and {port}), not '${http}'.`);
	const { value } = resolved({ ...httpSetting(preset), port: serverPort });
	const ready = { ...(value["ready"] as object | undefined), everyMs: READY_MS };
	return {
		what: `${command.join(" ")} (an HTTP server${serverPort === 0 ? "" : ` on port ${serverPort}`})`,
		command: [process.execPath, SERVER_ENTRY, ...command],
		kit: true,
		env: { SLUICE_HTTP: JSON.stringify({ ...value, ready }) },
		serverPort,
	};
}

/** Variables that hub.json requires, as far as nothing sets them. */
function requiredNote(keys: readonly string[], set: Env): string[] {
	const missing = keys.filter((key) => set[key] === undefined);
	const them = missing.length === 1 ? "it" : "them";
	return missing.length > 0 ? [`Required, without a default: ${missing.join(", ")}. Set ${them} in ${ENV_FILE}.`] : [];
}

function commandOf(entry: Entry, env: Env, folder: string): Pick<DevTarget, "command" | "kit"> {
	const { file: handler } = entry;
	if (isScript(handler)) return { command: commandFor(entry), kit: true };
	if (extname(handler) === ".py") return { command: commandFor(entry, pythonFor(handler, env, folder)), kit: false };
	throw new CliError(
		`Cannot run ${basename(handler)}: unknown file type. Pass the whole command: sluice dev -- PROGRAM ${handler}`,
	);
}

/** The folder's virtual environment, else `python3`. */
function pythonFor(handler: string, env: Env, folder: string): string {
	const venvs = env["VIRTUAL_ENV"] === undefined ? [".venv", "venv"] : [];
	const python = venvs.map((name) => join(folder, name, "bin", "python")).find((path) => existsSync(path)) ?? "python3";
	const hasSdk = hasModule(python, "runpod", { cwd: folder, env: withoutSecrets(env) });
	if (hasSdk === undefined)
		throw new CliError(
			`${python} cannot be run. Install Python 3.10 or newer, or pass the whole command: ` +
				`sluice dev -- PROGRAM ${handler}`,
			1,
		);
	if (!hasSdk && importsRunpod(handler)) {
		const requirements = join(folder, "requirements.txt");
		const packages = existsSync(requirements) ? `-r ${requirements}` : "runpod";
		const venv = join(folder, ".venv");
		throw new CliError(
			`${basename(handler)} imports runpod, which ${python} does not have. Install it in a ` +
				`virtual environment next to the handler; it is found there:\n  python3 -m venv ${venv} ` +
				`&& ${join(venv, "bin", "pip")} install ${packages}`,
			1,
		);
	}
	return python;
}

/** A valid endpoint id (D35). */
export function endpointId(name: string): string {
	const id = name
		.toLowerCase()
		.replaceAll(/[^a-z0-9_-]+/g, "-")
		.replaceAll(/^-+|(?<!-)-+$/g, "")
		.slice(0, 64);
	return id === "" ? "dev" : id;
}

function findTestInput(folders: readonly string[]): string | undefined {
	return folders.map((folder) => join(folder, "test_input.json")).find((path) => existsSync(path));
}

export const ENV_FILE = ".env";

export function envFileOf(folder: string, shell: Env): Record<string, string> {
	let text: string;
	try {
		text = withoutMark(readFileSync(join(folder, ENV_FILE), "utf8"));
	} catch {
		return {};
	}
	const entries = Object.entries(parseEnv(text)).filter(([name]) => shell[name] === undefined);
	return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}
