import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { printableLines } from "../../kernel/lib/terminal-text.ts";
import { version } from "../../kernel/version.ts";
import { COMMAND_GROUPS, COMMANDS } from "../commands/commands.ts";
import { misspeltVariables } from "../client/connection.ts";
import { CliError } from "../client/errors.ts";
import type { Command } from "./command.ts";
import { usage } from "./help.ts";
import { commandNamed, flagsLast, helpOf, runCommand } from "./run-command.ts";
import { styled } from "./style.ts";

/** `words` follow `sluice`. Returns the exit code. */
export async function run(words: readonly string[]): Promise<number> {
	const [name, ...args] = flagsLast(words);
	const print = (text: string, exitCode = 0): number => {
		process.stdout.write(text);
		return exitCode;
	};
	const help = (): string => usage(COMMAND_GROUPS);
	const isHelp = name === "help" && args.length > 0;
	if (name === undefined) return print(help(), 2);
	if (name === "--help" || name === "-h" || (name === "help" && !isHelp)) return print(help());
	if (name === "--version" || name === "-v" || name === "version") return print(`${version}\n`);
	let command: Command | undefined;
	try {
		command = commandNamed(isHelp ? args[0]! : name, COMMANDS);
		if (isHelp) return print(helpOf(command, args[1]));
		trustService(process.env);
		for (const line of misspeltVariables(process.env)) process.stderr.write(`${printableLines(line)}\n`);
		return await runCommand(command, args);
	} catch (error) {
		if (!(error instanceof CliError)) throw error;
		const [first = "", ...more] = printableLines(error.message.trimEnd()).split("\n");
		process.stderr.write(`${[styled("red", first, process.stderr), ...more].join("\n")}\n`);
		return (command && "failureCode" in command && command.failureCode) || error.exitCode;
	}
}

/** Trusts certificates of Node, the system, and `SLUICE_CA` (PEM). Throws {@link CliError}. */
function trustService({ SLUICE_CA: path }: Readonly<Record<string, string | undefined>>): void {
	if (!path) return;
	try {
		setDefaultCACertificates([
			...getCACertificates("default"),
			...getCACertificates("system"),
			readFileSync(path, "utf8"),
		]);
	} catch (error) {
		throw new CliError(`SLUICE_CA: ${path} cannot be used: ${(error as Error).message}.`);
	}
}
