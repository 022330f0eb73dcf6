/** One run of the command line. */
import { printableLines } from "../core/terminal-text.ts";
import { version } from "../version.ts";
import { runCommand, usage } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { CliError } from "./errors.ts";
import { trustService } from "./trust.ts";

/** `words`: those after `sluice`. Returns the exit code. */
export async function run([name, ...args]: readonly string[]): Promise<number> {
	if (name === undefined || name === "help" || name === "--help" || name === "-h") {
		process.stdout.write(usage(COMMANDS));
		return name === undefined ? 2 : 0;
	}
	if (name === "--version") {
		process.stdout.write(`${version}\n`);
		return 0;
	}
	const command = COMMANDS.find((each) => each.name === name);
	try {
		if (!command) throw new CliError(`Unknown command '${name}'.\n\n${usage(COMMANDS)}`);
		trustService(process.env);
		return await runCommand(command, args);
	} catch (error) {
		if (!(error instanceof CliError)) throw error;
		process.stderr.write(`${printableLines(error.message.trimEnd())}\n`);
		return error.exitCode;
	}
}
