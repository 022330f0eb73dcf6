import type { Action, Command, CommandGroup, Flags } from "./command.ts";
import { SERVICE_ENV, SERVICE_FLAGS } from "../client/connection.ts";
import { heading } from "./style.ts";

const OUTPUT_ENV = { NO_COLOR: "no colours; FORCE_COLOR=1: colours also without a terminal" };

export function synopsisOf({ args, flags, local, synopsis }: Action): string {
	const hasFlags = !local || Object.keys(flags).length > 0;
	return synopsis ?? [...args, ...(hasFlags ? ["[options]"] : [])].join(" ");
}

export function actionHelp(action: Action, name: string): string {
	const { summary, flags, local, examples = [], env = {} } = action;
	return [
		title(`${name} ${synopsisOf(action)}`.trimEnd(), summary),
		section("Options", flagRows(flags)),
		section("Service", local ? [] : flagRows(SERVICE_FLAGS)),
		section("Environment", Object.entries({ ...env, ...(local ? {} : SERVICE_ENV), ...OUTPUT_ENV })),
		section("Examples", examples),
	].join("");
}

function flagRows(flags: Flags): [string, string][] {
	return Object.entries(flags).map(([flag, { value = "", short, summary, many }]) => [
		`${short === undefined ? "" : `-${short}, `}--${flag} ${value}`.trimEnd(),
		many && !summary.includes("repeated") ? `${summary}; may be repeated` : summary,
	]);
}

export function groupHelp({ name, summary, actions }: CommandGroup): string {
	const rows = actions.map((each): [string, string] => [[name, each.name, ...each.args].join(" "), each.summary]);
	const examples = actions.flatMap((action) => action.examples?.slice(0, 1) ?? []);
	return (
		title(`${name} <command> [options]`, summary) +
		section("Commands", rows) +
		section("Examples", examples) +
		`\nFor the options of a command: sluice ${name} <command> --help\n`
	);
}

export function usage(groups: Readonly<Record<string, readonly Command[]>>): string {
	const width = Math.max(...Object.values(groups).flatMap((each) => each.map(({ name }) => name.length)));
	const rows = (commands: readonly Command[]) =>
		commands.map(({ name, summary }): [string, string] => [name.padEnd(width), summary]);
	return (
		"sluice <command> [options]\n" +
		Object.entries(groups)
			.map(([title, commands]) => section(title, rows(commands)))
			.join("") +
		section("Environment of commands that call a service", Object.entries(SERVICE_ENV)) +
		"\nMore: sluice help <command>, sluice <command> --help. Version: sluice --version\n"
	);
}

function title(synopsis: string, summary: string): string {
	return `sluice ${synopsis}\n\n${summary[0]!.toUpperCase()}${summary.slice(1)}.\n`;
}

function section(name: string, rows: readonly (string | readonly [string, string])[]): string {
	if (rows.length === 0) return "";
	const pairs = rows.map((row) => (typeof row === "string" ? [row, ""] : row));
	const width = Math.min(38, Math.max(...pairs.map(([left]) => left!.length)));
	const lines = pairs.map(([left, right]) => `  ${left!.padEnd(width)}  ${right}`.trimEnd());
	return `\n${heading(name)}\n${lines.join("\n")}\n`;
}
