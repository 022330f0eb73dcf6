/** Commands: arguments, flags, parsing, help texts. */
import { parseArgs } from "node:util";
import { CliError } from "./errors.ts";
import { nearest } from "./nearest.ts";
import { serviceClient } from "./service-client.ts";
import type { ServiceClient } from "./service-client.ts";

export interface Flag {
	/** Placeholder in help texts; absent for a switch. */
	value?: string;
	/** One letter. */
	short?: string;
	summary: string;
	/** Repeatable. */
	many?: true;
}

export type Flags = Readonly<Record<string, Flag>>;

/** A switch that is set has the value "true". */
export type FlagValues = Readonly<Record<string, string | undefined>>;

/** The parsed command line. */
export interface ActionInput {
	/** Undefined for an omitted optional argument. */
	args: readonly (string | undefined)[];
	flags: FlagValues;
	/** Values of repeatable flags. */
	lists: Readonly<Record<string, readonly string[]>>;
	/** Arguments after `--`. */
	rest: readonly string[];
	/** From `SLUICE_URL` and `SLUICE_API_KEY`. */
	service: ServiceClient;
}

/** A command, or a verb of a group. */
export interface Action {
	name: string;
	summary: string;
	/** Placeholders; optional ones in brackets. */
	args: readonly string[];
	flags: Flags;
	/** Overrides the generated one. */
	synopsis?: string;
	/** Takes a command line after `--`. */
	rest?: true;
	/** Returns the exit code. */
	run(input: ActionInput): Promise<number>;
}

/** Actions on one kind of object, such as `jobs list`, the default verb. */
export interface CommandGroup {
	name: string;
	summary: string;
	actions: readonly Action[];
}

export type Command = Action | CommandGroup;

/** `args`: those after the command's name. Returns the exit code. */
export async function runCommand(command: Command, args: readonly string[]): Promise<number> {
	if (!("actions" in command)) return await runAction(command, command.name, args);
	const { name, actions } = command;
	const [first] = args;
	if (first === "--help" || first === "-h") {
		process.stdout.write(groupHelp(command));
		return 0;
	}
	const hasVerb = first !== undefined && !first.startsWith("-");
	const verb = hasVerb ? first : "list";
	const action = actions.find((each) => each.name === verb);
	if (!action) {
		const meant = nearest(
			verb,
			actions.map((each) => each.name),
		);
		if (meant)
			throw new CliError(`Unknown command '${name} ${verb}'. Did you mean '${name} ${meant}'?`);
		throw new CliError(`Unknown command '${name} ${verb}'.\n\n${groupHelp(command)}`);
	}
	return await runAction(action, `${name} ${verb}`, hasVerb ? args.slice(1) : args);
}

async function runAction(action: Action, name: string, argv: readonly string[]): Promise<number> {
	const end = action.rest && argv.includes("--") ? argv.indexOf("--") : argv.length;
	const { help, flags, lists, args } = parse(action, name, argv.slice(0, end));
	if (help) {
		process.stdout.write(actionHelp(action, name));
		return 0;
	}
	const usage = `Usage: sluice ${name} ${synopsisOf(action)}`.trimEnd();
	const missing = action.args[args.length];
	if (missing !== undefined && !missing.startsWith("["))
		throw new CliError(`Missing argument ${missing}. ${usage}`);
	if (args.length > action.args.length)
		throw new CliError(`Unexpected argument '${args[action.args.length]}'. ${usage}`);
	return await action.run({
		args,
		flags,
		lists,
		rest: argv.slice(end + 1),
		service: serviceClient(process.env),
	});
}

function parse(
	action: Action,
	name: string,
	argv: readonly string[],
): { help: boolean; args: string[]; flags: FlagValues; lists: Record<string, string[]> } {
	const options = Object.fromEntries(
		Object.entries(action.flags).map(([flag, { value, short, many = false }]) => [
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
		const known = [...Object.keys(action.flags), "help"].map((flag) => `--${flag}`);
		const meant = unknown && nearest(unknown, known);
		if (meant) throw new CliError(`Unknown option '${unknown}'. Did you mean ${meant}?`);
		// Node adds advice about positional arguments that start with a dash.
		const [sentence = ""] = (error as Error).message.split(/\. To specify |\n/);
		throw new CliError(`${sentence.replace(/\.$/, "")}.\n\n${actionHelp(action, name)}`);
	}
}

/** The part after the action's name in help texts. */
export function synopsisOf({
	args,
	flags,
	synopsis,
}: Pick<Action, "args" | "flags" | "synopsis">): string {
	return synopsis ?? [...args, ...(Object.keys(flags).length > 0 ? ["[options]"] : [])].join(" ");
}

function actionHelp(action: Action, name: string): string {
	const flags = Object.entries(action.flags).map(([flag, { value = "", short, summary }]) => {
		const names = `${short === undefined ? "" : `-${short}, `}--${flag} ${value}`.trimEnd();
		return `  ${names}`.padEnd(30) + `${summary}\n`;
	});
	return `${`sluice ${name} ${synopsisOf(action)}`.trimEnd()}\n\n${flags.join("")}`;
}

function groupHelp({ name, actions }: CommandGroup): string {
	const rows = actions.map(
		(action) =>
			[`  ${name} ${action.name} ${action.args.join(" ")}`.trimEnd(), action.summary] as const,
	);
	const width = Math.max(...rows.map(([usage]) => usage.length)) + 2;
	const lines = rows.map(([usage, summary]) => `${usage.padEnd(width)}${summary}\n`);
	return (
		`sluice ${name} <command> [options]\n\n${lines.join("")}\nFor the options of a command: ` +
		`sluice ${name} <command> --help\n`
	);
}

export function usage(commands: readonly Command[]): string {
	const lines = commands.map(({ name, summary }) => `  ${name.padEnd(14)}${summary}\n`);
	return (
		`sluice <command> [options]\n\n${lines.join("")}\nFor the options of a command: sluice ` +
		`<command> --help. Version: sluice --version\n`
	);
}
