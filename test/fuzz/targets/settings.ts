/** What checks settings and requests: our checker against Ajv, the configuration, the command line. */
import { MODULES } from "../../../src/modules/index.ts";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { COMMANDS } from "../../../src/cli/commands/commands.ts";
import { runCommand } from "../../../src/cli/framework/run-command.ts";
import type { Action, Command } from "../../../src/cli/framework/command.ts";
import { CliError } from "../../../src/cli/client/errors.ts";
import { SETTING_FLAGS, readSettings } from "../../../src/cli/commands/jobs/setting-flags.ts";
import { loadConfig } from "../../../src/kernel/config/config.ts";
import { type Option, OPTIONS } from "../../../src/kernel/config/options.ts";
import { BULK_SCHEMA, readBulkRequest } from "../../../src/kernel/core/jobs/bulk-request.ts";
import { mergeSettings } from "../../../src/kernel/core/endpoints/endpoint.ts";
import { KEY_REQUEST_SCHEMA, readKeyRequest } from "../../../src/kernel/core/access/key-request.ts";
import { check, isObject, type Schema } from "../../../src/kernel/lib/schema.ts";
import { SUBMISSION_SCHEMA, readSubmission } from "../../../src/kernel/core/jobs/submission.ts";
import { ENDPOINT_SCHEMA, readEndpoint } from "../../../src/kernel/launchers/endpoint-settings.ts";
import { fromSchema, jsonText, jsonValue, natural, oddText } from "../generate.ts";
import { must, same, target } from "../target.ts";

const ajv = new Ajv2020({
	strict: false,
	formats: {
		uri: (text: string) => /^https?:$/.test(URL.parse(text)?.protocol ?? ""),
		origin: (text: string) => /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/i.test(text) && URL.canParse(text),
	},
});

/** Each schema with what reads a value that fits it. */
const READERS: Record<string, { schema: Schema; read: (value: unknown) => { ok: boolean } }> = {
	endpoint: { schema: ENDPOINT_SCHEMA, read: (value) => readEndpoint("ep", value) },
	key: {
		schema: KEY_REQUEST_SCHEMA,
		// Whether an expiry is in the future is not for the schema to say.
		read: (value) => readKeyRequest(value, -Infinity),
	},
	bulk: { schema: BULK_SCHEMA, read: readBulkRequest },
	submission: {
		schema: SUBMISSION_SCHEMA,
		read: (value) => {
			const { input, ...rest } = value as Record<string, unknown>;
			return readSubmission({ input: isObject(input) ? "object" : undefined, ...rest });
		},
	},
};

/** Optional members that are `null` count as absent (D4): without them. */
function withoutNulls(schema: Schema, value: unknown): unknown {
	const branch = schema.oneOf?.find(({ type, properties }) =>
		Array.isArray(value)
			? type === "array"
			: type === "object" && isObject(value) && (!properties?.["type"] || properties["type"].const === value["type"]),
	);
	const { properties, additionalProperties, items } = branch ?? schema;
	if (Array.isArray(value)) return items ? value.map((item) => withoutNulls(items, item)) : value;
	if (!isObject(value)) return value;
	const members = Object.entries(value).flatMap(([name, member]) => {
		const known = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
		if (known && member === null) return [];
		const inner = known ?? (typeof additionalProperties === "object" ? additionalProperties : {});
		return [[name, withoutNulls(inner, member)]] as const;
	});
	return Object.fromEntries(members);
}

/** Ajv takes whole numbers above 2^53, which JSON cannot hold exactly. */
function hasUnsafe(value: unknown): boolean {
	// Refused by a rule of our own (D4), which is stricter than the schema.
	if (typeof value === "string") return /\p{Cc}/u.test(value);
	if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value);
	return typeof value === "object" && value !== null && Object.values(value).some(hasUnsafe);
}

const fits = Object.fromEntries(Object.entries(READERS).map(([name, { schema }]) => [name, ajv.compile(schema)]));

export const SCHEMAS = target({
	name: "schemas",
	sources: [
		"kernel/lib/schema.ts",
		"kernel/core/endpoints/",
		"kernel/core/access/key-request.ts",
		"kernel/core/jobs/",
		"kernel/launchers/endpoint-settings.ts",
	],
	cases: fc.oneof(
		...Object.entries(READERS).map(([name, { schema }]) =>
			fc.record({
				name: fc.constant(name),
				value: fc.oneof({ weight: 9, arbitrary: fromSchema(schema) }, { weight: 1, arbitrary: jsonValue }),
			}),
		),
	),
	check({ name, value }) {
		const reader = READERS[name];
		if (!reader || !isObject(value)) return;
		const faults = check(reader.schema, value);
		for (const { field, message } of faults)
			must(/^(?:must|is|has|cannot) ?.*[.?]$/s.test(message) && typeof field === "string", `${field} ${message}`);
		if (!hasUnsafe(value)) same("accepted", faults.length === 0, fits[name]!(withoutNulls(reader.schema, value)));
		const read = reader.read(value);
		must(!read.ok || faults.length === 0, "read although it is at fault");
	},
});

/** RFC 7396, without the exception for launchers. */
function merged(current: unknown, patch: unknown): unknown {
	if (!isObject(patch)) return patch;
	const result = new Map(isObject(current) ? Object.entries(current) : []);
	for (const [name, value] of Object.entries(patch))
		if (value === null) result.delete(name);
		else result.set(name, merged(result.get(name), value));
	return Object.fromEntries(result);
}

export const MERGE = target({
	name: "merge-settings",
	sources: ["kernel/core/endpoints/endpoint.ts"],
	cases: fc.record({
		current: fromSchema(ENDPOINT_SCHEMA),
		patch: fc.oneof(fromSchema(ENDPOINT_SCHEMA), jsonValue),
	}),
	check({ current, patch }) {
		if (!isObject(current)) return;
		const found = mergeSettings(current, patch);
		if (isObject(patch) && isObject(patch["launcher"])) return;
		same("merged", found, merged(current, patch));
	},
});

const SECRET = "a-secret-of-the-operator";
const OPTION_LIST: readonly Option[] = Object.values(OPTIONS);
const yamlText = fc.oneof(
	fc
		.record(
			{
				endpoints: fc.dictionary(fc.stringMatching(/^[a-z.]{1,5}$/), fromSchema(ENDPOINT_SCHEMA), {
					maxKeys: 2,
				}),
				gpus: fc.integer(),
				cors: jsonValue,
			},
			{ requiredKeys: [] },
		)
		.map((file) => JSON.stringify(file)),
	fc
		.array(
			fc.constantFrom(
				"endpoints:\n",
				"  ep:\n",
				"  a: &x\n",
				"    workersMax: 5\n",
				"    env: {A: 1.10}\n",
				"  b: *x\n",
				"  <<: *x\n",
				"publicUrl: http://a\n",
				"gpus: 0x10\n",
				"- x\n",
				"? y\n",
				"!!js/function x\n",
				"\t",
				"%YAML 1.1\n---\n",
				"...\n",
				"cors: {origins: [https://a.test]}\n",
				"budgets: {}\n",
				"'",
				"limits: off\n",
				"__proto__: {a: 1}\n",
			),
			{ maxLength: 8 },
		)
		.map((lines) => lines.join("")),
	jsonText,
	oddText,
);

export const CONFIG = target({
	name: "config",
	sources: ["kernel/config/", "kernel/launchers/"],
	turn: 600,
	cases: fc.record({
		file: yamlText,
		/** Texts of options: number of the option, by flag or else by variable, text. */
		options: fc.array(
			fc.tuple(
				fc.nat(OPTION_LIST.length - 1),
				fc.boolean(),
				fc.oneof(
					oddText,
					fc.constantFrom(
						"1",
						"0",
						"true",
						"http://a.test/x/",
						"https://a.test,*",
						"sqlite:x",
						"postgres://u:p@h:99999/d",
						"postgres://u@h/d?a=b",
						"info",
					),
				),
			),
			{ maxLength: 4 },
		),
	}),
	check({ file, options }) {
		const flags: Record<string, string> = {};
		const env: Record<string, string> = { SLUICE_SECRET: SECRET };
		for (const [index = 0, byFlag, text = ""] of options) {
			const option = OPTION_LIST[natural(index) % OPTION_LIST.length]!;
			if (option === OPTIONS.config || option === OPTIONS.secret) continue;
			// A mutation may have made another value of it; a system has only texts.
			if (byFlag && option.flag !== undefined) flags[option.flag] = String(text);
			else env[option.env] = String(text);
		}
		const loaded = loadConfig({ modules: MODULES, flags, env, cwd: "/srv", readFile: () => file });
		if (!loaded.ok) {
			must(loaded.problems.length > 0, "no problem is named");
			for (const problem of loaded.problems) must(!problem.includes(SECRET), "a problem shows the secret");
			return;
		}
		const { config } = loaded;
		must(Number.isInteger(config.port) && config.port >= 0 && config.port <= 65_535, "port");
		must(config.dataDir.startsWith("/"), `dataDir ${config.dataDir}`);
		must(config.publicUrl === undefined || URL.canParse(config.publicUrl), "publicUrl");
		for (const endpoint of config.endpoints) {
			must(/^[a-zA-Z0-9_-]{1,64}$/.test(endpoint.id), `endpoint ${endpoint.id}`);
			must(endpoint.workersMin <= endpoint.workersMax, "workersMin");
		}
	},
});

const actions = COMMANDS.flatMap((command: Command): { command: string; action: Action }[] =>
	"actions" in command
		? command.actions.map((action) => ({ command: command.name, action }))
		: [{ command: command.name, action: command }],
);
const argument = fc.oneof(
	fc.constantFrom(
		...actions.flatMap(({ action: { flags } }) =>
			Object.keys(flags).flatMap((flag) => [`--${flag}`, `--${flag}=1`, `--no-${flag}`]),
		),
	),
	fc.constantFrom(
		"--help",
		"-h",
		"--",
		"-",
		"--set",
		"workersMax=5",
		"env.A=b",
		"a.b.c=[1",
		"__proto__.x=1",
		"=",
		"-xyz",
		"list",
		"get",
	),
	oddText,
);

export const CLI = target({
	name: "cli",
	sources: ["cli/framework/run-command.ts", "cli/commands/jobs/setting-flags.ts", "cli/client/errors.ts"],
	turn: 1500,
	cases: fc.record({
		action: fc.nat(actions.length - 1),
		args: fc.array(argument, { maxLength: 5 }),
	}),
	async check({ action: index, args }) {
		const { action } = actions[natural(index) % actions.length]!;
		const reads = Object.keys(SETTING_FLAGS).every((flag) => flag in action.flags);
		const run: Action["run"] = async (input) => {
			if (reads && input.flags["file"] === undefined) JSON.stringify(readSettings(input));
			return 0;
		};
		const { write } = process.stdout;
		process.stdout.write = () => true;
		try {
			same("exit code", await runCommand({ ...action, run }, args), 0);
		} catch (error) {
			if (!(error instanceof CliError)) throw error;
			must(/\S/.test(error.message), "an error without a sentence");
		} finally {
			process.stdout.write = write;
		}
		must(!("x" in {}), "a prototype was changed");
	},
});
