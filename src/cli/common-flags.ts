/** What the commands on `/v1` share: printing an answer, and asking before something is lost. */
import { createInterface } from "node:readline/promises";
import { CliError } from "./command.ts";
import type { Flags, Given } from "./command.ts";
import type { ServiceAnswer } from "./service-client.ts";

export const JSON_FLAG = {
	json: { summary: "print the answer of the service as JSON" },
} as const satisfies Flags;
export const YES_FLAG = { yes: { summary: "do it without asking" } } as const satisfies Flags;
export const PAGE_FLAGS = {
	limit: { value: "N", summary: "how many, 1 to 100 (default 20)" },
	cursor: { value: "CURSOR", summary: "go on where the page before ended" },
} as const satisfies Flags;

/** Prints an answer: as it came with `--json`, else for people. Answers the exit code. */
export function printed(
	told: ServiceAnswer,
	{ flags }: Pick<Given, "flags">,
	human: () => string,
): number {
	process.stdout.write(flags["json"] ? `${told.text}\n` : human());
	return 0;
}

/** Where a list goes on, for people; the list itself stays clean. */
export function tellNext(next: unknown, { flags }: Pick<Given, "flags">): void {
	if (typeof next === "string" && !flags["json"])
		process.stderr.write(`There may be more: --cursor ${next}\n`);
}

/**
 * Goes on with `--yes`, or when the person at the terminal says so; throws {@link CliError}
 * otherwise.
 */
export async function confirm(question: string, { flags }: Pick<Given, "flags">): Promise<void> {
	if (flags["yes"]) return;
	if (!process.stdin.isTTY || !process.stderr.isTTY)
		throw new CliError(`${question} Nothing was done: say --yes where nobody can be asked.`);
	const terminal = createInterface({ input: process.stdin, output: process.stderr });
	const answer = await terminal.question(`${question} [y/N] `).finally(() => terminal.close());
	if (!/^y(es)?$/i.test(answer.trim())) throw new CliError("Nothing was done.", 1);
}
