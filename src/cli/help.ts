/** Help texts of commands. */
import type { Action, Command, CommandGroup, Flags } from "./command.ts";
import { SERVICE_ENV, SERVICE_FLAGS } from "./connection.ts";
import { heading } from "./style.ts";

/** Further variables of every command. */
const OUTPUT_ENV = { NO_COLOR: "no colours; FORCE_COLOR=1: colours also without a terminal" };

/** The part after the action's name in help texts. */
export function synopsisOf({
	args,
	flags,
	local,
	synopsis,
}: Pick<Action, "args" | "flags" | "local" | "synopsis">): string {
	const hasFlags = !local || Object.keys(flags).length > 0;
	return synopsis ?? [...args, ...(hasFlags ? ["[options]"] : [])].join(" ");
}

export function actionHelp(action: Action, name: string): string {
	const { flags, local, examples = [], env = {} } = action;
	const variables = { ...env, ...(local ? {} : SERVICE_ENV), ...OUTPUT_ENV };
	return [
		`${`sluice ${name} ${synopsisOf(action)}`.trimEnd()}\n\n${sentence(action.summary)}\n`,
		section("Options", flagRows(flags)),
		section("Service", local ? [] : flagRows(SERVICE_FLAGS)),
		section("Environment", Object.entries(variables)),
		section(
			"Examples",
			examples.map((line) => [line, ""]),
		),
	].join("");
}

function flagRows(flags: Flags): (readonly [string, string])[] {
	return Object.entries(flags).map(([flag, { value = "", short, summary, many }]) => [
		`${short === undefined ? "" : `-${short}, `}--${flag} ${value}`.trimEnd(),
		many && !summary.includes("repeated") ? `${summary}; may be repeated` : summary,
	]);
}

export function groupHelp({ name, summary, actions }: CommandGroup): string {
	const rows = actions.map(
		(action) => [`${name} ${action.name} ${action.args.join(" ")}`.trimEnd(), action.summary] as const,
	);
	const examples = actions.flatMap((action) => action.examples?.slice(0, 1) ?? []);
	return (
		`sluice ${name} <command> [options]\n\n${sentence(summary)}\n` +
		section("Commands", rows) +
		section(
			"Examples",
			examples.map((line) => [line, ""]),
		) +
		`\nFor the options of a command: sluice ${name} <command> --help\n`
	);
}

export function usage(commands: readonly Command[]): string {
	return (
		"sluice <command> [options]\n" +
		section(
			"Commands",
			commands.map(({ name, summary }) => [name, summary]),
		) +
		section("Environment of commands that call a service", Object.entries(SERVICE_ENV)) +
		"\nMore: sluice help <command>, sluice <command> --help. Version: sluice --version\n"
	);
}

function section(title: string, rows: readonly (readonly [string, string])[]): string {
	if (rows.length === 0) return "";
	const width = Math.min(40, Math.max(...rows.map(([left]) => left.length)) + 2);
	const lines = rows.map(([left, right]) => `  ${left.padEnd(width - 2)}  ${right}`.trimEnd());
	return `\n${heading(title)}\n${lines.join("\n")}\n`;
}

function sentence(summary: string): string {
	return `${summary[0]!.toUpperCase()}${summary.slice(1)}.`;
}
