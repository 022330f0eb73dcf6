/** Entry point of the command line. */
import { runCommand, usage } from "./cli/command.ts";
import { COMMANDS } from "./cli/commands.ts";
import { CliError } from "./cli/errors.ts";
import { version } from "./version.ts";

const [name, ...args] = process.argv.slice(2);

if (name === undefined || name === "help" || name === "--help" || name === "-h") {
	process.stdout.write(usage(COMMANDS));
	process.exitCode = name === undefined ? 2 : 0;
} else if (name === "--version") {
	process.stdout.write(`${version}\n`);
} else {
	const command = COMMANDS.find((each) => each.name === name);
	try {
		if (!command) throw new CliError(`Unknown command '${name}'.\n\n${usage(COMMANDS)}`);
		// Exit despite pending timers, such as those of delayed rejections.
		process.exit(await runCommand(command, args));
	} catch (error) {
		if (!(error instanceof CliError)) throw error;
		process.stderr.write(`${error.message.trimEnd()}\n`);
		process.exitCode = error.exitCode;
	}
}
