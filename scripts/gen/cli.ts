/** `docs/reference/cli.md`: every command with its flags, as the commands export them. */
import type { Action } from "../../src/cli/framework/command.ts";
import { COMMANDS } from "../../src/cli/commands/commands.ts";
import { SERVICE_ENV, SERVICE_FLAGS } from "../../src/cli/client/connection.ts";
import { synopsisOf } from "../../src/cli/framework/help.ts";
import { code, headingAnchor, type Page, plain, table } from "./markdown.ts";

export const cli: Page = {
	file: "cli.md",
	title: "Commands",
	about: "every command, its arguments and flags",
	body() {
		const all: Action[] = COMMANDS.flatMap((command) =>
			"actions" in command
				? command.actions.map((action) => ({ ...action, name: `${command.name} ${action.name}` }))
				: [command],
		);
		const overview = table(
			["Command", ""],
			all.map(({ name, summary }) => [
				`[${code(`sluice ${name}`)}](#${headingAnchor(`sluice ${name}`)})`,
				plain(summary),
			]),
		);
		return [
			"`sluice help COMMAND` and `--help` explain each command. Exit codes: 0 success, 1 the service " +
				"refused or is unavailable, 2 the command line or the configuration is wrong; those of `sluice diff` " +
				"are its own.",
			overview,
			"## Service\n\nCommands that call a running service find it by `--context` or `SLUICE_CONTEXT`, else by " +
				"`SLUICE_URL` and `SLUICE_API_KEY`, else by the current context; `--url` and `--key` override. The key " +
				"of a context is sent to its address only.",
			table(
				["Flag", ""],
				Object.entries(SERVICE_FLAGS).map(([flag, { value, summary }]) => [code(`--${flag} ${value}`), plain(summary)]),
			),
			table(
				["Variable", ""],
				Object.entries(SERVICE_ENV).map(([name, what]) => [code(name), plain(what)]),
			),
			...all.map(section),
		].join("\n\n");
	},
};

function section(action: Action): string {
	const { name, summary, flags, examples = [] } = action;
	const usage = [`sluice ${name} ${synopsisOf(action)}`.trimEnd(), ...examples].join("\n");
	const rows = Object.entries(flags).map(([flag, { value, short, summary: what }]) => [
		(short === undefined ? "" : `${code(`-${short}`)}, `) +
			code(value === undefined ? `--${flag}` : `--${flag} ${value}`),
		plain(what),
	]);
	return (
		`## sluice ${name}\n\n${plain(summary)}\n\n\`\`\`sh\n${usage}` +
		`\n\`\`\`${rows.length > 0 ? `\n\n${table(["Flag", ""], rows)}` : ""}`
	);
}
