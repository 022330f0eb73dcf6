/** `sluice context`: named services, as contexts of kubectl (D36). */
import type { Action, CommandGroup } from "../framework/command.ts";
import { JSON_FLAG, readSecret } from "../framework/common-flags.ts";
import { contextOf, contextsFile, readContexts, writeContexts } from "../client/context-file.ts";
import { CliError } from "../client/errors.ts";
import { table } from "../framework/table.ts";

const list: Action = {
	name: "list",
	args: [],
	summary: "list contexts; keys are not shown",
	local: true,
	flags: JSON_FLAG,
	async run({ flags }) {
		const { current = null, all } = readContexts(process.env);
		const contexts = all.map(({ name, url, key }) => ({ name, url, hasKey: key !== undefined }));
		const rows = contexts.map(({ name, url, hasKey }) => {
			return [name === current ? "*" : "", name, url, hasKey ? "stored" : "none"];
		});
		if (flags["json"]) process.stdout.write(`${JSON.stringify({ current, contexts })}\n`);
		else if (rows.length > 0) process.stdout.write(table(["CURRENT", "NAME", "URL", "KEY"], rows));
		else process.stdout.write("No contexts. Add one: sluice context add production --url https://sluice.example.com\n");
		return 0;
	},
};

const add: Action = {
	name: "add",
	args: ["NAME"],
	summary: "store the address of a service with a key, which is read from stdin or asked for",
	local: true,
	flags: {
		url: { value: "URL", summary: "address of the service (required)" },
		key: { value: "KEY", summary: "the key; other users of the machine may see it: prefer stdin" },
	},
	examples: [
		"sluice context add production --url https://sluice.example.com",
		"sluice context add ci --url https://sluice.example.com < key.txt",
	],
	async run({ args: [name = ""], flags }) {
		if (!/^[\w.-]{1,64}$/.test(name))
			throw new CliError("The name of a context is 1 to 64 letters, digits, '.', '_' and '-'.");
		const { url } = flags;
		if (url === undefined) throw new CliError("Missing option --url. Usage: sluice context add NAME --url URL");
		if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
			throw new CliError(`--url must begin with http:// or https://, not '${url}'.`);
		const key = (flags["key"] ?? (await readSecret(`API key of ${url}: `))).trim();
		if (key === "") throw new CliError("The key is empty. Pass it on stdin.");
		const { current = name, all } = readContexts(process.env);
		const others = all.filter((each) => each.name !== name);
		writeContexts(process.env, { current, all: [...others, { name, url, key }] });
		const next = current === name ? "; commands use it from now on." : `. Use it: sluice context use ${name}`;
		process.stdout.write(`Stored context '${name}'${next}\n`);
		return 0;
	},
};

const use: Action = {
	name: "use",
	args: ["NAME"],
	summary: "make a context the default of commands, unless SLUICE_URL or SLUICE_API_KEY is set",
	local: true,
	flags: {},
	examples: ["sluice context use production"],
	async run({ args: [name = ""] }) {
		const { url } = contextOf(name, process.env)!;
		writeContexts(process.env, { ...readContexts(process.env), current: name });
		process.stdout.write(`Commands use '${name}' (${url}) from now on.\n`);
		for (const variable of ["SLUICE_URL", "SLUICE_API_KEY", "SLUICE_CONTEXT"])
			if (process.env[variable]) process.stderr.write(`${variable} is set and overrides it in this shell.\n`);
		return 0;
	},
};

const remove: Action = {
	name: "remove",
	args: ["NAME"],
	summary: "remove a context with its key",
	local: true,
	flags: {},
	examples: ["sluice context remove ci"],
	async run({ args: [name = ""] }) {
		contextOf(name, process.env);
		const { current, all } = readContexts(process.env);
		writeContexts(process.env, {
			current: current === name ? undefined : current,
			all: all.filter((each) => each.name !== name),
		});
		process.stdout.write(`Removed context '${name}' from ${contextsFile(process.env)}.\n`);
		return 0;
	},
};

export const context: CommandGroup = {
	name: "context",
	summary: "list, store and choose services that commands call",
	actions: [list, add, use, remove],
};
