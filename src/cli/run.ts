/** One run of the command line. */
import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { printableLines } from "../core/terminal-text.ts";
import { version } from "../version.ts";
import { runCommand, usage } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { CliError } from "./errors.ts";
import { nearest } from "./nearest.ts";

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
		if (!command) {
			const meant = nearest(
				name,
				COMMANDS.map((each) => each.name),
			);
			if (meant) throw new CliError(`Unknown command '${name}'. Did you mean '${meant}'?`);
			throw new CliError(`Unknown command '${name}'.\n\n${usage(COMMANDS)}`);
		}
		trustService(process.env);
		return await runCommand(command, args);
	} catch (error) {
		if (!(error instanceof CliError)) throw error;
		process.stderr.write(`${printableLines(error.message.trimEnd())}\n`);
		return error.exitCode;
	}
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
