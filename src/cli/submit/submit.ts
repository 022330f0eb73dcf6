/** `sluice jobs submit`: one job, or one per line of a file (D36). */
import { statSync } from "node:fs";
import { systemClock } from "../../kernel/system/clock.ts";
import type { Action, ActionInput } from "../framework/command.ts";
import { JSON_FLAG } from "../framework/common-flags.ts";
import { CliError } from "../client/errors.ts";
import { interruption } from "../framework/interruption.ts";
import { counted } from "../framework/table.ts";
import { submitBatch } from "./batch.ts";
import { givenSubmission, INPUT_FLAG, membersFromFlags } from "./body.ts";
import { RefusedJob, jobCalls } from "./job-calls.ts";
import { progressBar } from "../framework/progress-bar.ts";
import { fileResults, printedResults } from "./results.ts";
import { submitOne } from "./single-job.ts";

const FLAGS = {
	...INPUT_FLAG,
	wait: { summary: "wait and print the output; exit code 1 if the job does not complete" },
	stream: { summary: "print each chunk as it arrives, one per line" },
	policy: {
		value: "POLICY",
		summary: "execution policy, such as '{executionTimeout: 60000, lowPriority: true}'",
	},
	webhook: { value: "URL", summary: "URL that is called when the job ends" },
	file: {
		value: "FILE",
		summary: "one input per line of JSON, - for standard input; run the same command again to resume",
	},
	output: { value: "FILE", summary: "results of --file, one per line (default: standard output)" },
	concurrency: { value: "N", summary: "jobs of --file at once, 1 to 200 (default 20)" },
	batch: {
		value: "NAME",
		summary: "name of the run; with another name the lines of --file are submitted again",
	},
	...JSON_FLAG,
};

const SINGLE_ONLY = ["input", "wait", "stream"];
const FILE_ONLY = ["output", "concurrency", "batch"];

export const submit: Action = {
	name: "submit",
	args: ["ENDPOINT"],
	summary: "submit a job, or one per line of a file",
	flags: FLAGS,
	examples: [
		`sluice jobs submit hello --input '{"name": "Ann"}' --wait`,
		"sluice jobs submit hello --input @test_input.json --stream",
		"sluice jobs submit hello --file inputs.jsonl --output results.jsonl",
		"generate-inputs | sluice jobs submit hello --file - --output results.jsonl",
	],
	async run(input) {
		const { input: text, file } = input.flags;
		if ((text === undefined) === (file === undefined))
			throw new CliError("Pass either --input JSON or --file inputs.jsonl.");
		const unusable = (file === undefined ? FILE_ONLY : SINGLE_ONLY).find((flag) => input.flags[flag] !== undefined);
		if (unusable !== undefined)
			throw new CliError(`--${unusable} cannot be combined with --${file === undefined ? "input" : "file"}.`);
		return file === undefined ? await submitInput(input, text!) : await submitFile(input, file);
	},
};

async function submitInput({ args: [endpoint = ""], flags, service }: ActionInput, text: string): Promise<number> {
	const members = membersFromFlags(flags);
	service.apiKey();
	const body = givenSubmission(text, members);
	const calls = jobCalls({ connection: service.connection(), endpoint, clock: systemClock });
	const print = flags["stream"] ? "chunks" : flags["wait"] ? "result" : "id";
	try {
		return await submitOne(calls, { endpoint, body, print, json: flags["json"] !== undefined });
	} catch (error) {
		if (error instanceof RefusedJob) throw new CliError(error.message, 1);
		throw error;
	}
}

async function submitFile({ args: [endpoint = ""], flags, service }: ActionInput, file: string): Promise<number> {
	const members = membersFromFlags(flags);
	service.apiKey();
	const isStdin = file === "-";
	const size = isStdin ? undefined : statSync(file, { throwIfNoEntry: false })?.size;
	if (size === undefined && !isStdin) throw new CliError(`--file: cannot read the file ${file}.`);
	const concurrency = concurrencyOf(flags["concurrency"]);
	const bar = progressBar(systemClock.now);
	let lastReason = "";
	const onRetry = (reason: string): void => {
		if (reason !== lastReason) bar.line(`${reason} Retrying.`);
		lastReason = reason;
	};
	const results = flags["output"] === undefined ? printedResults() : await fileResults(flags["output"]);
	const { signal } = interruption("Interrupted. Submitted jobs continue; run the same command again to resume.");
	let counts: ReadonlyMap<string, number>;
	try {
		counts = await submitBatch({
			calls: jobCalls({ connection: service.connection(), endpoint, clock: systemClock, signal, onRetry }),
			file,
			results,
			concurrency,
			batch: flags["batch"] ?? "",
			members,
			warn: bar.line,
			progress: (soFar, end) =>
				bar.show({ share: size ? end / size : undefined, count: total(soFar), text: summary(soFar) }),
		});
	} finally {
		bar.clear();
		results.close();
	}
	process.stderr.write(
		flags["json"]
			? `${JSON.stringify(Object.fromEntries(counts))}\n`
			: `${summary(counts)}.\n${failedHint(counts, endpoint, flags["output"])}`,
	);
	return [...counts.keys()].every((status) => status === "COMPLETED") ? 0 : 1;
}

/** How to see the lines that did not complete. */
function failedHint(counts: ReadonlyMap<string, number>, endpoint: string, output: string | undefined): string {
	const failed = [...counts.keys()].filter((status) => status !== "COMPLETED");
	if (failed.length === 0) return "";
	const listed = failed.filter((status) => status !== "REFUSED").join(",");
	if (output !== undefined) return `See them: jq -c 'select(.status != "COMPLETED")' ${output}\n`;
	return listed === "" ? "" : `See them: sluice jobs list ${endpoint} --status ${listed}\n`;
}

function concurrencyOf(text = "20"): number {
	const value = Number(text);
	if (!Number.isInteger(value) || value < 1 || value > 200)
		throw new CliError(`--concurrency must be a whole number from 1 to 200, not '${text}'.`);
	return value;
}

function total(counts: ReadonlyMap<string, number>): number {
	return [...counts.values()].reduce((sum, each) => sum + each, 0);
}

function summary(counts: ReadonlyMap<string, number>): string {
	const byStatus = [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
	return `${counted(total(counts), "line")}: ${byStatus || "nothing to do"}`;
}
