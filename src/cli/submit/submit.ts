/** `sluice jobs submit`: one job, or one for each line of a file (D36). */
import { readFileSync, statSync } from "node:fs";
import { systemClock } from "../../clock.ts";
import { JSON_FLAG } from "../common-flags.ts";
import { CliError } from "../command.ts";
import type { Action, Given } from "../command.ts";
import { RefusedJob, jobCalls } from "./job-calls.ts";
import type { JobCalls } from "./job-calls.ts";
import { progressBar } from "./progress-bar.ts";
import { callService } from "../service-client.ts";
import { concurrencyOf, submitBatch } from "./batch.ts";
import { settingsFrom, submissionBody } from "./body.ts";
import { submitOne } from "./single-job.ts";
import { fileResults, printedResults } from "./results.ts";

const FLAGS = {
	input: {
		value: "JSON",
		summary:
			"the input, or @FILE, or @- for standard input; a whole submission such as test_input.json is taken as one",
	},
	wait: {
		summary: "wait for the end and print the output; exit code 1 if the job did not complete",
	},
	stream: { summary: "print each chunk as it comes, a line each" },
	policy: {
		value: "POLICY",
		summary: "execution policy, such as '{executionTimeout: 60000, lowPriority: true}'",
	},
	webhook: { value: "URL", summary: "where the end is told" },
	file: {
		value: "FILE",
		summary: "one input for each line of JSON; run again after an interruption, it goes on",
	},
	output: {
		value: "FILE",
		summary: "where the results of --file go, a line each (default: standard output)",
	},
	concurrency: { value: "N", summary: "jobs of --file at once, 1 to 200 (default 20)" },
	batch: {
		value: "NAME",
		summary: "with another name the lines of --file are submitted again, even the same ones",
	},
	...JSON_FLAG,
};

/** Flags that have a meaning only for one job, or only for a file. */
const ONE_ONLY = ["input", "wait", "stream"] as const;
const FILE_ONLY = ["output", "concurrency", "batch"] as const;

export const submit: Action = {
	name: "submit",
	args: ["ENDPOINT"],
	summary: "submit a job, or one for each line of a file",
	flags: FLAGS,
	async run(given) {
		const { flags, args } = given;
		const [endpoint = ""] = args;
		if ((flags["input"] === undefined) === (flags["file"] === undefined))
			throw new CliError("Say what to submit: either --input JSON or --file inputs.jsonl.");
		const strange = (flags["file"] === undefined ? FILE_ONLY : ONE_ONLY).find(
			(name) => flags[name] !== undefined,
		);
		if (strange !== undefined)
			throw new CliError(
				`--${strange} has no meaning with ${flags["file"] === undefined ? "--input" : "--file"}.`,
			);
		const beside = settingsFrom(flags);
		const key = process.env["SLUICE_API_KEY"];
		if (!key) throw new CliError("Set SLUICE_API_KEY to an API key of the service.");
		const over = new AbortController();
		const { base } = callService(process.env);
		if (flags["file"] !== undefined)
			return await many(given, {
				file: flags["file"],
				over,
				calls: (waiting) =>
					jobCalls({ base, key, endpoint, clock: systemClock, signal: over.signal, waiting }),
			});
		const read = submissionBody(textOf(flags["input"]!), beside);
		if (!read.ok) throw new CliError(`--input: ${read.fault}`);
		const how = flags["stream"] ? "stream" : flags["wait"] ? "wait" : "id";
		try {
			return await submitOne({
				calls: jobCalls({ base, key, endpoint, clock: systemClock }),
				endpoint,
				body: read.body,
				how,
				json: flags["json"] !== undefined,
			});
		} catch (error) {
			if (error instanceof RefusedJob) throw new CliError(error.message, 1);
			throw error;
		}
	},
};

/** The value of `--input`, read from a file where it says so. */
function textOf(given: string): string {
	if (!given.startsWith("@")) return given;
	const name = given.slice(1);
	try {
		return readFileSync(name === "-" ? 0 : name, "utf8");
	} catch {
		throw new CliError(`--input: there is no readable file at ${name}.`);
	}
}

async function many(
	{ flags }: Given,
	q: { file: string; over: AbortController; calls: (waiting: (why: string) => void) => JobCalls },
): Promise<number> {
	const { file, over } = q;
	const size = statSync(file, { throwIfNoEntry: false })?.size;
	if (size === undefined) throw new CliError(`--file: there is no readable file at ${file}.`);
	const concurrency = concurrencyOf(flags["concurrency"]);
	const bar = progressBar({ now: systemClock.now });
	let why = "";
	const calls = q.calls((sentence) => {
		if (sentence !== why) bar.line(`${sentence} Trying again.`);
		why = sentence;
	});
	const results =
		flags["output"] === undefined ? printedResults() : await fileResults(flags["output"]);
	for (const name of ["SIGINT", "SIGTERM"] as const) {
		process.once(name, () =>
			over.abort(
				new CliError(
					"Interrupted. What was submitted goes on; run the same command again to get the rest.",
					130,
				),
			),
		);
	}
	let counts: ReadonlyMap<string, number>;
	try {
		counts = await submitBatch({
			calls,
			file,
			results,
			concurrency,
			batch: flags["batch"] ?? "",
			beside: settingsFrom(flags),
			tell: bar.line,
			progress: ({ counts: soFar, end }) => bar.show(size === 0 ? 1 : end / size, summary(soFar)),
		});
	} finally {
		bar.clear();
		results.close();
	}
	process.stderr.write(
		flags["json"] ? `${JSON.stringify(Object.fromEntries(counts))}\n` : `${summary(counts)}.\n`,
	);
	return [...counts.keys()].every((status) => status === "COMPLETED") ? 0 : 1;
}

function summary(counts: ReadonlyMap<string, number>): string {
	const total = [...counts.values()].reduce((sum, each) => sum + each, 0);
	return `${total} ${total === 1 ? "line" : "lines"}: ${[...counts].map(([status, count]) => `${count} ${status}`).join(", ") || "nothing to do"}`;
}
