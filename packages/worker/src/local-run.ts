/** Runs the handler once on a test input, like RunPod's SDK (protocol B.11). */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createHeldJobs } from "./held-jobs.ts";
import { newHeldTable } from "./pings/held-table.ts";
import { readJobs } from "./polling/job-text.ts";
import type { Log } from "./log.ts";
import { createRunner, type RunnerOptions } from "./run-job.ts";
import type { StartOptions } from "./types.ts";

export interface LocalRunOptions {
	options: StartOptions;
	argv: readonly string[];
	cwd: string;
	log: Log;
	write: (line: string) => void;
	files: RunnerOptions["files"];
}

/**
 * Input: `--test_input JSON`, else `test_input.json` in `cwd`. Resolves to false if the job failed. Throws without
 * valid input.
 */
export async function runLocally({ options, argv, cwd, log, write, files }: LocalRunOptions): Promise<boolean> {
	const job = readTestJob(argv, cwd);
	let body = "{}";
	const held = createHeldJobs(newHeldTable(), () => {});
	const run = createRunner({
		handler: options.handler,
		aggregate: options.aggregate ?? false,
		stopPod: options.refreshWorker ?? false,
		identity: { workerId: "local", hostname: "unknown" },
		held,
		log,
		files,
		report: {
			async result(_job, text) {
				body = typeof text === "string" ? text : Buffer.concat(text).toString();
			},
			chunks: () => ({
				async add(text) {
					write(`${text}\n`);
				},
				async end() {},
			}),
			setChunkBatch() {},
			takesReturns: false,
			async progress(_job, text) {
				write(`${text}\n`);
			},
		},
	});
	const entry = held.add(job.id)!;
	const stop = () => held.stop(job.id);
	options.signal?.addEventListener("abort", stop, { once: true });
	await run(job, entry);
	options.signal?.removeEventListener("abort", stop);
	write(`${body}\n`);
	return !("error" in (JSON.parse(body) as object));
}

function readTestJob(argv: readonly string[], cwd: string) {
	const { source, text } = readTestInput(argv, cwd);
	let parsed: unknown;
	try {
		parsed = JSON.parse(text);
	} catch (error) {
		throw new Error(`${source} is not JSON: ${(error as Error).message}`, { cause: error });
	}
	if (typeof parsed !== "object" || parsed === null || !("input" in parsed)) {
		throw new Error(`${source} must be an object with a member "input", such as {"input": {"prompt": "hi"}}.`);
	}
	const withId = "id" in parsed ? text : text.replace("{", '{"id":"local_test",');
	const [job] = readJobs(withId).jobs;
	if (!job) throw new Error(`The "id" in ${source} must be a string.`);
	return job;
}

function readTestInput(argv: readonly string[], cwd: string): { source: string; text: string } {
	const flag = argv.findIndex((argument) => argument === "--test_input" || argument.startsWith("--test_input="));
	const given = argv[flag];
	if (given !== undefined) {
		const text = given.includes("=") ? given.slice(given.indexOf("=") + 1) : argv[flag + 1];
		return { source: "--test_input", text: text ?? "" };
	}
	const file = join(cwd, "test_input.json");
	if (existsSync(file)) return { source: file, text: readFileSync(file, "utf8").replace(/^\ufeff/, "") };
	throw new Error(
		"Nothing to do: RUNPOD_WEBHOOK_GET_JOB is not set, so the worker has no service, and there " +
			"is neither --test_input JSON nor a file test_input.json in the working directory.",
	);
}
