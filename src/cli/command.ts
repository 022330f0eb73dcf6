/** What a command is, and how its flags are read. */
import { parseArgs } from "node:util";

/** One command of the command line. `run` answers the exit code. */
export interface Command {
  name: string;
  summary: string;
  run(args: readonly string[]): Promise<number>;
}

/** A flag: its value's placeholder, absent for a switch, and what it does. */
export interface Flag {
  value?: string;
  summary: string;
}

/** Ends the command with a sentence on stderr. */
export class CliError extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode = 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Flags by name and the other arguments; throws {@link CliError} for an unknown flag. `--help` prints the flags. */
export function readFlags(q: { name: string; synopsis: string; flags: Readonly<Record<string, Flag>>; args: readonly string[] }): { help: boolean; flags: Record<string, string | undefined>; rest: string[] } {
  const options = Object.fromEntries(Object.entries(q.flags).map(([name, flag]) => [name, { type: flag.value === undefined ? ("boolean" as const) : ("string" as const) }]));
  try {
    const { values, positionals } = parseArgs({ args: [...q.args], options: { ...options, help: { type: "boolean", short: "h" } }, allowPositionals: true, strict: true });
    if (values["help"]) {
      process.stdout.write(`sluice ${q.name} ${q.synopsis}\n\n${flagLines(q.flags)}`);
      return { help: true, flags: {}, rest: [] };
    }
    const flags = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value === true ? "true" : value === undefined ? undefined : String(value)]));
    return { help: false, flags, rest: positionals };
  } catch (error) {
    throw new CliError(`${(error as Error).message}\n\nsluice ${q.name} ${q.synopsis}\n\n${flagLines(q.flags)}`);
  }
}

function flagLines(flags: Readonly<Record<string, Flag>>): string {
  return Object.entries(flags)
    .map(([name, { value, summary }]) => `  --${value === undefined ? name : `${name} ${value}`}`.padEnd(30) + `${summary}\n`)
    .join("");
}

/** The overview of all commands. */
export function usage(commands: readonly Command[]): string {
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(14)}${summary}\n`);
  return `sluice <command> [options]\n\n${lines.join("")}\nEach command explains itself with --help.\n`;
}
