/** One run of the command line. */
import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { printableLines } from "../core/terminal-text.ts";
import { version } from "../version.ts";
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { CliError } from "./errors.ts";
import { usage } from "./help.ts";
import { nearest } from "./nearest.ts";
import { helpOf, runCommand } from "./run-command.ts";
import { styled } from "./style.ts";

/** `words`: those after `sluice`. Returns the exit code. */
export async function run([name, ...args]: readonly string[]): Promise<number> {
	const isHelp = name === "help" && args.length > 0;
	if (name === undefined || name === "--help" || name === "-h" || (name === "help" && !isHelp)) {
		process.stdout.write(usage(COMMANDS));
		return name === undefined ? 2 : 0;
	}
	if (name === "--version" || name === "-v" || name === "version") {
		process.stdout.write(`${version}\n`);
		return 0;
	}
	try {
		if (isHelp) {
			process.stdout.write(helpOf(commandOf(args[0]!), args.slice(1)));
			return 0;
		}
		const command = commandOf(name);
		trustService(process.env);
		return await runCommand(command, args);
	} catch (error) {
		if (!(error instanceof CliError)) throw error;
		const [first = "", ...more] = printableLines(error.message.trimEnd()).split("\n");
		process.stderr.write(`${[styled("red", first, process.stderr), ...more].join("\n")}\n`);
		return error.exitCode;
	}
}

/** Throws {@link CliError}. */
function commandOf(name: string): Command {
	const command = COMMANDS.find((each) => each.name === name);
	if (command) return command;
	const meant = nearest(
		name,
		COMMANDS.map((each) => each.name),
	);
	if (meant) throw new CliError(`Unknown command '${name}'. Did you mean '${meant}'?`);
	throw new CliError(`Unknown command '${name}'.\n\n${usage(COMMANDS)}`);
}

/**
 * Accepts certificates of Node, of the system, and of the PEM file in `SLUICE_CA` from the service.
 * Throws {@link CliError}.
 */
function trustService(env: Readonly<Record<string, string | undefined>>): void {
	const path = env["SLUICE_CA"];
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
