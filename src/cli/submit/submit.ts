/** `sluice jobs submit`: one job, or one per line of a file (D36). */
import { readFileSync, statSync } from "node:fs";
import { systemClock } from "../../clock.ts";
import type { Action, ActionInput, FlagValues } from "../command.ts";
import { JSON_FLAG } from "../common-flags.ts";
import { CliError } from "../errors.ts";
import { concurrencyOf, submitBatch } from "./batch.ts";
import { membersFromFlags, submissionBody } from "./body.ts";
import { RefusedJob, jobCalls } from "./job-calls.ts";
import { progressBar } from "./progress-bar.ts";
import { fileResults, printedResults } from "./results.ts";
import { submitOne } from "./single-job.ts";

const FLAGS = {
	input: {
		value: "JSON",
		summary: "the input, @FILE, or @- for standard input; may be a whole submission such as test_input.json",
	},
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

const SINGLE_ONLY = ["input", "wait", "stream"] as const;
const FILE_ONLY = ["output", "concurrency", "batch"] as const;

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
		checkFlags(input.flags);
		return input.flags["file"] === undefined ? await submitInput(input) : await submitFile(input, input.flags["file"]);
	},
};

function checkFlags(flags: FlagValues): void {
	const { input, file } = flags;
	if ((input === undefined) === (file === undefined))
		throw new CliError("Pass either --input JSON or --file inputs.jsonl.");
	const unusable = (file === undefined ? FILE_ONLY : SINGLE_ONLY).find((flag) => flags[flag] !== undefined);
	if (unusable !== undefined)
		throw new CliError(`--${unusable} cannot be combined with --${file === undefined ? "input" : "file"}.`);
}

async function submitInput(input: ActionInput): Promise<number> {
	const { args, flags, service } = input;
	const [endpoint = ""] = args;
	const members = membersFromFlags(flags);
	service.apiKey();
	const read = submissionBody(inputText(flags["input"]!), members);
	if (!read.ok) throw new CliError(`--input: ${read.fault}`);
	try {
		return await submitOne({
			calls: jobCalls({ connection: service.connection(), endpoint, clock: systemClock }),
			endpoint,
			body: read.body,
			print: flags["stream"] ? "chunks" : flags["wait"] ? "result" : "id",
			json: flags["json"] !== undefined,
		});
	} catch (error) {
		if (error instanceof RefusedJob) throw new CliError(error.message, 1);
		throw error;
	}
}

function inputText(value: string): string {
	if (!value.startsWith("@")) return value;
	const name = value.slice(1);
	try {
		return readFileSync(name === "-" ? 0 : name, "utf8");
	} catch {
		throw new CliError(`--input: cannot read the file ${name}.`);
	}
}

async function submitFile(input: ActionInput, file: string): Promise<number> {
	const { args, flags, service } = input;
	const [endpoint = ""] = args;
	const members = membersFromFlags(flags);
	service.apiKey();
	const isStdin = file === "-";
	const size = isStdin ? undefined : statSync(file, { throwIfNoEntry: false })?.size;
	if (size === undefined && !isStdin) throw new CliError(`--file: cannot read the file ${file}.`);
	const concurrency = concurrencyOf(flags["concurrency"]);
	const bar = progressBar({ now: systemClock.now });
	let lastReason = "";
	const onRetry = (reason: string): void => {
		if (reason !== lastReason) bar.line(`${reason} Retrying.`);
		lastReason = reason;
	};
	const results = flags["output"] === undefined ? printedResults() : await fileResults(flags["output"]);
	const signal = interrupted();
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
			progress: ({ counts: soFar, end }) =>
				bar.show({
					share: size === undefined ? undefined : size === 0 ? 1 : end / size,
					count: total(soFar),
					text: summary(soFar),
				}),
		});
	} finally {
		bar.clear();
		results.close();
	}
	process.stderr.write(flags["json"] ? `${JSON.stringify(Object.fromEntries(counts))}\n` : `${summary(counts)}.\n`);
	return [...counts.keys()].every((status) => status === "COMPLETED") ? 0 : 1;
}

/** Aborts with the error that ends the command. */
function interrupted(): AbortSignal {
	const controller = new AbortController();
	const stop = (): void =>
		controller.abort(new CliError("Interrupted. Submitted jobs continue; run the same command again to resume.", 130));
	process.once("SIGINT", stop);
	process.once("SIGTERM", stop);
	return controller.signal;
}

function total(counts: ReadonlyMap<string, number>): number {
	return [...counts.values()].reduce((sum, each) => sum + each, 0);
}

function summary(counts: ReadonlyMap<string, number>): string {
	const lines = total(counts);
	const byStatus = [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
	return `${lines} ${lines === 1 ? "line" : "lines"}: ${byStatus || "nothing to do"}`;
}
