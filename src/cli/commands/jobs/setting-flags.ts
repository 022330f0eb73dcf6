/** Endpoint settings from `--file`, `--set` and `--unset` (D36). The service validates them. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { ENDPOINT_SCHEMA } from "../../../kernel/launchers/endpoint-settings.ts";
import { isObject, type Schema } from "../../../kernel/lib/schema.ts";
import type { ActionInput, Flags } from "../../framework/command.ts";
import { CliError } from "../../client/errors.ts";

export const SETTING_FLAGS = {
	file: {
		value: "FILE",
		summary: "settings as YAML or JSON, in the form of endpoints.<id> in sluice.yaml; - for standard input",
	},
	set: {
		value: "NAME=VALUE",
		many: true,
		summary:
			"one setting, such as workersMax=5, env.MODEL=small or 'launcher.command=[node, worker.js]'; may be repeated",
	},
} as const satisfies Flags;

/** `--set` overrides `--file`, which replaces members of `base`. `--unset` gives null. */
export function readSettings(
	{ flags, lists }: ActionInput,
	base: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
	const { file } = flags;
	const settings = { ...base, ...(file === undefined ? {} : settingsIn(textOfFile(file), `The file ${file}`)) };
	for (const assignment of lists["set"] ?? []) {
		const [, name, value = ""] = /^([^=]+)=([^]*)$/.exec(assignment) ?? [];
		if (name === undefined) throw new CliError(`--set takes NAME=VALUE, such as workersMax=5, not '${assignment}'.`);
		const { members, isText } = memberPath(name);
		put(settings, members, isText ? value : yaml(value, `The value of --set ${name}`));
	}
	for (const name of lists["unset"] ?? []) put(settings, memberPath(name).members, null);
	return settings;
}

/** `-` is standard input. Throws {@link CliError}. */
export function textOfFile(file: string): string {
	try {
		return readFileSync(file === "-" ? 0 : file, "utf8");
	} catch {
		throw new CliError(`Cannot read the file ${file}.`);
	}
}

/** Throws {@link CliError}. `source`: how its sentences begin. */
export function settingsIn(text: string, source: string): Record<string, unknown> {
	const settings = yaml(text, source);
	if (isObject(settings)) return settings;
	throw new CliError(`${source} must contain settings, such as workersMax: 5.`);
}

function yaml(text: string, source: string): unknown {
	try {
		return parse(text);
	} catch (error) {
		throw new CliError(`${source} is not valid YAML: ${(error as Error).message.split("\n")[0]}`);
	}
}

/**
 * `isText`: the schema accepts a string and no object, so the value is not parsed as YAML and `env.VERSION=1.10` keeps
 * its zero.
 */
function memberPath(dotted: string): { members: string[]; isText: boolean } {
	const members: string[] = [];
	const parts = dotted.split(".");
	let schema: Schema | undefined = ENDPOINT_SCHEMA;
	for (const [index, part] of parts.entries()) {
		const { additionalProperties: others, properties }: Schema = schema ?? {};
		if (!properties && isObject(others)) {
			members.push(parts.slice(index).join("."));
			schema = others;
			break;
		}
		members.push(part);
		schema = branches(schema).find((branch) => branch.properties?.[part])?.properties?.[part];
	}
	const types = branches(schema).map(({ type }) => type);
	return { members, isText: types.includes("string") && !types.includes("object") };
}

function branches(schema: Schema | undefined): Schema[] {
	return schema ? [schema, ...(schema.oneOf ?? [])] : [];
}

function put(settings: Record<string, unknown>, [name = "", ...rest]: readonly string[], value: unknown): void {
	const existing = Object.hasOwn(settings, name) ? settings[name] : undefined;
	const inner = isObject(existing) ? existing : {};
	const member = { value: rest.length === 0 ? value : inner, enumerable: true, writable: true, configurable: true };
	// Assignment would ignore a member named __proto__.
	Object.defineProperty(settings, name, member);
	if (rest.length > 0) put(inner, rest, value);
}
