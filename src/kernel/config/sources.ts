/** Reads options from flags, environment and `sluice.yaml`. */
import { moduleMembers, type ConfiguredModule } from "./module-settings.ts";
import { parse } from "yaml";
import { duration, withDurations } from "../core/durations.ts";
import { type Budget, BUDGETS } from "../core/budgets.ts";
import { check, isAbsent, isObject, type Schema } from "../lib/schema.ts";
import { type Option, OPTIONS } from "./options.ts";
import type { Env } from "../lib/env.ts";
import type { FileContext } from "../launchers/definition.ts";
import { LAUNCHERS } from "../launchers/index.ts";

export interface Sources {
	flags: Readonly<Record<string, string | undefined>>;
	env: Env;
	cwd: string;
	/** Undefined if the file cannot be read. */
	readFile: (path: string) => string | undefined;
	/** Modules, which check their members of the file. */
	modules: readonly ConfiguredModule[];
}

type TextSources = Pick<Sources, "flags" | "env">;

/** `endpoint-settings.ts` checks the endpoints, each module its own member. */
const fileSchema = (modules: Sources["modules"]): Schema =>
	section({
		endpoints: {
			type: "object",
			description: "Settings by endpoint id.",
			"x-message": "must be an object of endpoint ids to settings.",
		},
		...moduleMembers(modules),
		publicUrl: OPTIONS.publicUrl.schema,
		gpus: OPTIONS.gpus.schema,
		...launcherMembers(),
		hostTimeout: OPTIONS.hostTimeout.schema,
		cors: section({ origins: OPTIONS.corsOrigins.schema }),
		log: section({
			level: OPTIONS.logLevel.schema,
			format: OPTIONS.logFormat.schema,
			access: OPTIONS.accessLog.schema,
		}),
		console: section({ traceUrl: OPTIONS.consoleTraceUrl.schema }),
		webhooks: section({ allowPrivateNetworks: OPTIONS.webhooksAllowPrivateNetworks.schema }),
		budgets: section(Object.fromEntries(Object.entries<Budget>(BUDGETS).map(([name, one]) => [name, schemaOf(one)]))),
	});

function schemaOf({ unit, minimum, maximum, default: value, description }: Budget): Schema {
	if (unit === "ms") return duration(unit, [minimum, maximum], { example: "365d", default: value, description });
	return { type: "integer", minimum, maximum, default: value, description };
}

function section(properties: Record<string, Schema>): Schema {
	return {
		type: "object",
		additionalProperties: false,
		properties,
		"x-message": `must be an object with ${Object.keys(properties).join(", ")}.`,
	};
}

export function optionText(
	{ flags, env }: TextSources,
	{ flag, env: variable }: Option,
): { source: string; text: string } | undefined {
	const flagText = flag === undefined ? undefined : flags[flag];
	if (flagText !== undefined) return { source: `--${flag}`, text: flagText };
	return env[variable] ? { source: variable, text: env[variable] } : undefined;
}

/** Returns the value of an option; it has the schema's type unless there are problems. */
export function optionValue(
	sources: TextSources,
	option: Option,
	problems: string[],
	file: Record<string, unknown> = {},
): unknown {
	const { schema } = option;
	const given = optionText(sources, option);
	if (!given) return (option.file === undefined ? undefined : memberAt(file, option.file)) ?? schema.default;
	const { source, text } = given;
	const value = fromText(schema, text);
	const faults = check(schema, value, source);
	if (option === OPTIONS.store && faults.length === 0 && !isStoreAddress(text))
		faults.push({ field: source, message: schema["x-message"] ?? "" });
	// A value of another type may be a secret and is not printed.
	const isPrintable = schema.type === "integer" || schema.type === "boolean";
	for (const { field, message } of faults)
		problems.push(isPrintable ? `${field} ${message.slice(0, -1)}, not '${text}'.` : `${field} ${message}`);
	return value;
}

/** The pattern accepts some invalid URLs, such as a port above 65535. */
function isStoreAddress(text: string): boolean {
	return !text.startsWith("postgres") || URL.canParse(text);
}

/** Text of another type is returned unchanged, and the check rejects it. */
function fromText(schema: Schema, text: string): unknown {
	const { type, oneOf } = schema;
	if (type === "integer" && /^\d{1,15}$/.test(text)) return Number(text);
	if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
	if (oneOf && !oneOf.some((branch) => branch.const === text))
		return text
			.split(",")
			.map((item) => item.trim())
			.filter((item) => item !== "");
	return withDurations(schema, text);
}

function memberAt(file: Record<string, unknown>, path: string): unknown {
	return path.split(".").reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), file);
}

/** The endpoints are not checked. */
export function parseFile(
	text: string,
	path: string,
	{ modules }: Pick<Sources, "modules">,
	problems: string[],
): Record<string, unknown> {
	const schema = fileSchema(modules);
	const file = withDurations(schema, readYaml(text, path, problems)) as Record<string, unknown>;
	for (const { field, message } of check(schema, file)) problems.push(`${path}: ${field} ${message}`);
	return file;
}

function readYaml(text: string, path: string, problems: string[]): Record<string, unknown> {
	try {
		const value: unknown = parse(text);
		if (isAbsent(value)) return {};
		if (isObject(value)) return value;
		problems.push(`${path}: must be a mapping with 'endpoints'.`);
	} catch (error) {
		problems.push(`${path}: is not valid YAML: ${(error as Error).message.split("\n")[0]}`);
	}
	return {};
}

/** Members of `sluice.yaml` that belong to launchers. */
export function launcherMembers(): Record<string, Schema> {
	return Object.fromEntries(LAUNCHERS.flatMap(({ file }) => (file ? [[file.member, file.schema]] : [])));
}

/** What launchers have read, by type. Faults are added to `problems`. */
export function readLauncherMembers(
	file: Readonly<Record<string, unknown>>,
	context: FileContext,
	problems: string[],
): Record<string, unknown> {
	return Object.fromEntries(
		LAUNCHERS.flatMap(({ type, file: own }) => (own ? [[type, own.read(file[own.member], context, problems)]] : [])),
	);
}
