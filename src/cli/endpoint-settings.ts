/**
 * Settings of an endpoint from flags: `--file`, `--set name=value`, `--unset name` (D36). The
 * service checks them.
 */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { isObject } from "../core/schema.ts";
import type { Schema } from "../core/schema.ts";
import { CliError } from "./command.ts";
import type { Flags, Given } from "./command.ts";
import { ENDPOINT_SCHEMA } from "../endpoint-settings.ts";

export const SETTING_FLAGS = {
	file: {
		value: "FILE",
		summary: "settings as YAML or JSON, as they stand under the id in sluice.yaml",
	},
	set: {
		value: "NAME=VALUE",
		many: true,
		summary:
			"one setting, such as workersMax=5, env.MODEL=small or 'launcher.command=[node, worker.js]'; may be repeated",
	},
} as const satisfies Flags;

/** The settings given: those of the file, changed by each `--set`, and null for each `--unset`. */
export function readSettings({ flags, lists }: Given): Record<string, unknown> {
	const settings = flags["file"] === undefined ? {} : readFile(flags["file"]);
	for (const each of lists["set"] ?? []) {
		const sign = each.indexOf("=");
		if (sign < 1)
			throw new CliError(`--set takes NAME=VALUE, such as workersMax=5, not '${each}'.`);
		const { names, text } = place(each.slice(0, sign));
		const value = each.slice(sign + 1);
		put(settings, names, text ? value : yaml(value, `The value of --set ${each.slice(0, sign)}`));
	}
	for (const each of lists["unset"] ?? []) put(settings, place(each).names, null);
	return settings;
}

function readFile(file: string): Record<string, unknown> {
	let text: string;
	try {
		text = readFileSync(file, "utf8");
	} catch {
		throw new CliError(`There is no readable file at ${file}.`);
	}
	const found = yaml(text, `The file ${file}`);
	if (!isObject(found))
		throw new CliError(`The file ${file} must hold settings, such as workersMax: 5.`);
	return found;
}

function yaml(text: string, what: string): unknown {
	try {
		return parse(text);
	} catch (error) {
		throw new CliError(`${what} is not valid YAML: ${(error as Error).message.split("\n")[0]}`);
	}
}

/**
 * The members on the way to a setting, and whether its value is text: `env.VERSION=1.10` must stay
 * what it is.
 */
function place(dotted: string): { names: string[]; text: boolean } {
	const names: string[] = [];
	const parts = dotted.split(".");
	let schema: Schema | undefined = ENDPOINT_SCHEMA;
	for (const [index, part] of parts.entries()) {
		const { additionalProperties: others, properties }: Schema = schema ?? {};
		if (!properties && isObject(others)) {
			names.push(parts.slice(index).join("."));
			schema = others;
			break;
		}
		names.push(part);
		schema = branches(schema).find((branch) => branch.properties?.[part])?.properties?.[part];
	}
	return { names, text: branches(schema).some(({ type }) => type === "string") };
}

/** The schema itself and the branches of which one must fit. */
function branches(schema: Schema | undefined): Schema[] {
	return schema ? [schema, ...(schema.oneOf ?? [])] : [];
}

function put(settings: Record<string, unknown>, names: readonly string[], value: unknown): void {
	const [name = "", ...rest] = names;
	const there = Object.hasOwn(settings, name) ? settings[name] : undefined;
	const inner = isObject(there) ? there : {};
	// Defined, not assigned: a member named __proto__ would be lost without a word.
	Object.defineProperty(settings, name, {
		value: rest.length === 0 ? value : inner,
		enumerable: true,
		writable: true,
		configurable: true,
	});
	if (rest.length > 0) put(inner, rest, value);
}
