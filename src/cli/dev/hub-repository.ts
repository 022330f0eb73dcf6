/**
 * A worker's folder as RunPod's Hub lays it out: its handler, `.runpod/hub.json` and
 * `.runpod/tests.json` (D36). Only reads.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { isObject } from "../../core/schema.ts";
import { CliError } from "../command.ts";

/** Where a handler is looked for, the first that is there. */
const HANDLERS = ["handler", "rp_handler", "worker", "main", "index"].flatMap((name) =>
	["", "src/"].flatMap((folder) =>
		["py", "ts", "js", "mjs"].map((ending) => `${folder}${name}.${ending}`),
	),
);

/** What `.runpod/hub.json` says that has a place here, and what has none. */
export interface HubSettings {
	name?: string;
	/** GPUs that a worker needs. */
	gpus: number;
	env: Record<string, string>;
	/** Variables that it asks for and gives no default. */
	unset: string[];
	/** Its members that mean nothing here. */
	ignored: string[];
}

/** One acceptance test of `.runpod/tests.json`. `timeoutMs` bounds its run. */
export interface HubTest {
	name: string;
	input: unknown;
	timeoutMs: number | undefined;
	/** The output it must have, where the file says so. */
	expected?: unknown;
}

/**
 * Path of the handler in a folder: by its name, else the script that the Dockerfile starts. Throws
 * {@link CliError} naming what was looked for.
 */
export function findHandler(folder: string): string {
	const named = HANDLERS.find((name) => isFile(join(folder, name))) ?? dockerScript(folder);
	if (named === undefined)
		throw new CliError(
			`No handler is in ${folder}: neither handler.py, handler.ts, handler.js or worker.js, there or in src/, nor a script that a Dockerfile's CMD names. Name the file: sluice dev ${join(folder, "FILE")}`,
		);
	return join(folder, named);
}

function dockerScript(folder: string): string | undefined {
	const text =
		[".runpod/Dockerfile", "Dockerfile"]
			.map((name) => readText(join(folder, name)))
			.find((found) => found !== undefined) ?? "";
	const last = [...text.matchAll(/^\s*(?:CMD|ENTRYPOINT)\s+(.*)$/gim)].at(-1)?.[1] ?? "";
	const script = /[\w./-]+\.(?:py|ts|js|mjs)\b/.exec(last)?.[0];
	if (script === undefined) return undefined;
	const parts = script.split("/").filter((part) => part !== "" && part !== ".");
	return parts
		.map((_, index) => parts.slice(index).join("/"))
		.concat(`src/${basename(script)}`)
		.find((name) => isFile(join(folder, name)));
}

/**
 * Reads `.runpod/hub.json`; nothing when there is none. Throws {@link CliError} when it is no JSON
 * object.
 */
export function readHub(folder: string): HubSettings | undefined {
	const hub = readJson(join(folder, ".runpod", "hub.json"));
	if (hub === undefined) return undefined;
	if (!isObject(hub))
		throw new CliError(`${join(folder, ".runpod", "hub.json")} must hold a JSON object.`);
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

/** One GPU unless the file has another number, or none where it runs on CPUs. */
function gpusOf({ runsOn, gpuCount }: Record<string, unknown>): number {
	if (runsOn !== "GPU") return 0;
	return Number.isInteger(gpuCount) && Number(gpuCount) >= 0 ? Number(gpuCount) : 1;
}

/** `[{key, value}]` and `[{key, input: {type, default}}]` as variables. */
function readEnv(raw: unknown): Pick<HubSettings, "env" | "unset"> {
	const env: Record<string, string> = {};
	const unset: string[] = [];
	for (const entry of Array.isArray(raw) ? (raw as unknown[]) : []) {
		if (!isObject(entry) || typeof entry["key"] !== "string" || entry["key"] === "") continue;
		const input = isObject(entry["input"]) ? entry["input"] : {};
		const value = entry["value"] ?? chosen(input);
		if (value === undefined || value === null || value === "" || typeof value === "object")
			unset.push(entry["key"]);
		else env[entry["key"]] = String(value as string | number | boolean);
	}
	return { env, unset };
}

/** The default of an input, a boolean in the words that the input has for it. */
function chosen(input: Record<string, unknown>): unknown {
	const value = input["default"];
	if (typeof value !== "boolean") return value;
	return (value ? input["trueValue"] : input["falseValue"]) ?? value;
}

/** Whether the folder has tests to run. */
export function hasTests(folder: string): boolean {
	return isFile(join(folder, ".runpod", "tests.json"));
}

/**
 * Reads `.runpod/tests.json`: its tests and their variables. Throws {@link CliError} when it is
 * missing or says nothing usable.
 */
export function readTests(folder: string): { tests: HubTest[]; env: Record<string, string> } {
	const path = join(folder, ".runpod", "tests.json");
	const file = readJson(path);
	if (file === undefined)
		throw new CliError(
			`There is no ${path}. It holds the tests: {"tests": [{"name": "hello", "input": {"prompt": "hi"}, "timeout": 10000}]}`,
		);
	const list = isObject(file) ? file["tests"] : undefined;
	if (!Array.isArray(list) || list.length === 0)
		throw new CliError(
			`${path} must hold at least one test: {"tests": [{"name": "hello", "input": {"prompt": "hi"}, "timeout": 10000}]}`,
		);
	const tests = (list as unknown[]).map((test, index) => readTest(test, index, path));
	const config = (file as Record<string, unknown>)["config"];
	return { tests, env: readEnv(isObject(config) ? config["env"] : undefined).env };
}

function readTest(raw: unknown, index: number, path: string): HubTest {
	if (!isObject(raw) || !isObject(raw["input"]))
		throw new CliError(`${path}: tests[${index}] must have an object as its input.`);
	const { name, timeout } = raw;
	if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0))
		throw new CliError(`${path}: tests[${index}].timeout must be a number of ms above 0.`);
	const says = ["expected_output", "expectedOutput", "output"].find((member) => member in raw);
	return {
		name: typeof name === "string" ? name : `test ${index + 1}`,
		input: raw["input"],
		timeoutMs: timeout,
		...(says === undefined ? {} : { expected: raw[says] }),
	};
}

/**
 * Settings of an endpoint for the repository at `path`, and sentences about what did not fit
 * (`sluice endpoints create --from`).
 */
export function repositorySettings(path: string): {
	settings: Record<string, unknown>;
	notes: string[];
} {
	const folder = resolve(path);
	if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
		throw new CliError(`--from takes the folder of a repository; there is none at ${folder}.`);
	const hub = readHub(folder);
	const handler = findHandler(folder);
	const command = [handler.endsWith(".py") ? "python3" : "node", handler];
	const notes = hub
		? hubNotes(hub)
		: ["There is no .runpod/hub.json: the handler is all that was found."];
	if (hub && hub.gpus > 0)
		notes.push(
			`Each worker gets ${hub.gpus === 1 ? "a GPU" : `${hub.gpus} GPUs`} of those that the service is told of (gpus in sluice.yaml); --set gpusPerWorker=0 lets it see all.`,
		);
	notes.push(`Workers run ${command.join(" ")} on the machine of the service.`);
	const settings = {
		...(hub?.name === undefined ? {} : { name: hub.name }),
		launcher: { type: "process", command, cwd: folder },
		...(hub ? { env: hub.env, gpusPerWorker: hub.gpus } : {}),
	};
	return { settings, notes };
}

/** What people should know of what was read. */
export function hubNotes({ ignored, unset, env }: HubSettings): string[] {
	const taken = Object.keys(env);
	return [
		...(taken.length > 0 ? [`From .runpod/hub.json: ${taken.join(", ")}.`] : []),
		...(unset.length > 0
			? [`Without a default, set them if the handler needs them: ${unset.join(", ")}.`]
			: []),
		...(ignored.length > 0 ? [`Ignored, they have no meaning here: ${ignored.join(", ")}.`] : []),
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
