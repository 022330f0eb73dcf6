/** Reads `.runpod/hub.json` and `.runpod/tests.json` of a repository in the layout of RunPod's Hub (D36). */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { withoutMark } from "../../kernel/lib/byte-order-mark.ts";
import { didYouMean } from "../../kernel/lib/nearest.ts";
import { isObject } from "../../kernel/lib/schema.ts";
import { printable } from "../../kernel/lib/terminal-text.ts";
import { CliError } from "../client/errors.ts";

const TESTS_EXAMPLE = '{"tests": [{"name": "hello", "input": {"prompt": "hi"}, "timeout": 10000}]}';

/** An input of hub.json that must have a value and has none. */
export interface RequiredInput {
	key: string;
	/** How it is asked for, such as `Model (a model on Hugging Face)`. */
	title: string;
}

export interface HubSettings {
	name: string | undefined;
	/** Number per worker. */
	gpus: number;
	env: Record<string, string>;
	required: RequiredInput[];
	/** Keys without a value that are not required. */
	unset: string[];
	/** Names of presets that were not chosen. */
	presets: string[];
	/** Members that set nothing here, with their values. */
	unused: string[];
}

export interface HubTest {
	name: string;
	input: unknown;
	timeoutMs: number | undefined;
	/** Undefined: any output passes. */
	expected: unknown;
}

/** Undefined if `.runpod/hub.json` does not exist. */
export function readHub(folder: string, preset?: string): HubSettings | undefined {
	const path = join(folder, ".runpod", "hub.json");
	const hub = readJson(path);
	if (hub === undefined) {
		if (preset !== undefined) throw new CliError(`${path} does not exist, so there is no preset '${preset}'.`);
		return undefined;
	}
	if (!isObject(hub)) throw new CliError(`${path} must contain a JSON object.`);
	return hubSettings(hub, preset);
}

/** They describe the repository in the Hub. */
const DESCRIBING = ["description", "type", "category", "iconUrl"];

/** `hub`: the object in `.runpod/hub.json`. Throws {@link CliError} for a preset that it does not have. */
export function hubSettings(hub: Readonly<Record<string, unknown>>, preset?: string): HubSettings {
	const { title, config: found, ...rest } = hub;
	const { env, presets, runsOn, gpuCount, endpointType, ...others } = isObject(found) ? found : {};
	if (endpointType === "LB")
		throw new CliError(
			"This repository is for a load balancing endpoint (endpointType LB in hub.json): its worker serves HTTP and " +
				"takes no jobs. Sluice has queue-based endpoints only.",
		);
	const isCount = Number.isInteger(gpuCount) && Number(gpuCount) >= 0;
	const isDefault = endpointType === undefined || endpointType === "QB";
	const unused = { ...rest, ...others, ...(isDefault ? {} : { endpointType }) };
	const names = presetsIn(presets).map(({ name }) => name);
	return {
		name: typeof title === "string" && title !== "" ? title.slice(0, 191) : undefined,
		gpus: runsOn === "GPU" ? (isCount ? Number(gpuCount) : 1) : 0,
		...readEnv(env, presetNamed(presetsIn(presets), preset)),
		presets: preset === undefined ? names : [],
		unused: Object.entries(unused).flatMap(([name, value]) =>
			DESCRIBING.includes(name) ? [] : [unusedText(name, value)],
		),
	};
}

interface Preset {
	name: string;
	defaults: Record<string, unknown>;
}

function presetsIn(raw: unknown): Preset[] {
	return (Array.isArray(raw) ? (raw as unknown[]) : []).flatMap((each) => {
		const { name, defaults } = isObject(each) ? each : {};
		return typeof name === "string" && isObject(defaults) ? [{ name, defaults }] : [];
	});
}

function presetNamed(presets: readonly Preset[], name: string | undefined): Record<string, unknown> {
	if (name === undefined) return {};
	const found = presets.find((preset) => preset.name === name);
	if (found) return found.defaults;
	const names = presets.map((preset) => preset.name);
	const choice = names.length === 0 ? "hub.json has no presets." : `The presets of hub.json: ${names.join(", ")}.`;
	throw new CliError(`There is no preset '${name}'. ${choice}${didYouMean(name, names)}`);
}

const ADVICE: ReadonlyMap<string, string> = new Map([
	["gpuIds", " (launcher.gpu chooses GPUs on Docker hosts)"],
	["cpuFlavor", " (launcher.cpus and launcher.memory limit a container)"],
]);

function unusedText(name: string, value: unknown): string {
	const text = Array.isArray(value) ? value.join(", ") : isObject(value) ? "" : String(value);
	return `${name}${text === "" ? "" : ` ${text.slice(0, 100)}`}${ADVICE.get(name) ?? ""}`;
}

/** Accepts `[{key, value}]` and `[{key, input: {type, default}}]`. `preset` overrides both. */
function readEnv(raw: unknown, preset: Record<string, unknown> = {}): Pick<HubSettings, "env" | "required" | "unset"> {
	const env = new Map<string, string>();
	const required: RequiredInput[] = [];
	const unset: string[] = [];
	const inputs = new Map<string, Record<string, unknown>>();
	for (const entry of Array.isArray(raw) ? (raw as unknown[]) : []) {
		const { key, value: given, input: described } = isObject(entry) ? entry : {};
		if (typeof key !== "string" || key === "") continue;
		const input = isObject(described) ? described : {};
		inputs.set(key, input);
		const value = given ?? ("default" in input ? valueOf(input["default"], input) : "");
		if (isText(value)) env.set(key, String(value));
		else if (Object.hasOwn(preset, key)) continue;
		else if (input["required"] === true) required.push({ key, title: titleOf(key, input) });
		else unset.push(key);
	}
	for (const [key, value] of Object.entries(preset)) {
		const found = valueOf(value, inputs.get(key) ?? {});
		if (isText(found)) env.set(key, String(found));
	}
	return { env: Object.fromEntries(env), required, unset };
}

function isText(value: unknown): value is string | number | boolean {
	return value !== undefined && value !== null && value !== "" && typeof value !== "object";
}

function titleOf(key: string, { name, type }: Record<string, unknown>): string {
	const title = typeof name === "string" && name !== "" && name !== key ? `${name} (${key})` : key;
	return type === "huggingface" ? `${title}, a model on Hugging Face such as Qwen/Qwen3-8B` : title;
}

/** A boolean becomes its `trueValue` or `falseValue`. */
function valueOf(value: unknown, input: Record<string, unknown>): unknown {
	if (typeof value !== "boolean") return value;
	return (value ? input["trueValue"] : input["falseValue"]) ?? value;
}

export function hasTests(folder: string): boolean {
	return isFile(join(folder, ".runpod", "tests.json"));
}

export function readTests(folder: string): { tests: HubTest[]; env: Record<string, string>; unused: string[] } {
	const path = join(folder, ".runpod", "tests.json");
	const file = readJson(path);
	if (file === undefined) throw new CliError(`${path} does not exist. Create it with tests: ${TESTS_EXAMPLE}`);
	const { tests, config } = isObject(file) ? file : {};
	if (!Array.isArray(tests) || tests.length === 0)
		throw new CliError(`${path} must contain at least one test: ${TESTS_EXAMPLE}`);
	const { env, ...others } = isObject(config) ? config : {};
	return {
		tests: (tests as unknown[]).map((test, index) => readTest(test, `${path}: tests[${index}]`, index + 1)),
		env: readEnv(env).env,
		unused: Object.entries(others).map(([name, value]) => unusedText(name, value)),
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

const MOST_NAMES = 8;

export function hubNotes({ unused, unset, env, presets }: HubSettings): string[] {
	const notes = {
		"From .runpod/hub.json": Object.keys(env),
		"No default; set them if the handler needs them": unset,
		"Presets of hub.json, one of which --preset takes": presets,
	};
	const lines = Object.entries(notes).flatMap(([note, names]) =>
		names.length > 0 ? [`${note}: ${few(names).join(", ")}.`] : [],
	);
	return [...lines, ...unusedNote(unused)];
}

/** One line for all that has no meaning here. */
export function unusedNote(unused: readonly string[]): string[] {
	return unused.length > 0 ? [`Without effect here: ${unused.join("; ")}.`] : [];
}

export function printNotes(notes: readonly string[]): void {
	process.stderr.write(notes.map((note) => `${printable(note)}\n`).join(""));
}

function few(names: readonly string[]): string[] {
	const rest = names.length - MOST_NAMES;
	return rest > 1 ? [...names.slice(0, MOST_NAMES), `${rest} more`] : [...names];
}

/** A comma behind the last member is accepted: published files have some, and RunPod reads them. */
function readJson(path: string): unknown {
	if (!isFile(path)) return undefined;
	const text = withoutMark(readFileSync(path, "utf8"));
	try {
		return JSON.parse(text);
	} catch {}
	try {
		return JSON.parse(text.replaceAll(/("(?:[^"\\]|\\.)*(?:"|$))|,(?=\s*[}\]])/g, "$1"));
	} catch (error) {
		throw new CliError(`${path} is not JSON: ${(error as Error).message}`);
	}
}

export function isFile(path: string): boolean {
	return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
