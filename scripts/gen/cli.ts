/** `docs/reference/cli.md`: every command with its flags, as the commands export them. */
import { synopsisOf } from "../../src/cli/command.ts";
import type { Action } from "../../src/cli/command.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { code, headingAnchor, plain, table } from "./markdown.ts";
import type { Page } from "./markdown.ts";

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
			"All commands except `serve`, `dev` and `migrate` call a running service: its address is in " +
				"`SLUICE_URL` (default `http://127.0.0.1:8080`), the key in `SLUICE_API_KEY`. `--help` " +
				"explains each command. Exit codes: 0 success, 1 the service refused or is unavailable, " +
				"2 the command line or the configuration is wrong.",
			overview,
			...all.map(section),
		].join("\n\n");
	},
};

function section(action: Action): string {
	const { name, summary, flags } = action;
	const rows = Object.entries(flags).map(([flag, { value, short, summary: what, many }]) => [
		(short === undefined ? "" : `${code(`-${short}`)}, `) +
			code(value === undefined ? `--${flag}` : `--${flag} ${value}`),
		plain(what) + (many ? " May be given more than once." : ""),
	]);
	return (
		`## sluice ${name}\n\n${plain(summary)}\n\n\`\`\`sh\nsluice ${name} ${synopsisOf(action)}`.trimEnd() +
		`\n\`\`\`${rows.length > 0 ? `\n\n${table(["Flag", ""], rows)}` : ""}`
	);
}
