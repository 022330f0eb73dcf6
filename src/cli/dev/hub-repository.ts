/** Reads a worker's folder in the layout of RunPod's Hub: handler, hub.json, tests.json (D36). */
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isObject } from "../../core/schema.ts";
import { CliError } from "../errors.ts";

/** Preferred first. */
const HANDLERS = ["handler", "rp_handler", "worker", "main", "index"].flatMap((name) =>
	["", "src/"].flatMap((folder) => ["py", "ts", "js", "mjs"].map((extension) => `${folder}${name}.${extension}`)),
);

const TESTS_EXAMPLE = '{"tests": [{"name": "hello", "input": {"prompt": "hi"}, "timeout": 10000}]}';

/** Content of `.runpod/hub.json`. */
interface HubSettings {
	name?: string;
	/** Per worker. */
	gpus: number;
	env: Record<string, string>;
	/** Variables without default. */
	unset: string[];
	/** Unsupported members. */
	ignored: string[];
}

/** A test of `.runpod/tests.json`. */
export interface HubTest {
	name: string;
	input: unknown;
	/** Execution timeout. */
	timeoutMs: number | undefined;
	expected?: unknown;
}

/** Path of the handler: a known name, else the script in the Dockerfile. */
export function findHandler(folder: string): string {
	const named = HANDLERS.find((name) => isFile(join(folder, name))) ?? dockerScript(folder);
	if (named === undefined)
		throw new CliError(
			`No handler found in ${folder}: no handler.py, handler.ts, handler.js or worker.js, ` +
				"there or in src/, and no script in the CMD of a Dockerfile. Pass the file: sluice dev " +
				`${join(folder, "FILE")}`,
		);
	return join(folder, named);
}

const SCRIPT = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"];

const WORKER_ENTRY = fileURLToPath(new URL(`./worker-entry${extname(import.meta.filename)}`, import.meta.url));

/** Starts the kit with what a script exports; undefined for other files. */
export function scriptCommand(handler: string): string[] | undefined {
	if (!SCRIPT.includes(extname(handler))) return undefined;
	// Without warnings about TypeScript files.
	const quiet = ["ExperimentalWarning", "MODULE_TYPELESS_PACKAGE_JSON"];
	const flags = quiet.map((name) => `--disable-warning=${name}`);
	return [process.execPath, ...flags, WORKER_ENTRY, handler];
}

function dockerScript(folder: string): string | undefined {
	const text =
		[".runpod/Dockerfile", "Dockerfile"]
			.map((name) => readText(join(folder, name)))
			.find((found) => found !== undefined) ?? "";
	const last = [...text.matchAll(/^[ \t]*(?:CMD|ENTRYPOINT)[ \t]+(\S.*)$/gim)].at(-1)?.[1] ?? "";
	const script = /(?<![\w./-])[\w./-]+\.(?:py|ts|js|mjs)\b/.exec(last)?.[0];
	if (script === undefined) return undefined;
	const parts = script.split("/").filter((part) => part !== "" && part !== ".");
	return parts
		.map((_, index) => parts.slice(index).join("/"))
		.concat(`src/${basename(script)}`)
		.find((name) => isFile(join(folder, name)));
}

/** Undefined if `.runpod/hub.json` does not exist. */
export function readHub(folder: string): HubSettings | undefined {
	const hub = readJson(join(folder, ".runpod", "hub.json"));
	if (hub === undefined) return undefined;
	if (!isObject(hub)) throw new CliError(`${join(folder, ".runpod", "hub.json")} must contain a JSON object.`);
	const config = isObject(hub["config"]) ? hub["config"] : {};
	const { env, unset } = readEnv(config["env"]);
	const title = hub["title"];
	const ignored = [
		...Object.keys(hub).filter((name) => name !== "title" && name !== "config"),
		...Object.keys(config)
			.filter((name) => !["env", "runsOn", "gpuCount"].includes(name))
			.map((name) => `config.${name}`),
	];
	return {
		...(typeof title === "string" && title !== "" ? { name: title.slice(0, 191) } : {}),
		gpus: gpusOf(config),
		env,
		unset,
		ignored,
	};
}

function gpusOf({ runsOn, gpuCount }: Record<string, unknown>): number {
	if (runsOn !== "GPU") return 0;
	return Number.isInteger(gpuCount) && Number(gpuCount) >= 0 ? Number(gpuCount) : 1;
}

/** Accepts `[{key, value}]` and `[{key, input: {type, default}}]`. */
function readEnv(raw: unknown): Pick<HubSettings, "env" | "unset"> {
	const env: Record<string, string> = {};
	const unset: string[] = [];
	for (const entry of Array.isArray(raw) ? (raw as unknown[]) : []) {
		if (!isObject(entry) || typeof entry["key"] !== "string" || entry["key"] === "") continue;
		const input = isObject(entry["input"]) ? entry["input"] : {};
		const value = entry["value"] ?? defaultOf(input);
		if (value === undefined || value === null || value === "" || typeof value === "object") unset.push(entry["key"]);
		else env[entry["key"]] = String(value as string | number | boolean);
	}
	return { env, unset };
}

/** A boolean becomes its `trueValue` or `falseValue`. */
function defaultOf(input: Record<string, unknown>): unknown {
	const value = input["default"];
	if (typeof value !== "boolean") return value;
	return (value ? input["trueValue"] : input["falseValue"]) ?? value;
}

export function hasTests(folder: string): boolean {
	return isFile(join(folder, ".runpod", "tests.json"));
}

/** Tests and their variables from `.runpod/tests.json`. Throws {@link CliError}. */
export function readTests(folder: string): { tests: HubTest[]; env: Record<string, string> } {
	const path = join(folder, ".runpod", "tests.json");
	const file = readJson(path);
	if (file === undefined) throw new CliError(`${path} does not exist. Create it with tests: ${TESTS_EXAMPLE}`);
	const list = isObject(file) ? file["tests"] : undefined;
	if (!Array.isArray(list) || list.length === 0)
		throw new CliError(`${path} must contain at least one test: ${TESTS_EXAMPLE}`);
	const tests = (list as unknown[]).map((test, index) => readTest(test, index, path));
	const config = (file as Record<string, unknown>)["config"];
	return { tests, env: readEnv(isObject(config) ? config["env"] : undefined).env };
}

function readTest(raw: unknown, index: number, path: string): HubTest {
	if (!isObject(raw) || !isObject(raw["input"]))
		throw new CliError(`${path}: tests[${index}] must have an object as its input.`);
	const { name, timeout } = raw;
	if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0))
		throw new CliError(`${path}: tests[${index}].timeout must be a number of ms greater than 0.`);
	const outputName = ["expected_output", "expectedOutput", "output"].find((member) => member in raw);
	return {
		name: typeof name === "string" ? name : `test ${index + 1}`,
		input: raw["input"],
		timeoutMs: timeout,
		...(outputName === undefined ? {} : { expected: raw[outputName] }),
	};
}

/** Endpoint settings for `--from`, and notes on what was not used. */
export function repositorySettings(path: string): {
	settings: Record<string, unknown>;
	notes: string[];
} {
	const folder = resolve(path);
	if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
		throw new CliError(`--from takes the folder of a repository; ${folder} is not a folder.`);
	const hub = readHub(folder);
	const handler = findHandler(folder);
	const command = scriptCommand(handler) ?? ["python3", handler];
	const notes = hub ? hubNotes(hub) : ["No .runpod/hub.json found: only the handler is used."];
	if (hub && hub.gpus > 0)
		notes.push(
			`Each worker gets ${hub.gpus === 1 ? "one GPU" : `${hub.gpus} GPUs`} of those configured ` +
				"with gpus in sluice.yaml; --set gpusPerWorker=0 gives it access to all.",
		);
	notes.push(`Workers run ${command.join(" ")} on the machine of the service.`);
	const settings = {
		...(hub?.name === undefined ? {} : { name: hub.name }),
		launcher: { type: "process", command, cwd: folder },
		...(hub ? { env: hub.env, gpusPerWorker: hub.gpus } : {}),
	};
	return { settings, notes };
}

export function hubNotes({ ignored, unset, env }: HubSettings): string[] {
	const variables = Object.keys(env);
	return [
		...(variables.length > 0 ? [`From .runpod/hub.json: ${variables.join(", ")}.`] : []),
		...(unset.length > 0 ? [`No default; set them if the handler needs them: ${unset.join(", ")}.`] : []),
		...(ignored.length > 0 ? [`Ignored, not supported: ${ignored.join(", ")}.`] : []),
	];
}

function readJson(path: string): unknown {
	const text = readText(path);
	if (text === undefined) return undefined;
	try {
		return JSON.parse(text);
	} catch (error) {
		throw new CliError(`${path} is not JSON: ${(error as Error).message}`);
	}
}

function readText(path: string): string | undefined {
	return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

function isFile(path: string): boolean {
	return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
