/** Flags of several commands: `--json`, `--yes`, `--limit`, `--cursor`. */
import { createInterface } from "node:readline/promises";
import type { ActionInput, Flags } from "./command.ts";
import { CliError } from "./errors.ts";
import type { ServiceAnswer } from "./service-client.ts";

export const JSON_FLAG = {
	json: { summary: "print the response of the service as JSON" },
} as const satisfies Flags;
export const YES_FLAG = { yes: { summary: "do not ask for confirmation" } } as const satisfies Flags;
export const PAGE_FLAGS = {
	limit: { value: "N", summary: "page size, 1 to 100 (default 20)" },
	cursor: { value: "CURSOR", summary: "continue where the previous page ended" },
} as const satisfies Flags;

/** Unchanged with `--json`, else `text`. Returns exit code 0. */
export function printAnswer(answer: ServiceAnswer, { flags }: Pick<ActionInput, "flags">, text: () => string): number {
	process.stdout.write(flags["json"] ? `${answer.text}\n` : text());
	return 0;
}

/** On stderr, so that stdout has only the list. */
export function printNextPage(next: unknown, { flags }: Pick<ActionInput, "flags">): void {
	if (typeof next === "string" && !flags["json"]) process.stderr.write(`There may be more: --cursor ${next}\n`);
}

/** Throws unless the user confirms, by `--yes` or at the terminal. */
export async function confirm(question: string, { flags }: Pick<ActionInput, "flags">): Promise<void> {
	if (flags["yes"]) return;
	if (!process.stdin.isTTY || !process.stderr.isTTY)
		throw new CliError(`${question} Pass --yes to confirm in non-interactive mode.`);
	const terminal = createInterface({ input: process.stdin, output: process.stderr });
	const answer = await terminal.question(`${question} [y/N] `).finally(() => terminal.close());
	if (!/^y(es)?$/i.test(answer.trim())) throw new CliError("Aborted. Nothing was changed.", 1);
}
