/** Parses the arguments of a command and runs it. */
import { parseArgs } from "node:util";
import { type Action, type Command, type CommandGroup, flagsOf, type FlagValues } from "./command.ts";
import { connectionOf } from "./connection.ts";
import { CliError } from "./errors.ts";
import { actionHelp, groupHelp, synopsisOf } from "./help.ts";
import { nearest } from "./nearest.ts";
import { serviceClient } from "./service-client.ts";

/** `args`: those after the command's name. Returns the exit code. */
export async function runCommand(command: Command, args: readonly string[]): Promise<number> {
	if (!("actions" in command)) return await runAction(command, command.name, args);
	const [first] = args;
	if (first === "--help" || first === "-h") {
		process.stdout.write(groupHelp(command));
		return 0;
	}
	const { action, name, rest } = actionOf(command, args);
	return await runAction(action, name, rest);
}

/** The verb of a group, `list` if none is given. Throws {@link CliError}. */
function actionOf(
	group: CommandGroup,
	args: readonly string[],
): { action: Action; name: string; rest: readonly string[] } {
	const { name, actions } = group;
	const [first] = args;
	const hasVerb = first !== undefined && !first.startsWith("-");
	const verb = hasVerb ? first : "list";
	const action = actions.find((each) => each.name === verb);
	if (action) return { action, name: `${name} ${verb}`, rest: hasVerb ? args.slice(1) : args };
	const meant = nearest(
		verb,
		actions.map((each) => each.name),
	);
	if (meant) throw new CliError(`Unknown command '${name} ${verb}'. Did you mean '${name} ${meant}'?`);
	throw new CliError(`Unknown command '${name} ${verb}'.\n\n${groupHelp(group)}`);
}

/** Returns the text of `--help` of the command, or of the verb that is named. */
export function helpOf(command: Command, [verb]: readonly string[]): string {
	if (!("actions" in command)) return actionHelp(command, command.name);
	if (verb === undefined) return groupHelp(command);
	const { action, name } = actionOf(command, [verb]);
	return actionHelp(action, name);
}

async function runAction(action: Action, name: string, argv: readonly string[]): Promise<number> {
	const end = action.rest && argv.includes("--") ? argv.indexOf("--") : argv.length;
	const { help, flags, lists, args } = parse(action, name, argv.slice(0, end));
	if (help) {
		process.stdout.write(actionHelp(action, name));
		return 0;
	}
	// Other users of the machine could read it in the list of processes.
	if (flags["key"] !== undefined) process.title = `sluice ${name}`;
	const usage = `Usage: sluice ${name} ${synopsisOf(action)}`.trimEnd();
	const missing = action.args[args.length];
	if (missing !== undefined && !missing.startsWith("[")) throw new CliError(`Missing argument ${missing}. ${usage}`);
	if (args.length > action.args.length && !action.args.at(-1)?.includes("..."))
		throw new CliError(`Unexpected argument '${args[action.args.length]}'. ${usage}`);
	return await action.run({
		args,
		flags,
		lists,
		rest: argv.slice(end + 1),
		service: serviceClient(() => connectionOf(flags, process.env)),
	});
}

function parse(
	action: Action,
	name: string,
	argv: readonly string[],
): { help: boolean; args: string[]; flags: FlagValues; lists: Record<string, string[]> } {
	const known = flagsOf(action);
	const options = Object.fromEntries(
		Object.entries(known).map(([flag, { value, short, many = false }]) => [
			flag,
			{
				type: value === undefined ? ("boolean" as const) : ("string" as const),
				multiple: many,
				...(short === undefined ? {} : { short }),
			},
		]),
	);
	try {
		const { values, positionals } = parseArgs({
			args: [...argv],
			options: { ...options, help: { type: "boolean", short: "h" } },
			allowPositionals: true,
			strict: true,
		});
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
		if (meant) throw new CliError(`Unknown option '${unknown}'. Did you mean ${meant}?`);
		// Node adds advice about positional arguments that start with a dash.
		const [sentence = ""] = (error as Error).message.split(/\. To specify |\n/);
		throw new CliError(`${sentence.replace(/\.$/, "")}.\n\n${actionHelp(action, name)}`);
	}
}
