/** Entry of the command line: finds the command and runs it. */
import { COMMANDS } from "./cli/commands.ts";
import { CliError, usage } from "./cli/command.ts";
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
		if (!command) throw new CliError(`There is no command '${name}'.\n\n${usage(COMMANDS)}`);
		const code = await command.run(args);
		// What is still asleep (a paced refusal, a grace) has nothing left to do.
		process.exit(code);
	} catch (error) {
		if (!(error instanceof CliError)) throw error;
		process.stderr.write(`${error.message.trimEnd()}\n`);
		process.exitCode = error.exitCode;
	}
}
