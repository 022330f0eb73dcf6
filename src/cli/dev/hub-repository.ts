/** Reads a worker's folder in the layout of RunPod's Hub (D36). */
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isObject } from "../../lib/schema.ts";
import { CliError } from "../client/errors.ts";

const HANDLERS = ["handler", "rp_handler", "worker", "main", "index"].flatMap((name) =>
	["", "src/"].flatMap((folder) => ["py", "ts", "js", "mjs"].map((extension) => `${folder}${name}.${extension}`)),
);

const TESTS_EXAMPLE = '{"tests": [{"name": "hello", "input": {"prompt": "hi"}, "timeout": 10000}]}';

interface HubSettings {
	name: string | undefined;
	/** Number per worker. */
	gpus: number;
	env: Record<string, string>;
	unset: string[];
	ignored: string[];
}

export interface HubTest {
	name: string;
	input: unknown;
	timeoutMs: number | undefined;
	/** Undefined: any output passes. */
	expected: unknown;
}

/** A known name, else the script in the Dockerfile. */
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

const WORKER_ENTRY = fileURLToPath(new URL(`./worker-entry${extname(import.meta.url)}`, import.meta.url));

export function scriptCommand(handler: string): string[] | undefined {
	if (!SCRIPT.includes(extname(handler))) return undefined;
	const quiet = ["ExperimentalWarning", "MODULE_TYPELESS_PACKAGE_JSON"];
	const flags = quiet.map((name) => `--disable-warning=${name}`);
	return [process.execPath, ...flags, WORKER_ENTRY, handler];
}

function dockerScript(folder: string): string | undefined {
	const file = [".runpod/Dockerfile", "Dockerfile"].map((name) => join(folder, name)).find((path) => existsSync(path));
	const text = file === undefined ? "" : readFileSync(file, "utf8");
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
	const path = join(folder, ".runpod", "hub.json");
	const hub = readJson(path);
	if (hub === undefined) return undefined;
	if (!isObject(hub)) throw new CliError(`${path} must contain a JSON object.`);
	return hubSettings(hub);
}

/** `hub`: the object in `.runpod/hub.json`. */
export function hubSettings(hub: Readonly<Record<string, unknown>>): HubSettings {
	const { title, config: found, ...rest } = hub;
	const { env, runsOn, gpuCount, ...others } = isObject(found) ? found : {};
	const isCount = Number.isInteger(gpuCount) && Number(gpuCount) >= 0;
	return {
		name: typeof title === "string" && title !== "" ? title.slice(0, 191) : undefined,
		gpus: runsOn === "GPU" ? (isCount ? Number(gpuCount) : 1) : 0,
		...readEnv(env),
		ignored: [...Object.keys(rest), ...Object.keys(others).map((name) => `config.${name}`)],
	};
}

/** Accepts `[{key, value}]` and `[{key, input: {type, default}}]`. */
function readEnv(raw: unknown): Pick<HubSettings, "env" | "unset"> {
	const env: Record<string, string> = {};
	const unset: string[] = [];
	for (const entry of Array.isArray(raw) ? (raw as unknown[]) : []) {
		const { key, value: given, input } = isObject(entry) ? entry : {};
		if (typeof key !== "string" || key === "") continue;
		const value = given ?? (isObject(input) ? defaultOf(input) : "");
		if (value === undefined || value === null || value === "" || typeof value === "object") unset.push(key);
		else env[key] = String(value as string | number | boolean);
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

export function readTests(folder: string): { tests: HubTest[]; env: Record<string, string> } {
	const path = join(folder, ".runpod", "tests.json");
	const file = readJson(path);
	if (file === undefined) throw new CliError(`${path} does not exist. Create it with tests: ${TESTS_EXAMPLE}`);
	const { tests, config } = isObject(file) ? file : {};
	if (!Array.isArray(tests) || tests.length === 0)
		throw new CliError(`${path} must contain at least one test: ${TESTS_EXAMPLE}`);
	return {
		tests: (tests as unknown[]).map((test, index) => readTest(test, `${path}: tests[${index}]`, index + 1)),
		env: readEnv(isObject(config) ? config["env"] : undefined).env,
	};
}

function readTest(raw: unknown, at: string, number: number): HubTest {
	if (!isObject(raw) || !isObject(raw["input"])) throw new CliError(`${at} must have an object as its input.`);
	const { name, input, timeout } = raw;
	if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0))
		throw new CliError(`${at}.timeout must be a number of ms greater than 0.`);
	const outputName = ["expected_output", "expectedOutput", "output"].find((member) => member in raw);
	return {
		name: typeof name === "string" ? name : `test ${number}`,
		input,
		timeoutMs: timeout,
		expected: outputName && raw[outputName],
	};
}

/** Endpoint settings for `--from`, with notes on what was not used. */
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
	if (hub?.gpus)
		notes.push(
			`Each worker gets ${hub.gpus === 1 ? "one GPU" : `${hub.gpus} GPUs`} of those configured ` +
				"with gpus in sluice.yaml; --set gpusPerWorker=0 gives it access to all.",
		);
	notes.push(`Workers run ${command.join(" ")} on the machine of the service.`);
	const { name, env, gpus: gpusPerWorker } = hub ?? {};
	return { settings: { name, launcher: { type: "process", command, cwd: folder }, env, gpusPerWorker }, notes };
}

export function hubNotes({ ignored, unset, env }: HubSettings): string[] {
	const notes = {
		"From .runpod/hub.json": Object.keys(env),
		"No default; set them if the handler needs them": unset,
		"Ignored, not supported": ignored,
	};
	return Object.entries(notes).flatMap(([note, names]) => (names.length > 0 ? [`${note}: ${names.join(", ")}.`] : []));
}

function readJson(path: string): unknown {
	if (!existsSync(path)) return undefined;
	const text = readFileSync(path, "utf8");
	try {
		return JSON.parse(text);
	} catch (error) {
		throw new CliError(`${path} is not JSON: ${(error as Error).message}`);
	}
}

function isFile(path: string): boolean {
	return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
