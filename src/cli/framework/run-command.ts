import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { type Action, type ActionInput, type Command, type CommandGroup, flagsOf } from "./command.ts";
import { connectionOf, SERVICE_FLAGS } from "../client/connection.ts";
import { CliError } from "../client/errors.ts";
import { didYouMean, nearest } from "../../kernel/lib/nearest.ts";
import { actionHelp, groupHelp, synopsisOf } from "./help.ts";
import { serviceClient } from "../client/service-client.ts";

/** `args` follow the command's name. Returns the exit code. */
export async function runCommand(command: Command, args: readonly string[]): Promise<number> {
	if (!("actions" in command)) return await runAction(command, command.name, args);
	args = flagsLast(args);
	const [first] = args;
	if (first === "--help" || first === "-h") {
		process.stdout.write(groupHelp(command));
		return 0;
	}
	const hasVerb = first !== undefined && !first.startsWith("-");
	const action = actionOf(command, hasVerb ? first : "list");
	return await runAction(action, `${command.name} ${action.name}`, hasVerb ? args.slice(1) : args);
}

function actionOf(group: CommandGroup, verb: string): Action {
	return commandNamed(verb, group.actions, `${group.name} `);
}

/** Throws {@link CliError} with the nearest name. `group`: such as `jobs `. */
export function commandNamed<T extends { name: string }>(name: string, commands: readonly T[], group = ""): T {
	const found = commands.find((each) => each.name === name);
	if (found) return found;
	const names = commands.map((each) => group + each.name);
	throw new CliError(
		`Unknown command '${group}${name}'.${didYouMean(group + name, names)}\nAll commands: sluice ${group}--help`,
	);
}

/** Moves flags that all commands share from the front to the end, where those of the command stand. */
export function flagsLast(words: readonly string[]): readonly string[] {
	const [first = "", ...rest] = words;
	const [name, value] = first.replace(/^--/, "").split("=", 2);
	const isShared = first.startsWith("--") && Object.hasOwn(SERVICE_FLAGS, name ?? "");
	if (first === "--json") return [...flagsLast(rest), first];
	if (!isShared || (value === undefined && rest.length === 0)) return words;
	return value === undefined ? [...flagsLast(rest.slice(1)), first, rest[0]!] : [...flagsLast(rest), first];
}

export function helpOf(command: Command, verb: string | undefined): string {
	if (!("actions" in command)) return actionHelp(command, command.name);
	if (verb === undefined) return groupHelp(command);
	return actionHelp(actionOf(command, verb), `${command.name} ${verb}`);
}

async function runAction(action: Action, name: string, argv: readonly string[]): Promise<number> {
	const end = action.rest && argv.includes("--") ? argv.indexOf("--") : argv.length;
	const { help, flags, lists, args } = parse(action, name, argv.slice(0, end));
	if (help) {
		process.stdout.write(actionHelp(action, name));
		return 0;
	}
	// The list of processes shows command lines to other users.
	if (flags["key"] !== undefined) process.title = `sluice ${name}`;
	const usage = `Usage: sluice ${name} ${synopsisOf(action)}`.trimEnd();
	const missing = action.args[args.length];
	if (missing !== undefined && !missing.startsWith("[")) throw new CliError(`Missing argument ${missing}. ${usage}`);
	if (args.length > action.args.length && !action.args.at(-1)?.includes("..."))
		throw new CliError(`Unexpected argument '${args[action.args.length]}'. ${usage}`);
	const service = serviceClient(() => connectionOf(flags, process.env));
	return await action.run({ args, flags, lists, rest: argv.slice(end + 1), service });
}

function parse(
	action: Action,
	name: string,
	argv: string[],
): Pick<ActionInput, "args" | "flags" | "lists"> & { help: boolean } {
	const known = flagsOf(action);
	const options: ParseArgsOptionsConfig = { help: { type: "boolean", short: "h" } };
	for (const [flag, { value, short, many = false }] of Object.entries(known))
		options[flag] = { type: value === undefined ? "boolean" : "string", multiple: many, ...(short && { short }) };
	try {
		const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
		const flags: Record<string, string> = {};
		const lists: Record<string, string[]> = {};
		for (const [flag, value] of Object.entries(values)) {
			if (Array.isArray(value)) lists[flag] = value.map(String);
			else if (value !== undefined) flags[flag] = String(value);
		}
		return { help: values["help"] !== undefined, args: positionals, flags, lists };
	} catch (error) {
		const unknown = /^Unknown option '(-[^']*)'/.exec((error as Error).message)?.[1];
		const names = [...Object.keys(known), "help"].map((flag) => `--${flag}`);
		const meant = unknown && nearest(unknown, names);
		const more = `\nAll options: sluice ${name} --help`;
		if (meant) throw new CliError(`Unknown option '${unknown}'. Did you mean ${meant}?${more}`);
		// Node adds advice about arguments that start with a dash.
		const [sentence = ""] = (error as Error).message.split(/\. To specify |\n/);
		throw new CliError(`${sentence.replace(/\.$/, "")}.${more}`);
	}
}
