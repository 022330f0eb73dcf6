/** What a command is, and how its flags are read. */
import { parseArgs } from "node:util";

/**
 * A flag: its value's placeholder, absent for a switch, and what it does; `many`: it may be given
 * more than once.
 */
export interface Flag {
	value?: string;
	/** One letter that means the same. */
	short?: string;
	summary: string;
	many?: true;
}

export type Flags = Readonly<Record<string, Flag>>;

/** One command of the command line. `run` answers the exit code. */
export interface Command {
	name: string;
	summary: string;
	/** What follows the name. */
	synopsis: string;
	flags: Flags;
	/** What can be done with a noun, such as `endpoints pause`. */
	actions?: readonly Action[];
	run(args: readonly string[]): Promise<number>;
}

/**
 * What was given to an action: one text for each of its arguments, undefined for an optional one
 * left out.
 */
export interface Given {
	args: readonly (string | undefined)[];
	flags: Readonly<Record<string, string | undefined>>;
	/** Values of the flags that may be repeated. */
	lists: Readonly<Record<string, readonly string[]>>;
}

/** A verb of a noun. `args` are placeholders; those in brackets may be left out. */
export interface Action {
	name: string;
	args: readonly string[];
	summary: string;
	flags: Flags;
	run(given: Given): Promise<number>;
}

/** Ends the command with a sentence on stderr. */
export class CliError extends Error {
	readonly exitCode: number;
	constructor(message: string, exitCode = 2) {
		super(message);
		this.exitCode = exitCode;
	}
}

/**
 * Flags by name, those that may be repeated as lists, and the other arguments; throws {@link
 * CliError} for an unknown flag. `--help` prints the flags.
 */
export function readFlags(q: {
	name: string;
	synopsis: string;
	flags: Flags;
	args: readonly string[];
}): {
	help: boolean;
	flags: Record<string, string | undefined>;
	lists: Record<string, string[]>;
	rest: string[];
} {
	const options = Object.fromEntries(
		Object.entries(q.flags).map(([name, { value, short, many = false }]) => [
			name,
			{
				type: value === undefined ? ("boolean" as const) : ("string" as const),
				multiple: many,
				...(short === undefined ? {} : { short }),
			},
		]),
	);
	try {
		const { values, positionals } = parseArgs({
			args: [...q.args],
			options: { ...options, help: { type: "boolean", short: "h" } },
			allowPositionals: true,
			strict: true,
		});
		if (values["help"]) {
			process.stdout.write(`${head(q)}\n\n${flagLines(q.flags)}`);
			return { help: true, flags: {}, lists: {}, rest: [] };
		}
		const single = Object.entries(values).filter(([, value]) => !Array.isArray(value));
		const flags = Object.fromEntries(
			single.map(([name, value]) => [
				name,
				value === true ? "true" : value === undefined ? undefined : String(value),
			]),
		);
		const lists = Object.fromEntries(
			Object.entries(values).flatMap(([name, value]) =>
				Array.isArray(value) ? [[name, (value as unknown[]).map(String)]] : [],
			),
		);
		return { help: false, flags, lists, rest: positionals };
	} catch (error) {
		throw new CliError(`${(error as Error).message}\n\n${head(q)}\n\n${flagLines(q.flags)}`);
	}
}

function head({ name, synopsis }: { name: string; synopsis: string }): string {
	return `sluice ${name} ${synopsis}`.trimEnd();
}

/** What follows the name of an action. */
export function synopsisOf({ args, flags }: Pick<Action, "args" | "flags">): string {
	return [...args, ...(Object.keys(flags).length > 0 ? ["[options]"] : [])].join(" ");
}

/** A command whose first argument is what to do; `list` when there is none. */
export function noun({
	name,
	summary,
	actions,
}: {
	name: string;
	summary: string;
	actions: readonly Action[];
}): Command {
	const overview = (): string => {
		const lines = actions.map(
			(action) =>
				[`  ${name} ${action.name} ${action.args.join(" ")}`.trimEnd(), action.summary] as const,
		);
		const width = Math.max(...lines.map(([start]) => start.length)) + 2;
		return `sluice ${name} <what> [options]\n\n${lines.map(([start, what]) => `${start.padEnd(width)}${what}\n`).join("")}\nEach of these explains itself with --help.\n`;
	};
	return {
		name,
		summary,
		actions,
		synopsis: "<what> [options]",
		flags: {},
		async run(all) {
			if (all[0] === "--help" || all[0] === "-h") {
				process.stdout.write(overview());
				return 0;
			}
			const implied = all[0] === undefined || all[0].startsWith("-");
			const [word = "list", ...args] = implied ? ["list", ...all] : all;
			const action = actions.find((each) => each.name === word);
			if (!action) throw new CliError(`There is no command '${name} ${word}'.\n\n${overview()}`);
			const synopsis = synopsisOf(action);
			const { help, flags, lists, rest } = readFlags({
				name: `${name} ${word}`,
				synopsis,
				flags: action.flags,
				args,
			});
			if (help) return 0;
			const missing = action.args[rest.length];
			if (missing !== undefined && !missing.startsWith("["))
				throw new CliError(`${missing} is missing: sluice ${name} ${word} ${synopsis}`);
			if (rest.length > action.args.length)
				throw new CliError(
					`There is no place for '${rest[action.args.length]}': sluice ${name} ${word} ${synopsis}`,
				);
			return await action.run({ args: rest, flags, lists });
		},
	};
}

function flagLines(flags: Flags): string {
	return Object.entries(flags)
		.map(
			([name, { value, short, summary }]) =>
				`  ${short === undefined ? "" : `-${short}, `}--${value === undefined ? name : `${name} ${value}`}`.padEnd(
					30,
				) + `${summary}\n`,
		)
		.join("");
}

/** The overview of all commands. */
export function usage(commands: readonly Command[]): string {
	const lines = commands.map(({ name, summary }) => `  ${name.padEnd(14)}${summary}\n`);
	return `sluice <command> [options]\n\n${lines.join("")}\nEach command explains itself with --help; --version prints the version.\n`;
}
