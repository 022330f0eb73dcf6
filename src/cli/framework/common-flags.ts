import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { DURATION_RULE, parseDuration } from "../../kernel/core/durations.ts";
import { didYouMean } from "../../kernel/lib/nearest.ts";
import { isObject } from "../../kernel/lib/schema.ts";
import { printable } from "../../kernel/lib/terminal-text.ts";
import type { ActionInput, Flags, FlagValues } from "./command.ts";
import { CliError } from "../client/errors.ts";
import type { ServiceAnswer } from "../client/service-client.ts";
import { yamlText } from "./yaml-text.ts";

export const JSON_FLAG = { json: { summary: "print JSON" } } as const satisfies Flags;

const FORMATS = ["table", "wide", "yaml", "name", "json"] as const;

export const OUTPUT_FLAGS = {
	...JSON_FLAG,
	output: {
		short: "o",
		value: "FORMAT",
		summary: "table, wide (nothing is cut), yaml, name (only ids), or json, the response of the service as it is",
	},
} as const satisfies Flags;
export const YES_FLAG = { yes: { summary: "do not ask for confirmation" } } as const satisfies Flags;
export const PAGE_FLAGS = {
	limit: { value: "N", summary: "page size, 1 to 100 (default 20)" },
	cursor: { value: "CURSOR", summary: "continue where the previous page ended" },
} as const satisfies Flags;

/** Throws {@link CliError}. */
export function formatOf({ output = "table", json }: FlagValues): (typeof FORMATS)[number] {
	const format = json === undefined ? FORMATS.find((each) => each === output) : "json";
	if (format !== undefined) return format;
	throw new CliError(`--output must be ${FORMATS.join(", ")}, not '${output}'.${didYouMean(output, FORMATS)}`);
}

/** Prints JSON unchanged with `--json`, else as `--output` says, by default `text`. Returns exit code 0. */
export function printAnswer({ text: json, json: value }: ServiceAnswer, { flags }: ActionInput, text: () => string) {
	const format = formatOf(flags);
	if (format === "json") process.stdout.write(`${json}\n`);
	else if (format === "yaml") process.stdout.write(yamlText(value));
	else if (format === "name") process.stdout.write(namesIn(value));
	else process.stdout.write(text());
	return 0;
}

/** One line for an object that has a name, whose lists are its settings; else one for each item of the first list. */
function namesIn(value: unknown): string {
	if (!isObject(value)) return "";
	const own = nameOf(value);
	const items: unknown[] = Object.values(value).find(Array.isArray) ?? [];
	const names = own === undefined ? items.map(nameOf) : [own];
	return names.map((name) => (name === undefined ? "" : `${printable(name)}\n`)).join("");
}

function nameOf(item: unknown): string | undefined {
	if (!isObject(item)) return undefined;
	const name = item["id"] ?? item["name"] ?? item["registry"];
	return typeof name === "string" ? name : undefined;
}

/** Throws without `--yes` or a confirmation. `otherwise`: what an empty answer means. */
export async function confirm(
	question: string,
	{ flags }: Pick<ActionInput, "flags">,
	otherwise: "yes" | "no" = "no",
): Promise<void> {
	if (flags["yes"]) return;
	const answer = await ask(`${question} ${otherwise === "yes" ? "[Y/n]" : "[y/N]"} `);
	if (answer === undefined) throw new CliError(`${question} Pass --yes to confirm in non-interactive mode.`);
	if (!/^y(es)?$/i.test(answer || otherwise)) throw new CliError("Aborted. Nothing was changed.", 1);
}

/** Asks for a line. Undefined if no terminal can be asked. */
export async function ask(question: string): Promise<string | undefined> {
	if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
	const terminal = createInterface({ input: process.stdin, output: process.stderr });
	return (await terminal.question(question).finally(() => terminal.close())).trim();
}

/** Takes `90d` or `1h30m`, returns ms. Throws {@link CliError}. */
export function spanOf(flag: string, text: string): number {
	const ms = parseDuration(text);
	if (ms === undefined) throw new CliError(`Option --${flag} must be ${DURATION_RULE}, not '${text}'.`);
	return ms;
}

/** Reads stdin or asks without echo, because other users see command lines. */
export async function readSecret(question: string): Promise<string> {
	if (!process.stdin.isTTY) return (await textOf(process.stdin)).replace(/\r?\n$/, "");
	const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
	const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
	process.stderr.write(question);
	try {
		return await terminal.question("");
	} finally {
		terminal.close();
		process.stderr.write("\n");
	}
}
